"""A decision: the engine's verdict, and what answers and records need beside it."""

from typing import Literal

import msgspec

from baton.engine.call.verdict import Verdict


class ModeInForce(msgspec.Struct, frozen=True, kw_only=True):
    """The orchestrator mode under which a decision was made."""

    enabled: bool
    level: str
    scope: str


class RouteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where a prompt was routed, as its record stores it; `agent` is "" if no agent was chosen.

    `confidence` is from 0 to 1, `elapsed_us` in microseconds, `tier` names what chose the agent, `told` what the prompt's
    agent was told.
    """

    id: str
    agent: str
    tier: str
    told: Literal["agent", "shortlist", "none"]
    confidence: float
    elapsed_us: int
    degraded: tuple[str, ...]


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on one call. `degraded` names what was unavailable; `elapsed_us` is in microseconds.

    `overridden` is True if Baton was switched off for the session, so that no rule ran, or if a rule that matched
    was lifted for it.
    """

    id: str
    verdict: Verdict
    mode: ModeInForce
    revision: str
    degraded: tuple[str, ...] = ()
    elapsed_us: int = 0
    overridden: bool = False
