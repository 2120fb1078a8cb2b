"""The HTTP models of starts: request and response."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, AliasChoices, ConfigDict, Field

from baton.delegate.core.waiting import Waiting
from baton.delegate.jobs.arguments import JobArgumentsBody, MaybeModel, arguments_of
from baton.kernel.http.fields import BLANK_FOR_NULL, PROJECT, ApiModel, MaybeText, Text, request_body
from baton.rules.agents.judge import Spawn
from baton.rules.agents.plan import Acp, Delegation, Plan
from baton.shared.caller import Caller
from baton.spawn.service import SpawnRequest, SpawnResult

LongText = Annotated[str, Field(max_length=10_000)]
Prompt = Annotated[str, Field(max_length=131_072)]
Name = Annotated[str, Field(max_length=200)]
MaybeLongText = Annotated[LongText | None, BLANK_FOR_NULL]
MaybeName = Annotated[Name | None, BLANK_FOR_NULL]
GraphId = Annotated[MaybeName, Field(validation_alias=AliasChoices("graph_id", "task_graph_id"))]
MaybeTools = Annotated[Annotated[list[Name], Field(max_length=200)] | None, AfterValidator(lambda tools: tools or [])]
MaybeTokens = Annotated[Annotated[int, Field(ge=0, le=200_000)] | None, AfterValidator(lambda tokens: tokens or 0)]


PURPOSE: dict[str, Any] = {
    "spawning_agent": "stravinsky",
    "delegation_reason": "a search for a cheap model",
    "expected_outcome": "a list of files",
    "required_tools": ["Read", "Grep"],
}


class SpawnFields(JobArgumentsBody):
    """The fields of every start; with `execute: plan` nothing runs, and the job arguments are only checked."""

    model_config = ConfigDict(extra="forbid")

    agent_type: Name = ""
    prompt: Prompt = ""
    description: MaybeText = ""
    spawning_agent: MaybeName = Field(
        "", description="The agent that starts this one; without it neither metadata nor rank is checked."
    )
    delegation_reason: MaybeLongText = Field("", description="Required of an orchestrator, like the next two.")
    expected_outcome: MaybeLongText = ""
    required_tools: MaybeTools = Field([])
    model: MaybeModel = Field("", description="Replaces the model of the roster.")
    thinking_budget: MaybeTokens = Field(0, description="In tokens; 0 for the client's own.")
    session_id: Text = ""
    project: Annotated[Text, PROJECT] = Field(
        "",
        description="The project whose policies apply; the header `Baton-Project` when absent. With a `session_id`, that of the session.",
    )
    execute: Literal["plan", "run"] | None = Field(
        None, description="`plan`, the default, runs nothing; for a task of a graph the graph decides."
    )
    roster: Name = Field("", description="One roster by its id; the team's list when absent.")


class SpawnBody(SpawnFields):
    """An agent to start."""

    model_config = request_body(
        {"agent_type": "explore", "prompt": "Find every caller of `parse`", "roster": "stravinsky"} | PURPOSE
    )

    agent_type: Name = Field(min_length=1)
    prompt: Prompt = Field(pattern=r"\S")
    graph_id: GraphId = ""
    task: MaybeName = Field("", description="With `graph_id`: the task's name in the graph.")


class StartedJob(msgspec.Struct, frozen=True, kw_only=True):
    """The job running the agent; `waiting` is absent unless it waits in its queue."""

    id: str
    state: str
    waiting: Waiting | None


class Started(Plan, frozen=True, kw_only=True):
    """The start of the agent: `argv` with `stdin` on standard input and `env` added to the environment, or over ACP.

    Absent are `cli_model` for the client's own default, and `tools` for all. `model_reason` names what decided the
    model: the request, the agent's own file, a row, a default. `tier` is CHEAP, MEDIUM or EXPENSIVE, and `colour` is
    its green, blue or purple. `instruction` is what its system prompt says about delegating. `notes` are skipped checks,
    with reasons. `violation` is the rule of the waves that this start broke, where the graph only counts it.
    """

    graph_id: str
    task: str
    violation: str
    job: StartedJob | None

    @classmethod
    def of(cls, result: SpawnResult, graph_id: str = "") -> "Started":
        """Return the start of an agent, in a graph or without one."""
        job = StartedJob(id=result.job_id, state=result.job_state, waiting=result.waiting) if result.job_id else None
        plan = msgspec.structs.asdict(result.plan)
        return cls(**plan, graph_id=graph_id, task=result.task, violation=result.violation, job=job)


_PLAN_BLANK = ("cli_model", "tier", "colour", "thinking_budget", "tools", "instruction")
ShownStart = Annotated[
    Started,
    ApiModel(
        "SpawnModel",
        without=("agent",),
        blank=(*_PLAN_BLANK, "graph_id", "task", "violation"),
        agent_type=Annotated[str, Field(validation_alias="agent")],
        delegation=Annotated[Delegation, ApiModel("WrapperModel", blank=("call", "max_turns", "reasoning_effort"))]
        | None,
        acp=Annotated[Acp, ApiModel(blank=("model",))],
        job=Annotated[StartedJob, ApiModel("JobStateModel")] | None,
    ),
]


def spawn_request(caller: Caller, fields: Mapping[str, Any], *, in_graph: bool) -> SpawnRequest:
    """Return the request of a body's fields; a graph's task takes the project from its graph."""
    own = {name: fields[name] for name in Spawn.__struct_fields__ if name in fields}
    own["required_tools"] = tuple(own.get("required_tools", ()))
    return SpawnRequest(
        spawn=Spawn(**{"agent_type": "", **own}),
        execute=fields.get("execute"),
        session_id=fields.get("session_id", ""),
        project=fields.get("project", "") or ("" if in_graph else caller.project),
        arguments=arguments_of(dict(fields)),
        roster=fields.get("roster", ""),
    )
