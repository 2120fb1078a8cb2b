"""The reports on how task graphs kept to their waves, as the API shows them. They judge nothing."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from baton.engine.agents.compliance import WaveReport, totals
from baton.engine.agents.task_graph import Level
from baton.spawn.graphs.service import Report
from baton.spawn.graphs.store import Violation


class ViolationModel(BaseModel):
    """A rule of the waves that was broken, and let pass."""

    kind: Literal["wrong_wave", "parallel_window", "reopened"]
    wave: int
    task: str | None = None
    detail: str
    at: datetime

    @classmethod
    def of(cls, violation: Violation) -> "ViolationModel":
        """Show a violation as the API does."""
        return cls.model_validate(
            {
                "kind": violation.kind,
                "wave": violation.wave + 1,
                "task": violation.task or None,
                "detail": violation.detail,
                "at": violation.at,
            }
        )


class WaveModel(BaseModel):
    """One wave. `spread_ms` lies between the first and the last start that was asked for; absent before the first."""

    wave: int
    tasks: list[str]
    state: Literal["waiting", "started", "ended"]
    spawned: int
    spread_ms: float | None = None
    auto_spawned: list[str]
    violations: dict[str, int]
    compliant: bool

    @classmethod
    def of(cls, wave: WaveReport) -> "WaveModel":
        """Show a wave as the API does."""
        return cls.model_validate(wave, from_attributes=True)


class ComplianceModel(BaseModel):
    """How well a graph kept to its waves. `violations` counts by kind."""

    graph_id: str
    session_id: str
    user: str
    level: Level
    window_ms: int
    compliant: bool
    violations: dict[str, int]
    waves: list[WaveModel]
    log: list[ViolationModel]

    @classmethod
    def of(cls, report: Report) -> "ComplianceModel":
        """Show a report as the API does."""
        return cls(
            graph_id=report.stored.id,
            session_id=report.stored.session_id,
            user=report.stored.user,
            level=report.stored.graph.level,
            window_ms=report.stored.graph.window_ms,
            compliant=not report.violations,
            violations=dict(totals(report.waves)),
            waves=[WaveModel.of(wave) for wave in report.waves],
            log=[ViolationModel.of(violation) for violation in report.violations],
        )


class SessionComplianceModel(BaseModel):
    """How well a session's graphs kept to their waves; the newest graph first, at most 200."""

    session_id: str
    compliant: bool
    violations: dict[str, int]
    widest_spread_ms: float | None = None
    graphs: list[ComplianceModel]

    @classmethod
    def of(cls, session_id: str, reports: list[Report]) -> "SessionComplianceModel":
        """Sum a session's reports up."""
        waves = [wave for report in reports for wave in report.waves]
        return cls(
            session_id=session_id,
            compliant=not any(report.violations for report in reports),
            violations=dict(totals(waves)),
            widest_spread_ms=max((wave.spread_ms for wave in waves if wave.spread_ms is not None), default=None),
            graphs=[ComplianceModel.of(report) for report in reports],
        )
