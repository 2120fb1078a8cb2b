"""Events of jobs and their sessions in SQL, numbered without gaps in commit order."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import Job, JobEvent, NewJobEvent
from baton.delegate.core.protocol import DEFAULT_MODE
from baton.delegate.core.stores.tables import EVENTS, JOBS, SESSIONS
from baton.kernel.base.sql import insert_into
from baton.shared.storable import storable, storable_json

LARGEST_READ = 200  # maximum number of events per query


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """The agent mode of a delegating session, and the number of its next event."""

    agent_mode: str
    next_no: int


async def lock_session(connection: AsyncConnection, job: Job) -> SessionState:
    """Create or lock a job's session until the transaction ends, so that event numbers have no gaps."""
    row = {"organisation": job.organisation, "user": job.user, "session_id": job.session_id}
    # An upsert without changes: it creates or locks the row, in one statement on both databases.
    new = insert_into(connection.dialect.name, SESSIONS).values(row | {"agent_mode": DEFAULT_MODE, "next_no": 1})
    locked = new.on_conflict_do_update(index_elements=list(row), set_={"next_no": SESSIONS.c.next_no})
    found = (await connection.execute(locked.returning(SESSIONS.c.agent_mode, SESSIONS.c.next_no))).one()
    return SessionState(agent_mode=found.agent_mode, next_no=found.next_no)


async def append(
    connection: AsyncConnection, job: Job, events: Sequence[NewJobEvent], session_no: int, mode: str, at: datetime
) -> None:
    """Store the numbered events of one job's session, already locked by `lock_session`."""
    if not events:
        return
    rows = [
        {
            "job_id": event.job.id,
            "no": event.no,
            "organisation": event.job.organisation,
            "user": event.job.user,
            "session_id": event.job.session_id,
            "session_no": session_no + place,
            "attempt": event.attempt,
            "seq": event.seq,
            "type": event.type,
            "body": storable_json(event.body),
            "at": at,
        }
        for place, event in enumerate(events)
    ]
    await connection.execute(insert(EVENTS), rows)
    same = (
        SESSIONS.c.organisation == job.organisation,
        SESSIONS.c.user == job.user,
        SESSIONS.c.session_id == job.session_id,
    )
    values = {"agent_mode": mode, "next_no": session_no + len(events)}
    await connection.execute(update(SESSIONS).where(*same).values(values))


async def has_attempt(connection: AsyncConnection, job: Job) -> bool:
    """Return whether a job has events of its current attempt."""
    query = select(EVENTS.c.no).where(EVENTS.c.job_id == job.id, EVENTS.c.attempt == job.attempt).limit(1)
    return (await connection.execute(query)).first() is not None


async def of_job(connection: AsyncConnection, job_id: str, after: int, limit: int = LARGEST_READ) -> list[JobEvent]:
    """Read a job's events after a number, in order."""
    query = select(*_SHOWN).where(EVENTS.c.job_id == job_id, EVENTS.c.no > after).order_by(EVENTS.c.no).limit(limit)
    return [msgspec.convert(row._asdict(), JobEvent) for row in await connection.execute(query)]


async def last_of_type(connection: AsyncConnection, job_id: str, kind: str) -> JobEvent | None:
    """Return a job's newest event of a type, or None."""
    query = select(*_SHOWN).where(EVENTS.c.job_id == job_id, EVENTS.c.type == kind)
    row = (await connection.execute(query.order_by(EVENTS.c.no.desc()).limit(1))).first()
    return None if row is None else msgspec.convert(row._asdict(), JobEvent)


async def of_type(connection: AsyncConnection, job_id: str, kind: str) -> list[JobEvent]:
    """Return a job's newest LARGEST_READ events of a type, in order."""
    query = select(*_SHOWN).where(EVENTS.c.job_id == job_id, EVENTS.c.type == kind)
    rows = await connection.execute(query.order_by(EVENTS.c.no.desc()).limit(LARGEST_READ))
    return [msgspec.convert(row._asdict(), JobEvent) for row in reversed(rows.all())]


async def of_session(
    connection: AsyncConnection, organisation: str, user: str, session_id: str, after: int
) -> list[JobEvent]:
    """Read the events of all jobs of a session after a number, in order."""
    query = (
        select(*_SHOWN)
        .where(
            EVENTS.c.organisation == organisation,
            EVENTS.c.user == storable(user),
            EVENTS.c.session_id == storable(session_id),
            EVENTS.c.session_no > after,
        )
        .order_by(EVENTS.c.session_no)
        .limit(LARGEST_READ)
    )
    return [msgspec.convert(row._asdict(), JobEvent) for row in await connection.execute(query)]


_SHOWN = [EVENTS.c[name] for name in JobEvent.__struct_fields__]


async def mode_of(connection: AsyncConnection, organisation: str, user: str, session_id: str) -> str | None:
    """Return a session's agent mode, or None without any delegation."""
    query = select(SESSIONS.c.agent_mode).where(
        SESSIONS.c.organisation == organisation,
        SESSIONS.c.user == storable(user),
        SESSIONS.c.session_id == storable(session_id),
    )
    mode: str | None = (await connection.execute(query)).scalar()
    return mode


async def owners(connection: AsyncConnection, organisation: str, session_id: str) -> list[str]:
    """List the users with delegations in a session of this id."""
    query = select(SESSIONS.c.user).where(
        SESSIONS.c.organisation == organisation, SESSIONS.c.session_id == storable(session_id)
    )
    return [row[0] for row in await connection.execute(query.order_by(SESSIONS.c.user))]


async def last_provider(connection: AsyncConnection, organisation: str, user: str, session_id: str) -> str:
    """Return the provider of a session's latest delegation, or ""."""
    query = (
        select(JOBS.c.provider)
        .where(
            JOBS.c.organisation == organisation,
            JOBS.c.user == storable(user),
            JOBS.c.session_id == storable(session_id),
            JOBS.c.queued_at.is_not(None),
        )
        .order_by(JOBS.c.queued_at.desc(), JOBS.c.id.desc())
        .limit(1)
    )
    found: str | None = (await connection.execute(query)).scalar()
    return found or ""
