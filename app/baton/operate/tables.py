"""All tables, for migrations to compare the database with."""

from sqlalchemy import Table

from baton.context.codemap.store import CodeMapFileRow, CodeMapRow
from baton.context.patterns.store import PatternRow
from baton.delegate.core.stores import tables
from baton.events.webhooks.service import WEBHOOKS_TABLE
from baton.kernel.changes.announce import LeadershipRow
from baton.kernel.changes.audit_store import AUDIT
from baton.kernel.changes.numbers import ChangedObjectRow, ChangeRow
from baton.kernel.changes.write import OrganisationSettingRow
from baton.machines.installed_hooks import HOOKS_INSTALLED
from baton.machines.session_projects import CLIENTS_SEEN
from baton.modes.freezes import FreezeRow
from baton.modes.store import MODES
from baton.people.approvals import APPROVALS
from baton.people.browser_sessions.store import BROWSER_SESSIONS
from baton.people.stores.tokens import TOKENS
from baton.people.stores.users import TABLES as DIRECTORY
from baton.policies.stores.layers import PolicyLayerRow
from baton.policies.stores.revisions import PolicyRevisionRow
from baton.policies.stores.unlocks import UNLOCKS
from baton.records.analytics.hook_failures import HookFailureRow
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.review.wrong_blocks.service import WRONG_BLOCKS
from baton.records.tables import DECISIONS, DecisionTotalRow
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.route.rosters.store import RoutingRosterRow
from baton.sessions.exceptions.service import EXCEPTIONS
from baton.spawn.graphs.store import GraphTaskRow, GraphViolationRow, TaskGraphRow

ALL: tuple[Table, ...] = (
    APPROVALS,
    tables.JOBS,
    CLIENTS_SEEN,
    *DIRECTORY.values(),
    EXCEPTIONS,
    ROUTE_FEEDBACK,
    HOOKS_INSTALLED,
    TOKENS,
    BROWSER_SESSIONS,
    AUDIT,
    tables.RUNNERS,
    WEBHOOKS_TABLE,
    WRONG_BLOCKS,
    UNLOCKS,
    MODES,
    COLUMNS,
    DECISIONS,
    DAY_COLUMNS,
    SUMMED,
    SUMMED_DAYS,
    *(
        row.__table__
        for row in (
            ChangeRow,
            ChangedObjectRow,
            CodeMapFileRow,
            CodeMapRow,
            DecisionTotalRow,
            FreezeRow,
            GraphTaskRow,
            GraphViolationRow,
            HookFailureRow,
            tables.JobEventRow,
            LeadershipRow,
            OrganisationSettingRow,
            PatternRow,
            PolicyLayerRow,
            PolicyRevisionRow,
            RoutingRosterRow,
            tables.RunnerCommandRow,
            tables.SessionDelegationRow,
            TaskGraphRow,
        )
    ),
)
