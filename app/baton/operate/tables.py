"""Every table, for migrations to compare the database with."""

from sqlalchemy import Table

from baton.clients.installed_hooks_store import InstalledHooksRow
from baton.clients.last_heard_store import ClientRow
from baton.context.codemap.store import CodeMapFileRow, CodeMapRow
from baton.context.patterns.store import PatternRow
from baton.context.utilization.store import ContextDayRow
from baton.delegate.core.stores.tables import (
    JOBS,
    JobEventRow,
    JobPermissionRow,
    RunnerCommandRow,
    RunnerRow,
    SessionDelegationRow,
)
from baton.events.webhooks.store import WebhookRow
from baton.kernel.changes.audit_store import AuditRow
from baton.kernel.changes.leadership import LeadershipRow
from baton.kernel.changes.numbers import ChangedObjectRow, ChangeRow
from baton.kernel.changes.organisation_settings import OrganisationSettingRow
from baton.modes.store import ModeSettingRow
from baton.people.browser_sessions.store import BrowserSessionRow
from baton.people.stores.tokens import TokenRow
from baton.people.stores.users import ProjectRow, TeamRow, UserRow
from baton.policies.stores.layers import PolicyLayerRow
from baton.policies.stores.revisions import PolicyRevisionRow
from baton.policies.stores.unlocks import PolicyUnlockRow
from baton.records.analytics.hook_failures_store import HookFailureRow
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.pipeline.tables import DecisionRow, DecisionRuleRow, DecisionTotalRow
from baton.records.review.wrong_blocks.store import WrongBlockRow
from baton.route.feedback.fits_store import RoutingFitRow
from baton.route.feedback.store import RouteFeedbackRow
from baton.route.rosters.store import RoutingRosterRow
from baton.sessions.overrides.store import OverrideRow
from baton.spawn.graphs.tables import GraphTaskRow, GraphViolationRow, TaskGraphRow

ALL: tuple[Table, ...] = (
    JOBS,
    COLUMNS,
    DAY_COLUMNS,
    SUMMED,
    SUMMED_DAYS,
    *(
        row.__table__
        for row in (
            AuditRow,
            BrowserSessionRow,
            ChangeRow,
            ChangedObjectRow,
            ClientRow,
            ContextDayRow,
            CodeMapFileRow,
            CodeMapRow,
            DecisionRow,
            DecisionRuleRow,
            DecisionTotalRow,
            GraphTaskRow,
            GraphViolationRow,
            HookFailureRow,
            InstalledHooksRow,
            JobEventRow,
            JobPermissionRow,
            LeadershipRow,
            ModeSettingRow,
            OrganisationSettingRow,
            OverrideRow,
            PatternRow,
            PolicyLayerRow,
            PolicyRevisionRow,
            PolicyUnlockRow,
            ProjectRow,
            WrongBlockRow,
            RouteFeedbackRow,
            RoutingFitRow,
            RoutingRosterRow,
            RunnerCommandRow,
            RunnerRow,
            SessionDelegationRow,
            TaskGraphRow,
            TeamRow,
            TokenRow,
            WebhookRow,
            UserRow,
        )
    ),
)
