"""Every table in one place, for migrations to compare with. It holds none itself."""

from sqlalchemy import Table

from app.store.audit import AuditRow
from app.store.changes import ChangeRow
from app.store.clients_seen import ClientSeenRow
from app.store.decisions import DecisionRow, DecisionRuleRow
from app.store.graph_tables import GraphTaskRow, GraphViolationRow, TaskGraphRow
from app.store.job_tables import (
    JobEventRow,
    JobPermissionRow,
    JobRow,
    RunnerCommandRow,
    RunnerRow,
    SessionDelegationRow,
)
from app.store.leases import LeaseRow
from app.store.modes import ModeSettingRow
from app.store.organisation_settings import OrganisationSettingRow
from app.store.overrides import OverrideRow
from app.store.policy_layers import PolicyLayerRow
from app.store.reports import ReportRow
from app.store.revisions import PolicyRevisionRow
from app.store.route_feedback import RouteFeedbackRow
from app.store.routing_fits import RoutingFitRow
from app.store.routing_rosters import RoutingRosterRow
from app.store.tokens import TokenRow
from app.store.users import ProjectRow, TeamRow, UserRow

ALL: tuple[Table, ...] = tuple(
    row.__table__
    for row in (
        AuditRow,
        ChangeRow,
        ClientSeenRow,
        DecisionRow,
        DecisionRuleRow,
        GraphTaskRow,
        GraphViolationRow,
        JobEventRow,
        JobPermissionRow,
        JobRow,
        LeaseRow,
        ModeSettingRow,
        OrganisationSettingRow,
        OverrideRow,
        PolicyLayerRow,
        PolicyRevisionRow,
        ProjectRow,
        ReportRow,
        RouteFeedbackRow,
        RoutingFitRow,
        RoutingRosterRow,
        RunnerCommandRow,
        RunnerRow,
        SessionDelegationRow,
        TaskGraphRow,
        TeamRow,
        TokenRow,
        UserRow,
    )
)
