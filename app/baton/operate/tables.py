"""All tables, for migrations to compare the database with."""

from sqlalchemy import Table

from baton.context.codemap import store as code_maps
from baton.context.patterns.store import PATTERNS
from baton.delegate.core.stores import tables
from baton.events.webhooks import WEBHOOKS_TABLE
from baton.kernel.changes.announce import LEADERSHIP
from baton.kernel.changes.audit_store import AUDIT
from baton.kernel.changes.numbers import CHANGES, OBJECTS
from baton.kernel.changes.write import SETTINGS
from baton.machines.installed_hooks import HOOKS_INSTALLED
from baton.machines.session_projects import CLIENTS_SEEN
from baton.modes.freezes import FREEZES
from baton.modes.store import MODES
from baton.people.approvals import APPROVALS
from baton.people.browser_sessions.store import BROWSER_SESSIONS
from baton.people.tokens_store import TOKENS
from baton.people.users_store import TABLES as DIRECTORY
from baton.policies.store import LAYERS, REVISIONS, UNLOCKS
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.hook_failures import FAILURES
from baton.records.review.wrong_blocks import WRONG_BLOCKS
from baton.records.tables import DECISIONS, TOTALS
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.route.rosters.store import ROSTERS
from baton.sessions.exceptions.service import EXCEPTIONS
from baton.spawn.graphs.store import GRAPHS, TASKS, VIOLATIONS

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
    CHANGES,
    OBJECTS,
    code_maps.FILES,
    code_maps.MAPS,
    TOTALS,
    FREEZES,
    TASKS,
    VIOLATIONS,
    FAILURES,
    tables.EVENTS,
    LEADERSHIP,
    SETTINGS,
    PATTERNS,
    LAYERS,
    REVISIONS,
    ROSTERS,
    tables.COMMANDS,
    tables.SESSIONS,
    GRAPHS,
)
