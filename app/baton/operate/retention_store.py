"""Queries that remove old rows, or a user's decisions, one batch at a time."""

from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, delete, select, tuple_

from baton.clients.last_heard_store import ClientRow
from baton.kernel.base.sql import LARGEST_BATCH, Database, storable
from baton.kernel.changes.audit_store import AuditRow
from baton.modes.store import ModeSettingRow
from baton.policies.unlocks_store import PolicyUnlockRow
from baton.records.pipeline.store import DecisionRow, DecisionRuleRow
from baton.records.review.wrong_blocks_store import WrongBlockRow
from baton.route.feedback.store import RouteFeedbackRow
from baton.sessions.overrides.store import OverrideRow

_decisions = DecisionRow.__table__
_rules = DecisionRuleRow.__table__


async def purge_decisions(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of decisions from before a moment; return their number."""
    oldest = (
        select(_decisions.c.id, _decisions.c.rules)
        .where(_decisions.c.organisation == organisation, _decisions.c.at < before)
        .order_by(_decisions.c.at)
        .limit(LARGEST_BATCH)
    )
    return await _remove_decisions(database, oldest)


async def remove_decisions_of(database: Database, organisation: str, user: str) -> int:
    """Remove at most one batch of a user's decisions; return their number."""
    theirs = (
        select(_decisions.c.id, _decisions.c.rules)
        .where(_decisions.c.organisation == organisation, _decisions.c.user == storable(user))
        .order_by(_decisions.c.id)
        .limit(LARGEST_BATCH)
    )
    return await _remove_decisions(database, theirs)


async def _remove_decisions(database: Database, found: Select[Any]) -> int:
    async with database.transaction() as connection:
        rows = (await connection.execute(found)).all()
        # By whole primary keys: the table of rules has no index that begins with the decision.
        hits = sorted({(hit["id"], row.id) for row in rows for hit in row.rules})
        for start in range(0, len(hits), LARGEST_BATCH):
            part = hits[start : start + LARGEST_BATCH]
            await connection.execute(delete(_rules).where(tuple_(_rules.c.rule, _rules.c.decision_id).in_(part)))
        if rows:
            await connection.execute(delete(_decisions).where(_decisions.c.id.in_([row.id for row in rows])))
    return len(rows)


async def purge_route_feedback(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of feedback on routes from before a moment; return their number."""
    return await _purge(database, RouteFeedbackRow.__table__, "at", organisation, before)


async def purge_clients(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of clients that have sent nothing since a moment; return their number."""
    return await _purge(database, ClientRow.__table__, "last_seen", organisation, before)


async def purge_reports(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of reports from before a moment; return their number."""
    return await _purge(database, WrongBlockRow.__table__, "at", organisation, before)


async def purge_audit(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of audit entries from before a moment; return their number."""
    return await _purge(database, AuditRow.__table__, "at", organisation, before)


async def purge_overrides(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of overrides that expired before a moment; return their number."""
    return await _purge(database, OverrideRow.__table__, "expires_at", organisation, before)


async def purge_unlocks(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of unlocks that ended before a moment; return their number."""
    return await _purge(database, PolicyUnlockRow.__table__, "until", organisation, before)


async def purge_modes(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of mode settings that expired before a moment; return their number."""
    return await _purge(database, ModeSettingRow.__table__, "expires_at", organisation, before)


async def _purge(database: Database, table: Table, column: str, organisation: str, before: datetime) -> int:
    key = tuple(table.primary_key)
    oldest = (
        select(*key).where(table.c.organisation == organisation, table.c[column] < before).order_by(table.c[column])
    )
    async with database.transaction() as connection:
        found = [tuple(row) for row in await connection.execute(oldest.limit(LARGEST_BATCH))]
        if found:
            await connection.execute(delete(table).where(tuple_(*key).in_(found)))
    return len(found)
