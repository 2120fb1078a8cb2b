"""Judge when a task of a graph may start: once, in its wave, within the window after the first start of its wave.

The caller passes the time. A start at exactly the end of the window is in time.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from baton.engine.agents.judge import Refusal
from baton.engine.agents.task_graph import LOST, WAITING, Graph, Task, current_wave, settled

BreachKind = Literal["wrong_wave", "parallel_window", "reopened"]
_KINDS: dict[str, BreachKind] = {"wrong_wave": "wrong_wave", "parallel_window": "parallel_window"}
"""What the codes of refusals are called in a report."""


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the waves that was broken: let pass by the level `guidance` or by a reopened wave, or `refused`."""

    kind: BreachKind
    task: str
    wave: int
    detail: str
    refused: bool = False


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The graph with the task started, and the rule that this broke, if any."""

    graph: Graph
    breach: Breach | None = None


def admit(graph: Graph, name: str, at: datetime, *, auto: bool = False) -> Refusal | Admission:
    """Start a task now, or return why it may not start. `auto` marks a start by the server after the window closed."""
    task = graph.tasks[name]
    if task.state not in WAITING:
        return _not_waiting(task)
    refusal = _too_early(graph, task) if task.state == "blocked" else None
    if refusal is None and not auto:
        refusal = _too_late(graph, task, at)
    if refusal is not None and graph.level == "strict":
        return refusal
    started = msgspec.structs.replace(task, state="running", spawned_at=at, auto=auto)
    windows = list(graph.windows)
    if windows[task.wave] is None and task.state == "pending":
        windows[task.wave] = at
    breach = None if refusal is None else breach_of(task, refusal)
    tasks = {**graph.tasks, name: started}
    return Admission(graph=msgspec.structs.replace(graph, tasks=tasks, windows=tuple(windows)), breach=breach)


def breach_of(task: Task, refusal: Refusal, *, refused: bool = False) -> Breach | None:
    """Return the rule of the waves that a start broke; None if it was refused for something else."""
    kind = _KINDS.get(refusal.code)
    return kind and Breach(kind=kind, task=task.name, wave=task.wave, detail=refusal.detail, refused=refused)


def never_started(graph: Graph, wave: int, at: datetime) -> list[str]:
    """Return the tasks of a wave that were given up unstarted, or left out until its window closed.

    A task that was skipped, or became ready only after its wave was opened, is no one's fault.
    """
    opened = graph.windows[wave]
    closed = opened is not None and at > _closes(graph, opened)
    found = []
    for task in graph.tasks.values():
        if task.wave != wave or task.spawned_at is not None:
            continue
        given_up = task.state in LOST and task.state != "skipped"
        if given_up or (closed and task.state == "pending" and _was_ready(graph, task, opened)):
            found.append(task.name)
    return found


def reopen(graph: Graph, wave: int, at: datetime) -> Admission | str:
    """Open a wave again whose window closed with tasks left, or return why that is not possible."""
    opened = graph.windows[wave]
    left = _held(graph, wave)
    if opened is None:
        return f"wave {wave + 1} has not been opened yet; spawn its tasks"
    if not left:
        return f"wave {wave + 1} has no task left that its window keeps from starting"
    if at <= _closes(graph, opened):
        return f"the window of wave {wave + 1} is still open; spawn its tasks"
    windows = tuple(None if number == wave else moment for number, moment in enumerate(graph.windows))
    breach = Breach(kind="reopened", task="", wave=wave, detail=f"wave {wave + 1} was opened again for {_quoted(left)}")
    return Admission(graph=msgspec.structs.replace(graph, windows=windows), breach=breach)


def due(graph: Graph, at: datetime) -> list[str]:
    """Return the tasks that the server itself must start now: those left in waves whose window has closed."""
    if graph.on_window_close != "auto_spawn":
        return []
    return [
        task.name
        for wave, opened in enumerate(graph.windows)
        if opened is not None and at > _closes(graph, opened)
        for task in _held(graph, wave)
    ]


def closes_at(graph: Graph) -> datetime | None:
    """Return when the server must look at the graph again: when the first window with tasks left closes; None for never."""
    if graph.on_window_close != "auto_spawn":
        return None
    open_ones = (_closes(graph, at) for wave, at in enumerate(graph.windows) if at is not None and _held(graph, wave))
    return min(open_ones, default=None)


def startable(graph: Graph) -> list[str]:
    """Return the tasks that may start now, in the order of the graph."""
    return [task.name for task in settled(graph, None).tasks.values() if task.state == "pending"]


def _not_waiting(task: Task) -> Refusal:
    given = {"task": task.name, "state": task.state}
    if task.state == "skipped":
        detail = f"task `{task.name}` is skipped: {task.detail}"
        return Refusal(code="conflict", detail=detail, fields=("task",), given=given)
    detail = f"task `{task.name}` was spawned before; it is {task.state}"
    return Refusal(code="already_spawned", detail=detail, fields=("task",), given=given)


def _too_early(graph: Graph, task: Task) -> Refusal:
    waits = [other for other in task.depends_on if graph.tasks[other].state != "completed"]
    first = current_wave(graph.tasks)
    if not waits:
        waits = [one.name for one in graph.tasks.values() if one.wave == first and one.state != "completed"]
    may = startable(graph)
    expected = f"expected: {_names(may)} of wave {first + 1}" if may else f"wave {first + 1} has not ended"
    return Refusal(
        code="wrong_wave",
        detail=f"task `{task.name}` of wave {task.wave + 1} waits for {_names(waits)}; {expected}",
        fields=("task",),
        given={"task": task.name, "wave": task.wave + 1, "current_wave": first + 1},
        allowed=tuple(may),
    )


def _too_late(graph: Graph, task: Task, at: datetime) -> Refusal | None:
    opened = graph.windows[task.wave]
    if opened is None or at <= _closes(graph, opened) or task not in _held(graph, task.wave):
        return None
    late_ms = (at - opened) // timedelta(milliseconds=1)
    peers = [one.name for one in graph.tasks.values() if one.wave == task.wave]
    then = (
        "the server starts what is left of it"
        if graph.on_window_close == "auto_spawn"
        else f"open it again by `waves/{task.wave + 1}/reopen`"
    )
    return Refusal(
        code="parallel_window",
        detail=f"task `{task.name}` comes {late_ms} ms after the first of wave {task.wave + 1}; expected: {_names(peers)}"
        f" within {graph.window_ms} ms of each other; {then}",
        fields=("task",),
        given={"task": task.name, "wave": task.wave + 1, "after_ms": late_ms, "window_ms": graph.window_ms},
        allowed=(),
    )


def _held(graph: Graph, wave: int) -> list[Task]:
    """Return the waiting tasks of a wave to which its window applies: those that could have started when it opened."""
    opened = graph.windows[wave]
    return [
        task
        for task in graph.tasks.values()
        if task.wave == wave and task.state == "pending" and _was_ready(graph, task, opened)
    ]


def _was_ready(graph: Graph, task: Task, opened: datetime | None) -> bool:
    """Return whether what a task depends on had ended when its wave was opened."""
    ends = [moment for other in task.depends_on if (moment := graph.tasks[other].ended_at) is not None]
    return opened is None or all(moment <= opened for moment in ends)


def _closes(graph: Graph, opened: datetime) -> datetime:
    return opened + timedelta(milliseconds=graph.window_ms)


def _quoted(tasks: list[Task]) -> str:
    return _names([task.name for task in tasks])


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
