"""A decision: the engine's verdict with all that people and records need beside it. It renders nothing."""

import msgspec

from baton.engine.call.verdict import Verdict


class ModeInForce(msgspec.Struct, frozen=True, kw_only=True):
    """The orchestrator mode that a decision was made under."""

    enabled: bool
    level: str
    scope: str


class RouteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where a prompt was routed to, as its record keeps it; `agent` is "" where no agent was chosen.

    `confidence` is from 0 to 1, `elapsed_us` in microseconds, `tier` names what chose the agent.
    """

    id: str
    agent: str
    tier: str
    confidence: float
    elapsed_us: int
    degraded: tuple[str, ...]


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decided call. `degraded` names what was unavailable; `elapsed_us` is in microseconds.

    `overridden` tells that the person had switched Baton off for their session, so no rule ran, or that a rule which
    matched was lifted for it.
    """

    id: str
    verdict: Verdict
    mode: ModeInForce
    revision: str
    degraded: tuple[str, ...] = ()
    elapsed_us: int = 0
    overridden: bool = False
