"""Task graphs: their faults, their waves, and what the end of a task means for the others.

`waves` judges when a task may start, `compliance` reports how well waves were started in parallel.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Literal

import msgspec

from baton.engine.text.yaml_lines import did_you_mean

State = Literal["pending", "blocked", "running", "completed", "failed", "cancelled", "skipped"]
End = Literal["completed", "failed", "cancelled"]
Barrier = Literal["wave", "ready"]
Level = Literal["strict", "guidance"]
OnWindowClose = Literal["refuse", "auto_spawn"]
WAITING: frozenset[State] = frozenset({"pending", "blocked"})
ENDED: frozenset[State] = frozenset({"completed", "failed", "cancelled", "skipped"})
LOST: frozenset[State] = frozenset({"failed", "cancelled", "skipped"})
"""States of a task that nothing that depends on it can build on."""
MOST_FAULTS = 20
"""Faults of one graph that are named: each costs a look at all names."""


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it is asked for. `prompt` is what its agent gets; the description where there is none."""

    agent_type: str
    description: str = ""
    prompt: str = ""
    depends_on: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a graph. `wave` counts from 0; `auto` tells that the server started it when the window closed.

    `task_id` is its agent's, `job_id` that of the job that runs it here; both "" where there is none.
    """

    name: str
    wave: int
    agent_type: str
    description: str = ""
    prompt: str = ""
    depends_on: tuple[str, ...] = ()
    state: State = "blocked"
    task_id: str = ""
    job_id: str = ""
    auto: bool = False
    spawned_at: datetime | None = None
    ended_at: datetime | None = None
    detail: str = ""


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph's tasks by name, and the rules of its waves; `windows` tells when each wave's first task was started."""

    tasks: Mapping[str, Task]
    level: Level = "strict"
    barrier: Barrier = "wave"
    window_ms: int = 500
    on_window_close: OnWindowClose = "refuse"
    windows: tuple[datetime | None, ...] = ()


class Fault(msgspec.Struct, frozen=True):
    """What keeps a graph from being made: the field, what is wrong with it, what is allowed."""

    field: str
    message: str
    allowed: tuple[str, ...] = ()


def faults(specs: Mapping[str, TaskSpec]) -> list[Fault]:
    """Return what is wrong with a graph: unknown, own and repeated dependencies (the first ones), otherwise a cycle."""
    found: list[Fault] = []
    names = list(specs)
    for name, spec in specs.items():
        field = f"tasks.{name}.depends_on"
        for other, times in Counter(spec.depends_on).items():
            # A graph of thousands of wrong names would make an answer of megabytes.
            if len(found) >= MOST_FAULTS:
                return found
            if other == name:
                found.append(Fault(field, f"names `{name}` itself"))
            elif other not in specs:
                rest = [one for one in names if one != name]
                text = f"names `{other}`, which is no task of this graph{did_you_mean(other, rest)}"
                found.append(Fault(field, text, tuple(rest)))
            if times > 1:
                found.append(Fault(field, f"names `{other}` {times} times"))
    return found or _cycle(specs)


def waves(specs: Mapping[str, TaskSpec]) -> list[list[str]]:
    """Return the task names of each wave: a task is in the wave after the last of its dependencies. Check `faults` first."""
    levels: dict[str, int] = {}
    for name in TopologicalSorter({name: spec.depends_on for name, spec in specs.items()}).static_order():
        levels[name] = max((levels[other] + 1 for other in specs[name].depends_on), default=0)
    found: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for name in specs:
        found[levels[name]].append(name)
    return found


def build(
    specs: Mapping[str, TaskSpec], *, level: Level, barrier: Barrier, window_ms: int, on_window_close: OnWindowClose
) -> Graph:
    """Build a graph of which nothing has started yet. Check `faults` first."""
    levels = waves(specs)
    tasks = {
        name: Task(
            name=name,
            wave=number,
            agent_type=specs[name].agent_type,
            description=specs[name].description,
            prompt=specs[name].prompt,
            depends_on=specs[name].depends_on,
        )
        for number, wave in enumerate(levels)
        for name in wave
    }
    return settled(
        Graph(
            tasks=tasks,
            level=level,
            barrier=barrier,
            window_ms=window_ms,
            on_window_close=on_window_close,
            windows=(None,) * len(levels),
        ),
        at=None,
    )


def ended(graph: Graph, name: str, state: End, at: datetime, detail: str = "") -> Graph:
    """End a task; what depends on one that was lost is skipped, what waited for it may start.

    One that was lost and then completes after all, as its job was tried again, brings back what was skipped for it.
    """
    task = msgspec.structs.replace(graph.tasks[name], state=state, ended_at=at, detail=detail)
    tasks = {**graph.tasks, name: task}
    if graph.tasks[name].state in LOST and state == "completed":
        for other in graph.tasks.values():
            if other.state == "skipped":
                tasks[other.name] = msgspec.structs.replace(other, state="blocked", ended_at=None, detail="")
    return settled(msgspec.structs.replace(graph, tasks=tasks), at)


def settled(graph: Graph, at: datetime | None) -> Graph:
    """Return the graph with the states of waiting tasks updated: which may start (`pending`), must wait (`blocked`), never will (`skipped`)."""
    tasks = dict(graph.tasks)
    in_order = sorted(tasks.values(), key=lambda task: task.wave)
    # In the order of waves, so that what depends on a skipped task is skipped in the same pass.
    for task in in_order:
        lost = next((other for other in task.depends_on if tasks[other].state in LOST), None)
        if task.state in WAITING and lost is not None:
            detail = f"`{lost}` was {tasks[lost].state}" if tasks[lost].state != "failed" else f"`{lost}` failed"
            tasks[task.name] = msgspec.structs.replace(task, state="skipped", ended_at=at, detail=detail)
    # Only now: skipping may have ended the wave that the others waited for.
    first = current_wave(tasks)
    for task in in_order:
        if tasks[task.name].state in WAITING:
            done = all(tasks[other].state == "completed" for other in task.depends_on)
            may = done and (graph.barrier == "ready" or task.wave == first)
            tasks[task.name] = msgspec.structs.replace(task, state="pending" if may else "blocked")
    return msgspec.structs.replace(graph, tasks=tasks)


def current_wave(tasks: Mapping[str, Task]) -> int:
    """Return the first wave, from 0, in which a task has not ended; -1 if all have."""
    return min((task.wave for task in tasks.values() if task.state not in ENDED), default=-1)


def state_of(graph: Graph) -> Literal["pending", "running", "completed", "failed"]:
    """Return the state of the whole graph: `failed` if all tasks have ended and not all are completed."""
    states = {task.state for task in graph.tasks.values()}
    if states <= ENDED:
        return "completed" if states <= {"completed"} else "failed"
    return "pending" if states <= WAITING else "running"


def _cycle(specs: Mapping[str, TaskSpec]) -> list[Fault]:
    try:
        TopologicalSorter({name: spec.depends_on for name, spec in specs.items()}).prepare()
    except CycleError as error:
        nodes: list[str] = error.args[1]
        return [Fault("tasks", "has a cycle: " + " → ".join(f"`{name}`" for name in nodes))]
    return []
