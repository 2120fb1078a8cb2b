"""The record of a decision. Of the tool's input it has the command, the paths and, if the team wants it, the prompt."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from baton.engine.call.verdict import RuleHit

LONGEST_ID = 200
"""Characters of a name or an id that are kept."""
LONGEST_PROJECT = 1_000
"""Characters of a project's name, or of a path, that are kept."""
MOST_PATHS = 50
LONGEST_PROMPT = 32 << 10
"""Bytes of a prompt that are kept, where any are."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision as people find it again. `at` is timezone-aware; "" means that there was none.

    `effect` is the engine's word, `decision` the answer's. `elapsed_us` is in microseconds. `command`, `paths` and
    `prompt` may hold secrets until they are masked, which happens before a record leaves the process. `prompt` is what
    a person or an agent asked for, "" unless their team keeps prompts. `model_injected` names the model that a rewrite
    put in; `overridden` marks that the person had switched Baton off for their session. `routed_to` is the agent that a
    prompt was led to ("" for none), `routed_by` the tier that decided, `confidence` from 0 to 1 how sure it was, and
    `routed_as` what the agent was told: one agent, a shortlist, or none.
    `outcome` is what became of a tool call ("" for other events), with its duration; an agent call's `model_used` and
    tokens are what its client reports of it, `started_agent` is the agent that it starts. `traceparent` names the trace and
    the span that the request came with; `client_version` is its client's, where that says it.
    """

    id: str
    at: datetime
    organisation: str
    team: str
    user: str
    client: str
    event: str
    project: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    tool: str = ""
    tool_use_id: str = ""
    effect: Literal["deny", "ask", "rewrite", "allow", "abstain"] = "abstain"
    decision: Literal["allow", "ask", "block"] = "allow"
    rules: tuple[RuleHit, ...] = ()
    mode_enabled: bool = False
    mode_level: str = ""
    mode_scope: str = ""
    revision: str = ""
    elapsed_us: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    degraded: tuple[str, ...] = ()
    command: str = ""
    paths: tuple[str, ...] = ()
    model_injected: str = ""
    role: str = ""
    prompt: str = ""
    overridden: bool = False
    routed_to: str = ""
    routed_by: str = ""
    routed_as: Literal["", "agent", "shortlist", "none"] = ""
    confidence: float = 0.0
    outcome: Literal["", "ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"] = ""
    duration_ms: int | None = None
    model_used: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    started_agent: str = ""
    traceparent: str = ""
    client_version: str = ""
