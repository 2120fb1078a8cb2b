"""The HTTP models of compliance: how well task graphs kept to their waves."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from baton.engine.agents.compliance import WaveReport, totals
from baton.engine.agents.task_graph import Level, state_of
from baton.spawn.graphs.graph import GraphCompliance, Violation


class ViolationModel(BaseModel):
    """A rule of the waves that was broken. `refused` tells that the start was refused, and not only counted."""

    kind: Literal["wrong_wave", "parallel_window", "reopened"]
    wave: int
    task: str | None = None
    detail: str
    refused: bool
    at: datetime

    @classmethod
    def of(cls, violation: Violation) -> "ViolationModel":
        """Return a violation as the API shows it."""
        return cls.model_validate(
            {
                "kind": violation.kind,
                "wave": violation.wave + 1,
                "task": violation.task or None,
                "detail": violation.detail,
                "refused": violation.refused,
                "at": violation.at,
            }
        )


class WaveModel(BaseModel):
    """One wave. `spread_ms` is the time between its first and its last requested start; absent before the first.

    `never_started` are tasks that nobody started: left out until the window closed, or given up before.
    """

    wave: int
    tasks: list[str]
    state: Literal["waiting", "started", "ended"]
    spawned: int
    spread_ms: float | None = None
    auto_spawned: list[str]
    never_started: list[str]
    violations: dict[str, int]
    compliant: bool

    @classmethod
    def of(cls, wave: WaveReport) -> "WaveModel":
        """Return a wave as the API shows it."""
        return cls.model_validate(wave, from_attributes=True)


class ComplianceModel(BaseModel):
    """How well a graph kept to its waves. `violations` counts by kind, refused starts too (the first 200).

    It is compliant if no rule of the waves was broken or tried, and no task of a wave was left out when its window
    closed. A wave that nobody has opened yet has broken nothing.
    """

    graph_id: str
    session_id: str
    user: str
    state: Literal["pending", "running", "completed", "failed"]
    level: Level
    window_ms: int
    compliant: bool
    violations: dict[str, int]
    waves: list[WaveModel]
    log: list[ViolationModel]

    @classmethod
    def of(cls, found: GraphCompliance) -> "ComplianceModel":
        """Return a graph's compliance as the API shows it."""
        return cls(
            graph_id=found.stored.id,
            session_id=found.stored.session_id,
            user=found.stored.user,
            state=state_of(found.stored.graph),
            level=found.stored.graph.level,
            window_ms=found.stored.graph.window_ms,
            compliant=all(wave.compliant for wave in found.waves),
            violations=dict(totals(found.waves)),
            waves=[WaveModel.of(wave) for wave in found.waves],
            log=[ViolationModel.of(violation) for violation in found.violations],
        )


class SessionComplianceModel(BaseModel):
    """How well a session's graphs kept to their waves; the newest graph first, at most 200."""

    session_id: str
    compliant: bool
    violations: dict[str, int]
    widest_spread_ms: float | None = None
    graphs: list[ComplianceModel]

    @classmethod
    def of(cls, session_id: str, graphs: list[GraphCompliance]) -> "SessionComplianceModel":
        """Return the compliance of a session's graphs."""
        waves = [wave for one in graphs for wave in one.waves]
        return cls(
            session_id=session_id,
            compliant=all(wave.compliant for wave in waves),
            violations=dict(totals(waves)),
            widest_spread_ms=max((wave.spread_ms for wave in waves if wave.spread_ms is not None), default=None),
            graphs=[ComplianceModel.of(one) for one in graphs],
        )
