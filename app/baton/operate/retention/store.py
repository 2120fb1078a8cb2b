"""Queries that remove old rows, or a user's decisions, one batch at a time."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, delete, select, tuple_, update

from baton.clients.installed_hooks_store import InstalledHooksRow
from baton.clients.last_heard_store import ClientRow
from baton.kernel.base.driver import Dialect
from baton.kernel.base.sql import LARGEST_BATCH, Database
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id
from baton.kernel.changes.audit_store import AuditRow
from baton.modes.store import ModeSettingRow
from baton.policies.stores.unlocks import PolicyUnlockRow
from baton.records.columns.tables import COLUMNS
from baton.records.columns.writer import forget_days
from baton.records.pipeline.hours import DAY_HOURS, marks_of_stale
from baton.records.pipeline.tables import DECISIONS, DecisionRuleRow, DecisionTotalRow
from baton.records.review.wrong_blocks.store import WrongBlockRow
from baton.route.feedback.store import RouteFeedbackRow
from baton.sessions.overrides.store import OverrideRow

_rules = DecisionRuleRow.__table__
_totals = DecisionTotalRow.__table__
_COUNTED_BY = ("organisation", "user", "team", "effect")


async def purge_decisions(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of decisions from before a moment; return their number."""
    oldest = select(DECISIONS.c.id).where(DECISIONS.c.organisation == organisation, DECISIONS.c.id < least_id(before))
    return await _remove_decisions(database, oldest)


async def remove_decisions_of(database: Database, organisation: str, user: str) -> int:
    """Remove at most one batch of a user's decisions; return their number."""
    theirs = select(DECISIONS.c.id).where(DECISIONS.c.organisation == organisation, DECISIONS.c.user == storable(user))
    return await _remove_decisions(database, theirs)


async def _remove_decisions(database: Database, found: Select[Any]) -> int:
    gone = delete(DECISIONS).where(DECISIONS.c.id.in_(found.order_by(DECISIONS.c.id).limit(LARGEST_BATCH)))
    # What was deleted, not what was found: another process may delete the same rows, which count only once.
    counted_by = [DECISIONS.c[name] for name in ("id", "rules", "event", *_COUNTED_BY)]
    async with database.transaction() as connection:
        rows = (await connection.execute(gone.returning(*counted_by))).all()
        # By whole primary keys: the table of rules has no index that begins with the decision.
        hits = sorted({(hit["id"], row.id) for row in rows for hit in row.rules})
        for start in range(0, len(hits), LARGEST_BATCH):
            part = hits[start : start + LARGEST_BATCH]
            await connection.execute(delete(_rules).where(tuple_(_rules.c.rule, _rules.c.decision_id).in_(part)))
        counted = Counter(
            tuple(getattr(row, name) for name in _COUNTED_BY) for row in rows if row.event == "PreToolUse"
        )
        for key, count in sorted(counted.items()):
            these = [_totals.c[name] == value for name, value in zip(_COUNTED_BY, key, strict=True)]
            await connection.execute(update(_totals).where(*these).values(decisions=_totals.c.decisions - count))
        dialect: Dialect = "sqlite" if database.dialect == "sqlite" else "postgresql"
        for mark, hours in marks_of_stale(dialect, ((row.organisation, row.id) for row in rows), time.time()):
            await connection.exec_driver_sql(mark, list(hours))
            # Not only when the hours are written anew: nothing of a person is left once they are deleted.
            of_hours = tuple_(COLUMNS.c.organisation, COLUMNS.c.hour).in_([(whose, hour) for whose, hour in hours])
            await connection.execute(delete(COLUMNS).where(of_hours))
            await forget_days(connection, ((whose, hour // DAY_HOURS) for whose, hour in hours))
    return len(rows)


def _by_age(table: Table, column: str) -> Callable[[Database, str, datetime], Awaitable[int]]:
    """Return what removes at most one batch of an organisation's rows from before a moment and returns their number."""

    async def purge(database: Database, organisation: str, before: datetime) -> int:
        key = tuple(table.primary_key)
        own = table.c.organisation == organisation
        oldest = select(*key).where(own, table.c[column] < before).order_by(table.c[column])
        async with database.transaction() as connection:
            found = [tuple(row) for row in await connection.execute(oldest.limit(LARGEST_BATCH))]
            if found:
                await connection.execute(delete(table).where(tuple_(*key).in_(found)))
        return len(found)

    return purge


purge_route_feedback = _by_age(RouteFeedbackRow.__table__, "at")
purge_reports = _by_age(WrongBlockRow.__table__, "at")
purge_audit = _by_age(AuditRow.__table__, "at")
purge_clients = _by_age(ClientRow.__table__, "last_seen")
purge_installed_hooks = _by_age(InstalledHooksRow.__table__, "installed_at")
purge_overrides = _by_age(OverrideRow.__table__, "expires_at")
purge_unlocks = _by_age(PolicyUnlockRow.__table__, "until")
purge_modes = _by_age(ModeSettingRow.__table__, "expires_at")
