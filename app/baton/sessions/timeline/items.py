"""What a session's timeline is made of: prompts, routes, advisories, decisions, spawns, jobs, questions and modes, in one order."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from baton.engine.call.record import Record

Kind = Literal["session", "prompt", "route", "advisory", "decision", "spawn", "job", "question", "mode"]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined] # typing's Literal has them
MODES, CALLS, JOB_STEPS = 0, 1, 2
"""The sources, in the order of items of one moment."""
OF_DECISIONS: frozenset[Kind] = frozenset({"session", "prompt", "route", "advisory", "decision", "spawn"})
OF_JOBS: frozenset[Kind] = frozenset({"job", "question"})


class Place(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Where an item stands: its moment, its source (0 modes, 1 decisions, 2 jobs), its id there, and its part of that."""

    at: datetime
    source: int = -1
    id: str = ""
    part: int = 0


class JobStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a delegated job: a change of its state, or a question of its agent. Tokens stand at its end."""

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
    """A change of the orchestrator mode at a scope that the session belongs to."""

    action: str
    scope: str
    actor: str
    enabled: bool
    level: str = ""
    reason: str = ""


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item. `record` stands with what was decided or prompted, `job` and `mode` with the others; `usd` is what it cost."""

    place: Place
    kind: Kind
    record: Record | None = None
    job: JobStep | None = None
    mode: ModeChange | None = None
    usd: float | None = None
