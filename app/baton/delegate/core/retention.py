"""Removes old jobs with all that belongs to them, and the runners and sessions that are left over."""

from datetime import datetime

from sqlalchemy import delete, exists, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import LEASED_STATES
from baton.delegate.core.stores.tables import (
    JOBS,
    JobEventRow,
    JobPermissionRow,
    RunnerCommandRow,
    RunnerRow,
    SessionDelegationRow,
)
from baton.kernel.base.sql import LARGEST_BATCH, Database

_events = JobEventRow.__table__
_sessions = SessionDelegationRow.__table__


async def purge_jobs(database: Database, organisation: str, before: datetime) -> int:
    """Remove at most one batch of events, or of jobs without events, that ended before a moment.

    Returns:
        The number of rows removed; less than a batch means that nothing is left to remove.
    """
    oldest = (
        select(JOBS.c.id)
        .where(
            JOBS.c.organisation == organisation,
            func.coalesce(JOBS.c.ended_at, JOBS.c.created_at) < before,
            JOBS.c.state.not_in(LEASED_STATES),
        )
        .order_by(JOBS.c.id)
        .limit(LARGEST_BATCH)
    )
    # Events first, a batch at a time: a job may have thousands, and a long transaction would hold up those who store
    # decisions. A job goes with its last events, so an interrupted purge leaves no events without a job.
    async with database.transaction() as connection:
        ids = [row.id for row in await connection.execute(oldest)]
        of_jobs = select(_events.c.job_id, _events.c.no).where(_events.c.job_id.in_(ids)).limit(LARGEST_BATCH)
        events = [tuple(row) for row in await connection.execute(of_jobs)] if ids else []
        if events:
            await connection.execute(delete(_events).where(tuple_(_events.c.job_id, _events.c.no).in_(events)))
        if ids and len(events) < LARGEST_BATCH:
            for table in (JobPermissionRow.__table__, RunnerCommandRow.__table__):
                await connection.execute(delete(table).where(table.c.job_id.in_(ids)))
            await connection.execute(delete(JOBS).where(JOBS.c.id.in_(ids)))
        await _purge_idle(connection, organisation, before)
    return len(events) if len(events) == LARGEST_BATCH else len(ids)


async def _purge_idle(connection: AsyncConnection, organisation: str, before: datetime) -> None:
    """Remove runners that were last heard of before a moment, and sessions without jobs."""
    runners = RunnerRow.__table__
    await connection.execute(
        delete(runners).where(runners.c.organisation == organisation, runners.c.last_seen < before)
    )
    has_jobs = exists().where(
        JOBS.c.organisation == _sessions.c.organisation,
        JOBS.c.user == _sessions.c.user,
        JOBS.c.session_id == _sessions.c.session_id,
    )
    await connection.execute(delete(_sessions).where(_sessions.c.organisation == organisation, ~has_jobs))
