"""Removes jobs with all that they told, once they are older than an organisation keeps them. It does not know how long."""

from datetime import datetime

from sqlalchemy import delete, exists, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.protocol import HELD
from baton.delegate.core.tables import (
    JobEventRow,
    JobPermissionRow,
    JobRow,
    RunnerCommandRow,
    RunnerRow,
    SessionDelegationRow,
)
from baton.kernel.base.sql import LARGEST_BATCH, Database

_jobs = JobRow.__table__
_events = JobEventRow.__table__
_sessions = SessionDelegationRow.__table__


async def purge_jobs(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of events, or of jobs without any, from before a moment; give the number of rows."""
    oldest = (
        select(_jobs.c.id)
        .where(
            _jobs.c.organisation == organisation,
            func.coalesce(_jobs.c.ended_at, _jobs.c.created_at) < before,
            _jobs.c.state.not_in(HELD),
        )
        .order_by(_jobs.c.id)
        .limit(LARGEST_BATCH)
    )
    async with database.transaction() as connection:
        ids = [row.id for row in await connection.execute(oldest)]
        told = select(_events.c.job_id, _events.c.no).where(_events.c.job_id.in_(ids)).limit(LARGEST_BATCH)
        events = [tuple(row) for row in await connection.execute(told)] if ids else []
        if events:
            await connection.execute(delete(_events).where(tuple_(_events.c.job_id, _events.c.no).in_(events)))
        if ids and len(events) < LARGEST_BATCH:
            for table in (JobPermissionRow.__table__, RunnerCommandRow.__table__):
                await connection.execute(delete(table).where(table.c.job_id.in_(ids)))
            await connection.execute(delete(_jobs).where(_jobs.c.id.in_(ids)))
        await _purge_idle(connection, organisation, before)
    return len(events) if len(events) == LARGEST_BATCH else len(ids)


async def _purge_idle(connection: AsyncConnection, organisation: str, before: datetime) -> None:
    """Remove runners that were not heard of since a moment, and sessions without jobs."""
    runners = RunnerRow.__table__
    await connection.execute(
        delete(runners).where(runners.c.organisation == organisation, runners.c.last_seen < before)
    )
    has_jobs = exists().where(
        _jobs.c.organisation == _sessions.c.organisation,
        _jobs.c.user == _sessions.c.user,
        _jobs.c.session_id == _sessions.c.session_id,
    )
    await connection.execute(delete(_sessions).where(_sessions.c.organisation == organisation, ~has_jobs))
