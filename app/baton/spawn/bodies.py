"""The HTTP models of starts: request and response."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from baton.delegate.core.waiting import Waiting
from baton.delegate.jobs.arguments import JobArgumentsBody, MaybeModel, arguments_of
from baton.kernel.http.fields import BLANK_FOR_NULL, PROJECT, MaybeText, Shown, Text
from baton.rules.agents.judge import Spawn
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

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"agent_type": "explore", "prompt": "Find every caller of `parse`", "roster": "stravinsky"} | PURPOSE
            ]
        },
    )

    agent_type: Name = Field(min_length=1)
    prompt: Prompt = Field(pattern=r"\S")
    graph_id: GraphId = ""
    task: MaybeName = Field("", description="With `graph_id`: the task's name in the graph.")


class WrapperModel(BaseModel):
    """The first tool call of a thin wrapper, with its fixed arguments."""

    target: str
    call: str | None = None
    max_turns: int | None = None
    reasoning_effort: str | None = None


class AcpModel(BaseModel):
    """Session parameters for an agent controlled over the Agent Client Protocol (ACP)."""

    provider: str
    model: str | None = None
    mode: str


class JobStateModel(BaseModel):
    """The job running the agent; `waiting` is absent unless it waits in its queue."""

    id: str
    state: str
    waiting: Shown[Waiting] | None = None

    @classmethod
    def build(cls, result: SpawnResult) -> "JobStateModel":
        """Return a start's job in its API form."""
        waiting = result.waiting and result.waiting
        return cls(id=result.job_id, state=result.job_state, waiting=waiting)


class SpawnModel(BaseModel):
    """The start of the agent: `argv` with `stdin` on standard input and `env` added to the environment, or over ACP."""

    agent_type: str
    roster: str
    task_id: str
    display_model: str
    cli_model: str | None = Field(None, description="Absent for the client's own default.")
    model_reason: str = Field(
        description="What decided the model: the request, the agent's own file, a row, a default."
    )
    tier: str | None = Field(None, description="CHEAP, MEDIUM or EXPENSIVE.")
    colour: str | None = Field(None, description="The tier's colour: green, blue or purple.")
    thinking_budget: int | None = None
    tools: list[str] | None = Field(None, description="The agent's tools; absent for all.")
    delegation: WrapperModel | None = None
    instruction: str | None = Field(None, description="What its system prompt says about delegating.")
    system_prompt: str
    argv: list[str]
    stdin: str
    env: dict[str, str]
    acp: AcpModel
    notes: list[str] = Field(description="Skipped checks, with reasons.")
    graph_id: str | None = None
    task: str | None = None
    violation: str | None = Field(
        None, description="The rule of the waves that this start broke, where the graph only counts it."
    )
    job: JobStateModel | None = None

    @classmethod
    def build(cls, result: SpawnResult, graph_id: str = "") -> "SpawnModel":
        """Return a start in its API form."""
        plan = result.plan
        delegation = plan.delegation
        return cls(
            agent_type=plan.agent,
            roster=plan.roster,
            task_id=plan.task_id,
            display_model=plan.display_model,
            cli_model=plan.cli_model or None,
            model_reason=plan.model_reason,
            tier=plan.tier or None,
            colour=plan.colour or None,
            thinking_budget=plan.thinking_budget or None,
            tools=list(plan.tools) or None,
            delegation=WrapperModel(
                target=delegation.target,
                call=delegation.call or None,
                max_turns=delegation.max_turns or None,
                reasoning_effort=delegation.reasoning_effort or None,
            )
            if delegation
            else None,
            instruction=plan.instruction or None,
            system_prompt=plan.system_prompt,
            argv=list(plan.argv),
            stdin=plan.stdin,
            env=plan.env,
            acp=AcpModel(provider=plan.acp.provider, model=plan.acp.model or None, mode=plan.acp.mode),
            notes=list(plan.notes),
            graph_id=graph_id or None,
            task=result.task or None,
            violation=result.violation or None,
            job=JobStateModel.build(result) if result.job_id else None,
        )


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
