"""The record of a decision. It contains the input's command, paths and, at the team's choice, the prompt."""

from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from baton.rules.call.kept import Command, Id, Name, Own, Path, Prompt
from baton.rules.call.verdict import RuleHit


class Field(msgspec.Struct, frozen=True):
    """A field of a record, the source of its SQL column and its API field.

    Attributes:
        name: Its name everywhere.
        kind: Its type: `str`, `bool`, `int`, `float`, `datetime` or `tuple`.
        words: The allowed values, if fixed.
        may_lack: Whether it may be None.
        description: Its API description, if more than its name.
    """

    name: str
    kind: type
    words: tuple[str, ...] = ()
    may_lack: bool = False
    description: str | None = None


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision, for later reading. `at` is timezone-aware; "" means absent.

    `effect` is the engine's word, `decision` the answer's. `elapsed_us` is in microseconds. `command`, `paths` and
    `prompt` may contain secrets until they are masked, before a record leaves the process: the type of each text
    declares it. `prompt` is the request of a person or an agent, "" unless their team stores prompts. `model_injected`
    is the model set by a rewrite; `overridden`: the person had switched Baton off for their session. `routed_to` is the
    agent chosen for a prompt (or ""), `routed_by` the deciding tier, `confidence` is from 0 to 1, and `routed_as` the
    advice to the agent: one agent, a shortlist, or none. `outcome` is a tool call's ("" for other events), with its
    duration; an agent call's `model_used` and tokens come from its client's report, `started_agent` is the agent
    started by it. `traceparent` names the request's trace and span; `client_version` is its client's, if known.
    """

    id: Own
    at: datetime
    organisation: Name
    team: Name
    user: Name
    client: Name
    event: Name
    project: Path = ""
    session_id: Id = ""
    agent_id: Id = ""
    agent_type: Name = ""
    tool: Name = ""
    tool_use_id: Id = ""
    effect: Literal["deny", "ask", "rewrite", "allow", "abstain"] = "abstain"
    decision: Literal["allow", "ask", "block"] = "allow"
    rules: tuple[RuleHit, ...] = ()
    mode_enabled: bool = False
    mode_level: Name = ""
    mode_scope: Name = ""
    revision: Own = ""
    elapsed_us: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    degraded: tuple[Name, ...] = ()
    command: Command = ""
    paths: tuple[Path, ...] = ()
    model_injected: Name = ""
    role: Name = ""
    prompt: Annotated[
        Prompt,
        Meta(description="What was asked for, where the team keeps prompts; shown with one decision, not in lists."),
    ] = ""
    overridden: bool = False
    routed_to: Annotated[Name, Meta(description="The agent that a prompt was led to.")] = ""
    routed_by: Annotated[Name, Meta(description="What decided where a prompt was led.")] = ""
    routed_as: Annotated[
        Literal["", "agent", "shortlist", "none"],
        Meta(description="What the prompt's agent was told: one agent, a few to choose from, or nothing."),
    ] = ""
    confidence: float = 0.0
    outcome: Annotated[
        Literal["", "ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "changed_by_other", "unknown"],
        Meta(description="What became of the call, as its client reports it; absent for other events."),
    ] = ""
    duration_ms: Annotated[int | None, Meta(description="How long the call took, in milliseconds.")] = None
    model_used: Annotated[Name, Meta(description="The model that an agent ran on, as its client reports it.")] = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    started_agent: Annotated[Name, Meta(description="The agent that the call starts.")] = ""
    traceparent: Annotated[Id, Meta(description="The trace and the span that the request came with.")] = ""
    client_version: Annotated[Name, Meta(description="The version of the client, where it says it.")] = ""
    repeats: Annotated[
        int, Meta(ge=0, le=2**31 - 1, description="Further refusals by the rate limit within a minute, not stored.")
    ] = 0

    @property
    def shown(self) -> str:
        """The call as people read it: its command, or its tool and files."""
        return self.command or " ".join((self.tool, *self.paths))


def _field(name: str, hint: Any) -> Field:
    parts: list[Any] = []
    if get_origin(hint) is Annotated:
        hint, *parts = get_args(hint)
    description = next((one.description for one in parts if isinstance(one, Meta) and one.description), None)
    if get_origin(hint) is Literal:
        return Field(name, str, words=get_args(hint), description=description)
    if get_origin(hint) is tuple:
        return Field(name, tuple, description=description)
    if type(None) in get_args(hint):
        return Field(name, get_args(hint)[0], may_lack=True, description=description)
    return Field(name, hint, description=description)


FIELDS = tuple(_field(name, hint) for name, hint in get_type_hints(Record, include_extras=True).items())
