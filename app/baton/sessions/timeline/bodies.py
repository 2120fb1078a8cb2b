"""The HTTP models of a session's timeline."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, Field

from baton.kernel.http.fields import Shown
from baton.records.review.bodies import DecisionModel
from baton.rules.call.record import Record

# The items of a timeline: prompts, routes, advisories, decisions, spawns, jobs, questions and modes, in one order.

Kind = Literal["session", "prompt", "route", "advisory", "decision", "spawn", "job", "question", "mode"]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined] # typing's Literal has them
MODES, CALLS, JOB_STEPS = 0, 1, 2
"""The sources, in the order of items of one moment."""
OF_DECISIONS: frozenset[Kind] = frozenset({"session", "prompt", "route", "advisory", "decision", "spawn"})
OF_JOBS: frozenset[Kind] = frozenset({"job", "question"})


class SortKey(msgspec.Struct, frozen=True, array_like=True, order=True):
    """An item's sort key: its timestamp, source (0 modes, 1 decisions, 2 jobs), id there, and part of that."""

    at: datetime
    source: int = -1
    id: str = ""
    part: int = 0


class JobStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a delegated job: a change of its state, or a question of its agent. The last step has the tokens."""

    job: str
    type: str
    state: str = ""
    provider: str = ""
    agent_type: str = ""
    description: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    detail: dict[str, Any] = {}


class ModeChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the orchestrator mode at one of the session's scopes."""

    action: str
    scope: str
    actor: str
    enabled: bool
    level: str = ""
    reason: str = ""


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item. Decisions and prompts have a `record`, the others `job` or `mode`. `usd` is its cost."""

    place: SortKey
    kind: Kind
    record: Record | None = None
    job: JobStep | None = None
    mode: ModeChange | None = None
    usd: float | None = None


class TimelineItemModel(BaseModel):
    """One item of a timeline. `decision` is the record of a call, prompt or route; the others have `job` or `mode`."""

    at: datetime
    kind: Kind
    parent: str | None = Field(
        None, description="With a spawn: the id of the starting agent, `main` for the main thread."
    )
    advisories: list[str] | None = Field(None, description="The lines that a prompt showed of violated patterns.")
    decision: DecisionModel | None = None
    job: Shown[JobStep] | None = None
    mode: Shown[ModeChange] | None = None
    usd: float | None = Field(None, description="Its cost, if known.")

    @classmethod
    def build(cls, item: TimelineItem) -> "TimelineItemModel":
        """Show an item as the API does."""
        record = item.record
        if record is not None and item.kind == "route":  # the prompt is an item of its own
            record = msgspec.structs.replace(record, prompt="")
        return cls(
            at=item.place.at,
            kind=item.kind,
            parent=(record.agent_id or "main") if record is not None and item.kind == "spawn" else None,
            advisories=record.command.split("\n") if record is not None and item.kind == "advisory" else None,
            decision=None if record is None or item.kind == "advisory" else DecisionModel.build(record),
            job=None if item.job is None else item.job,
            mode=None if item.mode is None else item.mode,
            usd=item.usd,
        )


class TimelinePage(BaseModel):
    """A page of a timeline, oldest first; `next_cursor` is absent on the last one."""

    items: list[TimelineItemModel]
    next_cursor: str | None = None
