"""The HTTP models of a session's timeline."""

from datetime import datetime
from typing import Any

import msgspec
from pydantic import BaseModel, Field

from baton.records.review.bodies import DecisionModel
from baton.sessions.timeline.items import Kind, TimelineItem


class JobStepModel(BaseModel):
    """One step of a delegated job: a change of its state, or a question of its agent. Tokens stand at its end."""

    job: str
    type: str
    state: str
    provider: str
    agent_type: str
    description: str
    error: str
    input_tokens: int
    output_tokens: int
    detail: dict[str, Any]


class ModeChangeModel(BaseModel):
    """A change of the orchestrator mode at a scope that the session belongs to."""

    action: str
    scope: str
    actor: str
    enabled: bool
    level: str
    reason: str


class TimelineItemModel(BaseModel):
    """One item of a timeline. `decision` is the record of a call, prompt or route; `job` and `mode` stand with the others."""

    at: datetime
    kind: Kind
    parent: str | None = Field(
        None, description="With a spawn: the id of the agent that starts another one, `main` for the main thread."
    )
    advisories: list[str] | None = Field(None, description="The lines that a prompt showed of violated patterns.")
    decision: DecisionModel | None = None
    job: JobStepModel | None = None
    mode: ModeChangeModel | None = None
    usd: float | None = Field(None, description="What it cost, where that is known.")

    @classmethod
    def of(cls, item: TimelineItem) -> "TimelineItemModel":
        """Show an item as the API does."""
        record = item.record
        if record is not None and item.kind == "route":  # the prompt is an item of its own
            record = msgspec.structs.replace(record, prompt="")
        return cls(
            at=item.place.at,
            kind=item.kind,
            parent=(record.agent_id or "main") if record is not None and item.kind == "spawn" else None,
            advisories=record.command.split("\n") if record is not None and item.kind == "advisory" else None,
            decision=None if record is None or item.kind == "advisory" else DecisionModel.of(record),
            job=None if item.job is None else JobStepModel.model_validate(item.job, from_attributes=True),
            mode=None if item.mode is None else ModeChangeModel.model_validate(item.mode, from_attributes=True),
            usd=item.usd,
        )


class TimelinePage(BaseModel):
    """A page of a timeline, oldest first; `next_cursor` is absent on the last one."""

    items: list[TimelineItemModel]
    next_cursor: str | None = None
