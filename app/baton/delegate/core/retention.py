"""Deletes old jobs with their data, then idle runners and empty sessions."""

from datetime import datetime

from sqlalchemy import delete, exists, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import LEASED_STATES
from baton.delegate.core.stores import tables
from baton.kernel.base.sql import LARGEST_BATCH, Database

_events = tables.JobEventRow.__table__
_sessions = tables.SessionDelegationRow.__table__


async def purge_jobs(database: Database, organisation: str, before: datetime) -> int:
    """Delete a batch of old events, or of ended jobs without events. Return its size: less than a batch at the end."""
    oldest = (
        select(tables.JOBS.c.id)
        .where(
            tables.JOBS.c.organisation == organisation,
            func.coalesce(tables.JOBS.c.ended_at, tables.JOBS.c.created_at) < before,
            tables.JOBS.c.state.not_in(LEASED_STATES),
        )
        .order_by(tables.JOBS.c.id)
        .limit(LARGEST_BATCH)
    )
    # Events first, in batches: a job may have thousands, and a long transaction would delay the storing of decisions. A
    # job is deleted with its last events, so an interrupted purge leaves no orphaned events.
    async with database.transaction() as connection:
        ids = [row.id for row in await connection.execute(oldest)]
        of_jobs = select(_events.c.job_id, _events.c.no).where(_events.c.job_id.in_(ids)).limit(LARGEST_BATCH)
        events = [tuple(row) for row in await connection.execute(of_jobs)] if ids else []
        if events:
            await connection.execute(delete(_events).where(tuple_(_events.c.job_id, _events.c.no).in_(events)))
        if ids and len(events) < LARGEST_BATCH:
            commands = tables.RunnerCommandRow.__table__
            await connection.execute(delete(commands).where(commands.c.job_id.in_(ids)))
            await connection.execute(delete(tables.JOBS).where(tables.JOBS.c.id.in_(ids)))
        await _purge_idle(connection, organisation, before)
    return len(events) if len(events) == LARGEST_BATCH else len(ids)


async def _purge_idle(connection: AsyncConnection, organisation: str, before: datetime) -> None:
    runners = tables.RUNNERS
    await connection.execute(
        delete(runners).where(runners.c.organisation == organisation, runners.c.last_seen < before)
    )
    has_jobs = exists().where(
        tables.JOBS.c.organisation == _sessions.c.organisation,
        tables.JOBS.c.user == _sessions.c.user,
        tables.JOBS.c.session_id == _sessions.c.session_id,
    )
    await connection.execute(delete(_sessions).where(_sessions.c.organisation == organisation, ~has_jobs))
