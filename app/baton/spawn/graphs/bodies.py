"""The HTTP models of task graphs."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from baton.kernel.http.fields import PROJECT, ApiModel, Moment, Shown, Text, request_body
from baton.kernel.http.paging import PageQuery
from baton.rules.agents.task_graph import Barrier, Level, OnWindowClose, State, Task, WaveReport, state_of, totals
from baton.spawn.bodies import PURPOSE, GraphId, LongText, Name, Prompt, ShownStart, SpawnFields
from baton.spawn.graphs.graph import GraphCompliance, NewGraph, StoredGraph, Violation

TaskName = Annotated[str, Field(pattern=r"^[^\s/.`][^/`\x00-\x1f\x7f]{0,99}$")]
"""A task's name, in any script; it is part of a path, and appears in backticks in messages."""
MOST_TASKS = 1_000


_GRAPH: dict[str, Any] = {
    "session_id": "5b1f0c9e",
    "roster": "stravinsky",
    "tasks": {
        "task_a": {"description": "Find every caller", "agent_type": "explore", "depends_on": []},
        "task_b": {"description": "Read the documentation", "agent_type": "dewey", "depends_on": []},
        "task_c": {"description": "Build the page", "agent_type": "frontend", "depends_on": ["task_a", "task_b"]},
    },
}


class TaskBody(BaseModel):
    """One task of a graph to make."""

    model_config = ConfigDict(extra="forbid")

    description: LongText = ""
    agent_type: Name = Field(min_length=1)
    depends_on: list[TaskName] = Field([], max_length=MOST_TASKS)
    prompt: Prompt = Field("", description="What its agent is given; the description when absent.")


class GraphBody(BaseModel):
    """A graph to make."""

    model_config = request_body(_GRAPH)

    session_id: Text = Field(min_length=1)
    tasks: dict[TaskName, TaskBody] = Field(min_length=1, max_length=MOST_TASKS)
    level: Level | None = Field(None, description="`strict` refuses a start that breaks a wave, `guidance` counts it.")
    strict: bool | None = Field(None, description="Another way to say `level`: true is `strict`, the default.")
    barrier: Barrier = Field(
        "wave",
        description="`wave`: a wave waits for the whole wave before; `ready`: a task waits for its own dependencies.",
    )
    window_ms: int = Field(
        500,
        ge=1,
        le=600_000,
        validation_alias=AliasChoices("window_ms", "parallel_window_ms"),
        description="How long after the first start of a wave the others are in time, in ms.",
    )
    on_window_close: OnWindowClose | None = Field(
        None, description="`auto_spawn`, the default with `execute: run`, starts the tasks left; `refuse` refuses them."
    )
    execute: Literal["plan", "run"] = "plan"
    workspace: Text = ""
    roster: Name = ""
    project: Annotated[Text, PROJECT] = ""

    @model_validator(mode="after")
    def _one_level(self) -> "GraphBody":
        if self.level is not None and self.strict is not None and (self.level == "strict") != self.strict:
            raise ValueError("`level` and `strict` contradict each other")
        return self

    def new(self, project: str) -> NewGraph:
        """Return the graph to make; `project` is from the request's header."""
        given = self.model_dump(exclude={"strict"}) | {
            "level": self.level or ("guidance" if self.strict is False else "strict"),
            "project": self.project or project,
        }
        return msgspec.convert(given, NewGraph)


class TaskModel(BaseModel):
    """One task; `wave` counts from 1; `auto_spawned`: the server started it when the window closed."""

    agent_type: str
    description: str
    depends_on: list[str]
    wave: int
    state: State
    task_id: str | None = None
    job_id: str | None = None
    auto_spawned: bool | None = None
    spawned_at: datetime | None = None
    ended_at: datetime | None = None
    detail: str | None = Field(None, description="Why it was skipped or failed.")
    plan: dict[str, Any] | None = Field(None, description="How its agent was started.")

    @classmethod
    def build(cls, task: Task, plan: dict[str, Any] | None) -> "TaskModel":
        """Return a task in its API form."""
        shown = msgspec.structs.asdict(task) | {"wave": task.wave + 1, "auto_spawned": task.auto or None, "plan": plan}
        return cls(**shown | {name: shown[name] or None for name in ("task_id", "job_id", "detail")})


class GraphModel(BaseModel):
    """A graph: its waves, from the first to the last, and the state of each task."""

    id: str
    session_id: str
    user: str
    state: Literal["pending", "running", "completed", "failed"]
    level: Level
    barrier: Barrier
    window_ms: int
    on_window_close: OnWindowClose
    execute: str
    roster: str | None = None
    workspace: str | None = None
    created_at: datetime
    waves: list[list[str]]
    tasks: dict[str, TaskModel]

    @classmethod
    def build(cls, stored: StoredGraph, *, plans: bool = False) -> "GraphModel":
        """Return a graph in its API form."""
        graph = stored.graph
        waves: list[list[str]] = [[] for _ in graph.windows]
        for task in graph.tasks.values():
            waves[task.wave].append(task.name)
        return cls(
            id=stored.id,
            session_id=stored.session_id,
            user=stored.user,
            state=state_of(graph),
            level=graph.level,
            barrier=graph.barrier,
            window_ms=graph.window_ms,
            on_window_close=graph.on_window_close,
            execute=stored.execute,
            roster=stored.roster or None,
            workspace=stored.workspace or None,
            created_at=stored.created_at,
            waves=waves,
            tasks={
                name: TaskModel.build(task, stored.plans.get(name) if plans else None)
                for name, task in graph.tasks.items()
            },
        )


class GraphsQuery(PageQuery):
    """Filters and page of a list of graphs, made from `since` until before `until`."""

    session_id: Text = ""
    user: Text = ""
    since: Moment | None = None
    until: Moment | None = None


class GraphPage(BaseModel):
    """A page of graphs, the newest first; `next_cursor` is absent on the last page."""

    items: list[GraphModel]
    next_cursor: str | None = None


class TaskSpawnBody(SpawnFields):
    """A task to start; fields given by its graph are optional."""

    model_config = request_body(PURPOSE | {"task": "task_a"})

    task: TaskName
    graph_id: GraphId = Field("", description="As in the path; accepted so that a body of `/spawn` fits.")


class BatchBody(SpawnFields):
    """Tasks to start simultaneously. The fields besides `tasks` apply to all of them."""

    model_config = request_body(PURPOSE | {"tasks": {"task_a": {}, "task_b": {}}})

    tasks: dict[TaskName, SpawnFields] | None = Field(
        None, min_length=1, max_length=MOST_TASKS, description="Default: all tasks ready to start."
    )


class BatchModel(BaseModel):
    """The graph after the start, and the start of each agent."""

    graph: GraphModel
    spawned: list[ShownStart]


# The HTTP models of the compliance of task graphs.


ShownViolation = Annotated[
    Violation,
    ApiModel(
        without=("id", "graph_id"),
        blank=("task",),
        kind=Literal["wrong_wave", "parallel_window", "reopened"],
        wave=Annotated[int, BeforeValidator(lambda number: number + 1)],
    ),
]


class ComplianceModel(BaseModel):
    """The compliance of a graph's waves. `violations` counts by kind, refused starts too (the first 200).

    It is compliant if no rule of the waves was broken or tried, and no task of a wave was left out when its window
    closed. A wave still unopened has no violations.
    """

    graph_id: str
    session_id: str
    user: str
    state: Literal["pending", "running", "completed", "failed"]
    level: Level
    window_ms: int
    compliant: bool
    violations: dict[str, int]
    waves: list[Shown[WaveReport]]
    log: list[ShownViolation]

    @classmethod
    def build(cls, found: GraphCompliance) -> "ComplianceModel":
        """Return a graph's compliance in its API form."""
        return cls(
            graph_id=found.stored.id,
            session_id=found.stored.session_id,
            user=found.stored.user,
            state=state_of(found.stored.graph),
            level=found.stored.graph.level,
            window_ms=found.stored.graph.window_ms,
            compliant=all(wave.compliant for wave in found.waves),
            violations=dict(totals(found.waves)),
            waves=list(found.waves),
            log=found.violations,
        )


class SessionComplianceModel(BaseModel):
    """The compliance of a session's graphs; the newest graph first, at most 200."""

    session_id: str
    compliant: bool
    violations: dict[str, int]
    widest_spread_ms: float | None = None
    graphs: list[ComplianceModel]

    @classmethod
    def build(cls, session_id: str, graphs: list[GraphCompliance]) -> "SessionComplianceModel":
        """Return the compliance of a session's graphs."""
        waves = [wave for one in graphs for wave in one.waves]
        return cls(
            session_id=session_id,
            compliant=all(wave.compliant for wave in waves),
            violations=dict(totals(waves)),
            widest_spread_ms=max((wave.spread_ms for wave in waves if wave.spread_ms is not None), default=None),
            graphs=[ComplianceModel.build(one) for one in graphs],
        )
