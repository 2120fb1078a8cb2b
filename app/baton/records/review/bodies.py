"""The HTTP models of recorded decisions."""

from datetime import datetime
from typing import Literal

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from baton.engine.call.record import Record


class RuleHitModel(BaseModel):
    """A rule that matched."""

    id: str
    effect: Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"]


class DecisionModel(BaseModel):
    """A recorded decision. Secrets in it are masked and marked; file contents are never kept."""

    id: str
    at: datetime
    organisation: str
    team: str
    user: str
    role: str | None = None
    project: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    client: str
    event: str
    tool: str | None = None
    tool_use_id: str | None = None
    effect: str
    decision: Literal["allow", "ask", "block"]
    rules: list[RuleHitModel]
    mode_enabled: bool
    mode_level: str = ""
    mode_scope: str = ""
    revision: str = ""
    elapsed_ms: float
    degraded: list[str]
    command: str | None = None
    paths: list[str]
    model_injected: str | None = None
    prompt: str | None = Field(
        None, description="What was asked for, where the team keeps prompts; shown with one decision, not in lists."
    )
    overridden: bool
    routed_to: str | None = Field(None, description="The agent that a prompt was led to.")
    routed_by: str | None = Field(None, description="What decided where a prompt was led.")
    routed_as: Literal["agent", "shortlist", "none"] | None = Field(
        None, description="What the prompt's agent was told: one agent, a few to choose from, or nothing."
    )
    confidence: float | None = None
    outcome: Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"] | None = Field(
        None, description="What became of the call, as its client reports it; absent for other events."
    )
    duration_ms: int | None = Field(None, description="How long the call took, in milliseconds.")
    model_used: str | None = Field(None, description="The model that an agent ran on, as its client reports it.")
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    started_agent: str | None = Field(None, description="The agent that the call starts.")
    client_version: str | None = Field(None, description="The version of the client, where it says it.")
    traceparent: str | None = Field(None, description="The trace and the span that the request came with.")

    @classmethod
    def of(cls, record: Record) -> "DecisionModel":
        """Show a record as the API does."""
        fields = {name: value for name, value in asdict(record).items() if value != ""}
        if not record.routed_by:
            del fields["confidence"]
        if not record.model_used:
            for name in ("input_tokens", "cached_tokens", "output_tokens"):
                del fields[name]
        fields["rules"] = [RuleHitModel(id=hit.id, effect=hit.effect) for hit in record.rules]
        fields["elapsed_ms"] = fields.pop("elapsed_us") / 1000
        return cls(**fields)


class DecisionPage(BaseModel):
    """A page of decisions, newest first; `next_cursor` is absent on the last one."""

    items: list[DecisionModel]
    next_cursor: str | None = None
