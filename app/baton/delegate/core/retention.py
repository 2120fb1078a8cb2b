"""Deletes old jobs with their data, then idle runners and empty sessions."""

from datetime import datetime

from sqlalchemy import delete, exists, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import LEASED_STATES
from baton.delegate.core.stores.tables import COMMANDS, EVENTS, JOBS, RUNNERS, SESSIONS
from baton.kernel.base.sql import LARGEST_BATCH, Database


async def purge_jobs(database: Database, organisation: str, before: datetime) -> int:
    """Delete a batch of old events, or of ended jobs without events. Return its size: less than a batch at the end."""
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
    # Events first, in batches: a job may have thousands, and a long transaction would delay the storing of decisions. A
    # job is deleted with its last events, so an interrupted purge leaves no orphaned events.
    async with database.transaction() as connection:
        ids = [row.id for row in await connection.execute(oldest)]
        of_jobs = select(EVENTS.c.job_id, EVENTS.c.no).where(EVENTS.c.job_id.in_(ids)).limit(LARGEST_BATCH)
        events = [tuple(row) for row in await connection.execute(of_jobs)] if ids else []
        if events:
            await connection.execute(delete(EVENTS).where(tuple_(EVENTS.c.job_id, EVENTS.c.no).in_(events)))
        if ids and len(events) < LARGEST_BATCH:
            await connection.execute(delete(COMMANDS).where(COMMANDS.c.job_id.in_(ids)))
            await connection.execute(delete(JOBS).where(JOBS.c.id.in_(ids)))
        await _purge_idle(connection, organisation, before)
    return len(events) if len(events) == LARGEST_BATCH else len(ids)


async def _purge_idle(connection: AsyncConnection, organisation: str, before: datetime) -> None:
    await connection.execute(
        delete(RUNNERS).where(RUNNERS.c.organisation == organisation, RUNNERS.c.last_seen < before)
    )
    has_jobs = exists().where(
        JOBS.c.organisation == SESSIONS.c.organisation,
        JOBS.c.user == SESSIONS.c.user,
        JOBS.c.session_id == SESSIONS.c.session_id,
    )
    await connection.execute(delete(SESSIONS).where(SESSIONS.c.organisation == organisation, ~has_jobs))
