"""Task graphs: their faults, their waves, startable tasks, and the parallelism of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from graphlib import CycleError, TopologicalSorter
from typing import Literal

import msgspec

from baton.lib.text.yaml_lines import did_you_mean
from baton.rules.agents.judge import Refusal

State = Literal["pending", "blocked", "running", "completed", "failed", "cancelled", "skipped"]
End = Literal["completed", "failed", "cancelled"]
Barrier = Literal["wave", "ready"]
Level = Literal["strict", "guidance"]
OnWindowClose = Literal["refuse", "auto_spawn"]
WAITING: frozenset[State] = frozenset({"pending", "blocked"})
ENDED: frozenset[State] = frozenset({"completed", "failed", "cancelled", "skipped"})
LOST: frozenset[State] = frozenset({"failed", "cancelled", "skipped"})  # states of a task that block its dependents
MOST_FAULTS = 20  # maximum reported faults of one graph: each is compared with all names


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A requested task. `prompt` is for its agent, by default the description."""

    agent_type: str
    description: str = ""
    prompt: str = ""
    depends_on: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a graph. `wave` counts from 0; `auto`: the server started it when the window closed.

    `task_id` is its agent's, `job_id` its job's on this server; both "" if there is none.
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
    """A graph's tasks by name, and the rules of its waves; `windows` are the first start times of the waves."""

    tasks: Mapping[str, Task]
    level: Level = "strict"
    barrier: Barrier = "wave"
    window_ms: int = 500
    on_window_close: OnWindowClose = "refuse"
    windows: tuple[datetime | None, ...] = ()


class TaskFault(msgspec.Struct, frozen=True):
    """A fault in a graph: the field, the fault, the allowed values."""

    field: str
    message: str
    allowed: tuple[str, ...] = ()


def faults(specs: Mapping[str, TaskSpec]) -> list[TaskFault]:
    """Return a graph's faults: unknown, own and repeated dependencies (the first ones), otherwise a cycle."""
    found: list[TaskFault] = []
    names = list(specs)
    for name, spec in specs.items():
        field = f"tasks.{name}.depends_on"
        for other, times in Counter(spec.depends_on).items():
            # The answer for a graph of thousands of wrong names would have megabytes.
            if len(found) >= MOST_FAULTS:
                return found
            if other == name:
                found.append(TaskFault(field, f"names `{name}` itself"))
            elif other not in specs:
                rest = [one for one in names if one != name]
                text = f"names `{other}`, an unknown task of this graph{did_you_mean(other, rest)}"
                found.append(TaskFault(field, text, tuple(rest)))
            if times > 1:
                found.append(TaskFault(field, f"names `{other}` {times} times"))
    return found or _cycle(specs)


def waves(specs: Mapping[str, TaskSpec]) -> list[list[str]]:
    """Return the task names by wave: a task follows the last of its dependencies. Check `faults` first."""
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
    """Build a graph of unstarted tasks. Check `faults` first."""
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
    """End a task; dependents of a lost one are skipped, tasks waiting for a completed one may start.

    If a lost task completes after all, by a retry of its job, the tasks skipped for it are restored.
    """
    task = msgspec.structs.replace(graph.tasks[name], state=state, ended_at=at, detail=detail)
    tasks = {**graph.tasks, name: task}
    if graph.tasks[name].state in LOST and state == "completed":
        for other in graph.tasks.values():
            if other.state == "skipped":
                tasks[other.name] = msgspec.structs.replace(other, state="blocked", ended_at=None, detail="")
    return settled(msgspec.structs.replace(graph, tasks=tasks), at)


def settled(graph: Graph, at: datetime | None) -> Graph:
    """Return the graph with updated states of waiting tasks: `pending` (startable), `blocked` or `skipped`."""
    tasks = dict(graph.tasks)
    in_order = sorted(tasks.values(), key=lambda task: task.wave)
    # In the order of waves, so dependents of a skipped task are skipped in the same pass.
    for task in in_order:
        lost = next((other for other in task.depends_on if tasks[other].state in LOST), None)
        if task.state in WAITING and lost is not None:
            detail = f"`{lost}` was {tasks[lost].state}" if tasks[lost].state != "failed" else f"`{lost}` failed"
            tasks[task.name] = msgspec.structs.replace(task, state="skipped", ended_at=at, detail=detail)
    # Only now: skipping may have ended the wave the others waited for.
    first = current_wave(tasks)
    for task in in_order:
        if tasks[task.name].state in WAITING:
            done = all(tasks[other].state == "completed" for other in task.depends_on)
            may = done and (graph.barrier == "ready" or task.wave == first)
            tasks[task.name] = msgspec.structs.replace(task, state="pending" if may else "blocked")
    return msgspec.structs.replace(graph, tasks=tasks)


def current_wave(tasks: Mapping[str, Task]) -> int:
    """Return the first wave, from 0, with a task still to end; -1 if all have ended."""
    return min((task.wave for task in tasks.values() if task.state not in ENDED), default=-1)


def state_of(graph: Graph) -> Literal["pending", "running", "completed", "failed"]:
    """Return the state of the whole graph: `failed` if all tasks have ended, but not all completed."""
    states = {task.state for task in graph.tasks.values()}
    if states <= ENDED:
        return "completed" if states <= {"completed"} else "failed"
    return "pending" if states <= WAITING else "running"


def _cycle(specs: Mapping[str, TaskSpec]) -> list[TaskFault]:
    try:
        TopologicalSorter({name: spec.depends_on for name, spec in specs.items()}).prepare()
    except CycleError as error:
        nodes: list[str] = error.args[1]
        return [TaskFault("tasks", "has a cycle: " + " → ".join(f"`{name}`" for name in nodes))]
    return []


# Judge the start time of a graph's task: once, in its wave, within the window after the first start of its wave. The
# caller passes the time. A start at exactly the end of the window is in time.

BreachKind = Literal["wrong_wave", "parallel_window", "reopened"]
_KINDS: dict[str, BreachKind] = {"wrong_wave": "wrong_wave", "parallel_window": "parallel_window"}


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A broken rule of the waves: tolerated by the level `guidance` or by a reopened wave, or `refused`."""

    kind: BreachKind
    task: str
    wave: int
    detail: str
    refused: bool = False


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The graph with the task started, and the rule broken by it, if any."""

    graph: Graph
    breach: Breach | None = None


def admit(graph: Graph, name: str, at: datetime, *, auto: bool = False) -> Refusal | Admission:
    """Start a task now, or return the refusal. `auto` marks a start by the server after the window closed."""
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
    """Return the rule of the waves broken by a start; None for another refusal."""
    kind = _KINDS.get(refusal.code)
    return kind and Breach(kind=kind, task=task.name, wave=task.wave, detail=refusal.detail, refused=refused)


def never_started(graph: Graph, wave: int, at: datetime) -> list[str]:
    """Return the tasks of a wave lost before their start, or not started in time.

    Skipped tasks, and those ready only after their wave was opened, are excluded.
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
    """Reopen a wave with unstarted tasks after its window closed, or return the reason against it."""
    opened = graph.windows[wave]
    left = _held(graph, wave)
    if opened is None:
        return f"wave {wave + 1} has not been opened yet; spawn its tasks"
    if not left:
        return f"wave {wave + 1} has no task left that its window keeps from starting"
    if at <= _closes(graph, opened):
        return f"the window of wave {wave + 1} is still open; spawn its tasks"
    windows = tuple(None if number == wave else moment for number, moment in enumerate(graph.windows))
    breach = Breach(
        kind="reopened",
        task="",
        wave=wave,
        detail=f"wave {wave + 1} was opened again for {_names([one.name for one in left])}",
    )
    return Admission(graph=msgspec.structs.replace(graph, windows=windows), breach=breach)


def due(graph: Graph, at: datetime) -> list[str]:
    """Return the tasks for the server to start now: unstarted ones in waves with a closed window."""
    if graph.on_window_close != "auto_spawn":
        return []
    return [
        task.name
        for wave, opened in enumerate(graph.windows)
        if opened is not None and at > _closes(graph, opened)
        for task in _held(graph, wave)
    ]


def closes_at(graph: Graph) -> datetime | None:
    """Return the server's next check of the graph: the first closing of a window with unstarted tasks, or None."""
    if graph.on_window_close != "auto_spawn":
        return None
    open_ones = (_closes(graph, at) for wave, at in enumerate(graph.windows) if at is not None and _held(graph, wave))
    return min(open_ones, default=None)


def startable(graph: Graph) -> list[str]:
    """Return the startable tasks, in the order of the graph."""
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
    """Return the waiting tasks of a wave bound by its window: those startable when it opened."""
    opened = graph.windows[wave]
    return [
        task
        for task in graph.tasks.values()
        if task.wave == wave and task.state == "pending" and _was_ready(graph, task, opened)
    ]


def _was_ready(graph: Graph, task: Task, opened: datetime | None) -> bool:
    ends = [moment for other in task.depends_on if (moment := graph.tasks[other].ended_at) is not None]
    return opened is None or all(moment <= opened for moment in ends)


def _closes(graph: Graph, opened: datetime) -> datetime:
    return opened + timedelta(milliseconds=graph.window_ms)


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# Report the parallelism of a graph's waves.

WaveState = Literal["waiting", "started", "ended"]


class WaveReport(msgspec.Struct, frozen=True, kw_only=True):
    """One wave, counted from 1. `spread_ms` is between the first and the last requested start.

    `auto_spawned` are the tasks started by the server when the window closed. `never_started` are left out until then,
    or given up before. `violations` counts refused and tolerated ones by kind.
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
    """Report on each wave of a graph, at a timestamp of the database's clock."""
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
