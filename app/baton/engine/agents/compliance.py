"""Report how well the waves of a graph were started in parallel."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from baton.engine.agents.task_graph import ENDED, WAITING, Graph, Task
from baton.engine.agents.waves import never_started

WaveState = Literal["waiting", "started", "ended"]


class WaveReport(msgspec.Struct, frozen=True, kw_only=True):
    """One wave, counted from 1. `spread_ms` lies between the first and the last start that was asked for.

    `auto_spawned` are the tasks that the server started when the window closed, `never_started` those that nobody
    started in time, `violations` counts by kind what was refused or let pass.
    """

    wave: int
    tasks: list[str]
    state: WaveState
    spawned: int
    spread_ms: float | None
    auto_spawned: list[str]
    never_started: list[str]
    violations: dict[str, int]
    compliant: bool


class WaveViolation(msgspec.Struct, frozen=True, kw_only=True):
    """A violation of the rules of waves: its kind, and its wave from 0."""

    kind: str
    wave: int


def report(graph: Graph, broken: Iterable[WaveViolation], at: datetime) -> list[WaveReport]:
    """Report on each wave of a graph, as of a moment by the database's clock."""
    counts = Counter((one.wave, one.kind) for one in broken)
    found = []
    for number in range(len(graph.windows)):
        tasks = [task for task in graph.tasks.values() if task.wave == number]
        left_out = never_started(graph, number, at)
        violations = {kind: count for (wave, kind), count in sorted(counts.items()) if wave == number}
        found.append(
            WaveReport(
                wave=number + 1,
                tasks=[task.name for task in tasks],
                state=_state(tasks),
                spawned=sum(task.spawned_at is not None for task in tasks),
                spread_ms=spread_ms(tasks),
                auto_spawned=[task.name for task in tasks if task.auto],
                never_started=left_out,
                violations=violations,
                compliant=not violations and not left_out,
            )
        )
    return found


def spread_ms(tasks: Iterable[Task]) -> float | None:
    """Return the time between the first and the last requested start, in ms; None before the first."""
    moments = [task.spawned_at for task in tasks if task.spawned_at is not None and not task.auto]
    return (max(moments) - min(moments)) / timedelta(milliseconds=1) if moments else None


def totals(waves: Iterable[WaveReport]) -> Mapping[str, int]:
    """Return the number of violations by kind."""
    total: Counter[str] = Counter()
    for wave in waves:
        total.update(wave.violations)
    return dict(sorted(total.items()))


def _state(tasks: list[Task]) -> WaveState:
    states = {task.state for task in tasks}
    if states <= ENDED:
        return "ended"
    return "waiting" if states <= WAITING else "started"
