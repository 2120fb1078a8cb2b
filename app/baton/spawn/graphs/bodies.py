"""The HTTP models of task graphs."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from baton.engine.agents.task_graph import Barrier, Level, OnWindowClose, State, Task, TaskSpec, state_of
from baton.kernel.http.body_fields import Text
from baton.spawn.bodies import PURPOSE, GraphId, LongText, Name, Prompt, SpawnFields, SpawnModel
from baton.spawn.graphs.graph import NewGraph, StoredGraph

TaskName = Annotated[str, Field(pattern=r"^[^\s/.`][^/`\x00-\x1f\x7f]{0,99}$")]
"""A task's name, in any script; it is part of a path, and is put in backticks in messages."""
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

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_GRAPH]})

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
    project: Text = ""

    @model_validator(mode="after")
    def _one_level(self) -> "GraphBody":
        if self.level is not None and self.strict is not None and (self.level == "strict") != self.strict:
            raise ValueError("`level` and `strict` contradict each other")
        return self

    def new(self, project: str) -> NewGraph:
        """Return the graph to make; `project` is that of the request's header."""
        tasks = {
            name: TaskSpec(
                agent_type=one.agent_type,
                description=one.description,
                prompt=one.prompt,
                depends_on=tuple(one.depends_on),
            )
            for name, one in self.tasks.items()
        }
        return NewGraph(
            session_id=self.session_id,
            tasks=tasks,
            level=self.level or ("guidance" if self.strict is False else "strict"),
            barrier=self.barrier,
            window_ms=self.window_ms,
            on_window_close=self.on_window_close,
            execute=self.execute,
            workspace=self.workspace,
            roster=self.roster,
            project=self.project or project,
        )


class TaskModel(BaseModel):
    """One task; `wave` counts from 1; `auto_spawned` means that the server started it when the window closed."""

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
    def of(cls, task: Task, plan: dict[str, Any] | None) -> "TaskModel":
        """Return a task as the API shows it."""
        return cls(
            agent_type=task.agent_type,
            description=task.description,
            depends_on=list(task.depends_on),
            wave=task.wave + 1,
            state=task.state,
            task_id=task.task_id or None,
            job_id=task.job_id or None,
            auto_spawned=task.auto or None,
            spawned_at=task.spawned_at,
            ended_at=task.ended_at,
            detail=task.detail or None,
            plan=plan,
        )


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
    def of(cls, stored: StoredGraph, *, plans: bool = False) -> "GraphModel":
        """Return a graph as the API shows it."""
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
                name: TaskModel.of(task, stored.plans.get(name) if plans else None)
                for name, task in graph.tasks.items()
            },
        )


class GraphsQuery(BaseModel):
    """Which graphs are listed, and which page of them."""

    session_id: Text = ""
    user: Text = ""
    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)


class GraphPage(BaseModel):
    """A page of graphs, the newest first; `next_cursor` is absent on the last page."""

    items: list[GraphModel]
    next_cursor: str | None = None


class TaskSpawnBody(SpawnFields):
    """A task to start; what its graph says of it may be left out."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [PURPOSE | {"task": "task_a"}]})

    task: TaskName
    graph_id: GraphId = Field("", description="As in the path; accepted so that a body of `/spawn` fits.")


class BatchBody(SpawnFields):
    """Tasks to start at one moment. The fields beside `tasks` apply to all of them."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [PURPOSE | {"tasks": {"task_a": {}, "task_b": {}}}]}
    )

    tasks: dict[TaskName, SpawnFields] | None = Field(
        None,
        min_length=1,
        max_length=MOST_TASKS,
        description="All tasks that may start now when absent.",
    )


class BatchModel(BaseModel):
    """The graph after the start, and how each agent is started."""

    graph: GraphModel
    spawned: list[SpawnModel]
