"""Jobs in SQL. `delegate.core.states` explains their states."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import func, literal, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import ENDED_STATES, LEASED_STATES, Job, JobFilter, State
from baton.delegate.core.stores.tables import JOBS
from baton.kernel.base.sql import Database, equal, insert_into, row_of, within
from baton.people.users import RowScope
from baton.shared.storable import storable

MOST_SWEPT = 200  # maximum number of jobs per sweep


def _job(row: Any) -> Job:
    return msgspec.convert(row._asdict(), Job)


async def add(connection: AsyncConnection, job: Job) -> bool:
    """Store a new job. Return False if its user has a job with this idempotency key."""
    insert = insert_into(connection.dialect.name, JOBS).values(row_of(job))
    unless_known = insert.on_conflict_do_nothing(index_elements=["organisation", "user", "idempotency_key"])
    return bool((await connection.execute(unless_known)).rowcount == 1)


async def change(connection: AsyncConnection, job_id: str, values: dict[str, Any]) -> None:
    """Change a job locked by the transaction."""
    await connection.execute(update(JOBS).where(JOBS.c.id == job_id).values(values))


async def lock(connection: AsyncConnection, organisation: str, job_id: str) -> Job | None:
    """Read a job and lock its row until the transaction ends."""
    query = select(JOBS).where(JOBS.c.id == storable(job_id), JOBS.c.organisation == organisation).with_for_update()
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def get(connection: AsyncConnection, organisation: str, job_id: str) -> Job | None:
    """Return a job, or None."""
    query = select(JOBS).where(JOBS.c.id == storable(job_id), JOBS.c.organisation == organisation)
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def find_by_key(connection: AsyncConnection, organisation: str, user: str, key: str) -> Job | None:
    """Return a user's job with an idempotency key, or None."""
    query = select(JOBS).where(
        JOBS.c.organisation == organisation, JOBS.c.user == storable(user), JOBS.c.idempotency_key == storable(key)
    )
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def get_several(connection: AsyncConnection, organisation: str, ids: Iterable[str]) -> list[Job]:
    """Return the existing jobs of some ids."""
    wanted = [storable(one) for one in ids]
    query = select(JOBS).where(JOBS.c.organisation == organisation, JOBS.c.id.in_(wanted))
    return [_job(row) for row in await connection.execute(query)]


async def find_jobs(
    database: Database, organisation: str, scope: RowScope, wanted: JobFilter, *, before: tuple[str, ...], limit: int
) -> list[Job]:
    """Find jobs, newest first. `before` is the creation time and the id of the previous page's last job."""
    names = ("user", "session_id", "state", "provider", "graph_id", "workspace")
    query = scope.limit(select(JOBS), JOBS).where(
        JOBS.c.organisation == organisation,
        *equal(JOBS, **{name: getattr(wanted, name) for name in names}),
        *within(JOBS.c.created_at, wanted.since, wanted.until),
    )
    if before[0]:
        moment = datetime.fromisoformat(before[0])
        query = query.where(
            (JOBS.c.created_at < moment) | ((JOBS.c.created_at == moment) & (JOBS.c.id < storable(before[1])))
        )
    query = query.order_by(JOBS.c.created_at.desc(), JOBS.c.id.desc()).limit(limit)
    return [_job(row) for row in await database.rows(query)]


async def continued_by(connection: AsyncConnection, job: Job) -> Job | None:
    """Return the newest job that continues a job's thread, or None. Jobs that ended unstarted do not count."""
    query = select(JOBS).where(
        JOBS.c.organisation == job.organisation,
        JOBS.c.user == job.user,
        JOBS.c.session_id == job.session_id,
        JOBS.c.thread == job.id,
        JOBS.c.started_at.is_not(None) | JOBS.c.state.not_in(ENDED_STATES),
    )
    row = (await connection.execute(query.order_by(JOBS.c.created_at.desc(), JOBS.c.id.desc()).limit(1))).first()
    return None if row is None else _job(row)


async def leased_of_session(connection: AsyncConnection, job: Job) -> list[Job]:
    """List the leased jobs of a job's session."""
    query = select(JOBS).where(
        JOBS.c.organisation == job.organisation,
        JOBS.c.user == job.user,
        JOBS.c.session_id == job.session_id,
        JOBS.c.state.in_(LEASED_STATES),
    )
    return [_job(row) for row in await connection.execute(query)]


async def blocked_by(connection: AsyncConnection, organisation: str, user: str, job_id: str) -> list[str]:
    """List the ids of a user's blocked jobs that depend on a job."""
    query = select(JOBS.c.id, JOBS.c.depends_on).where(
        JOBS.c.organisation == organisation, JOBS.c.user == storable(user), JOBS.c.state == "blocked"
    )
    return [row.id for row in await connection.execute(query) if job_id in row.depends_on]


async def skipped_after(connection: AsyncConnection, organisation: str, user: str, job_id: str) -> list[str]:
    """List the ids of a user's jobs skipped for a failed dependency that depend on this job."""
    query = select(JOBS.c.id, JOBS.c.depends_on).where(
        JOBS.c.organisation == organisation,
        JOBS.c.user == storable(user),
        JOBS.c.state == "skipped",
        JOBS.c.error_code == "dependency_failed",
    )
    return [row.id for row in await connection.execute(query) if job_id in row.depends_on]


class LeasedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent of a leased job, as identified by the token with this `agent_digest`."""

    agent_digest: str
    id: str
    runner_user: str
    team: str
    session_id: str
    agent_type: str


async def leased_agents(connection: AsyncConnection, organisation: str) -> list[LeasedAgent]:
    """List the agents with a token."""
    columns = [JOBS.c[name] for name in LeasedAgent.__struct_fields__]
    query = select(*columns).where(
        JOBS.c.organisation == organisation, JOBS.c.state.in_(LEASED_STATES), JOBS.c.agent_digest != ""
    )
    return [msgspec.convert(row._asdict(), LeasedAgent) for row in await connection.execute(query)]


async def held_by(connection: AsyncConnection, organisation: str, user: str, runner_id: str) -> list[Job]:
    """List the jobs leased to a runner, and queued ones that it may still reclaim."""
    query = (
        select(JOBS)
        .where(
            JOBS.c.organisation == organisation,
            JOBS.c.state.in_(LEASED_STATES) | ((JOBS.c.state == "queued") & (JOBS.c.digest != "")),
            JOBS.c.runner_user == storable(user),
            JOBS.c.runner_id == runner_id,
        )
        .order_by(JOBS.c.id)
    )
    return [_job(row) for row in await connection.execute(query)]


async def renew(connection: AsyncConnection, leases: list[tuple[str, int, str]], boot_id: str, until: datetime) -> None:
    """Renew leases, given as (job, attempt, digest). Ignore outdated ones."""
    if leases:
        proved = tuple_(JOBS.c.id, JOBS.c.attempt, JOBS.c.digest).in_(leases)
        renewed = update(JOBS).where(proved, JOBS.c.state.in_(LEASED_STATES))
        await connection.execute(renewed.values(lease_until=until, boot_id=storable(boot_id)))


async def ended_by(connection: AsyncConnection, leases: list[tuple[str, int, str]]) -> set[str]:
    """Return the ids of jobs ended by their holders under these leases, given as (job, attempt, digest)."""
    proved = tuple_(JOBS.c.id, JOBS.c.attempt, JOBS.c.digest).in_(leases)
    return set(await connection.scalars(select(JOBS.c.id).where(proved, JOBS.c.state.in_(ENDED_STATES))))


async def renew_all(connection: AsyncConnection, organisation: str, since: datetime, until: datetime) -> None:
    """Renew all leases after an outage since a given time."""
    held = update(JOBS).where(JOBS.c.organisation == organisation, JOBS.c.state.in_(LEASED_STATES))
    heard = func.coalesce(JOBS.c.disconnected_since, literal(since, JOBS.c.disconnected_since.type))
    await connection.execute(held.values(lease_until=until, disconnected_since=heard))


async def due(connection: AsyncConnection, organisation: str, now: datetime, cancelled_before: datetime) -> list[str]:
    """List jobs with a passed lease or deadline, or an old cancel; oldest lease first."""
    query = (
        select(JOBS.c.id)
        .where(
            JOBS.c.organisation == organisation,
            JOBS.c.state.in_(LEASED_STATES),
            (JOBS.c.lease_until < now)
            | ((JOBS.c.deadline < now) & JOBS.c.disconnected_since.is_(None) & (JOBS.c.waiting_for == ""))
            | (JOBS.c.cancel_at < cancelled_before),
        )
        .order_by(JOBS.c.lease_until, JOBS.c.id)
        .limit(MOST_SWEPT)
    )
    return [row.id for row in await connection.execute(query)]


async def extend_queue(connection: AsyncConnection, organisation: str, since: datetime, until: datetime) -> None:
    """Extend the expiry of queued jobs by an outage of the server."""
    query = select(JOBS.c.id, JOBS.c.queued_at, JOBS.c.expires_at).where(
        JOBS.c.organisation == organisation, JOBS.c.state == "queued", JOBS.c.expires_at.is_not(None)
    )
    # Row by row: SQLite and PostgreSQL have no common date arithmetic on columns, and this is rare.
    for row in (await connection.execute(query)).all():
        away = until - max(since, row.queued_at or since)
        await connection.execute(update(JOBS).where(JOBS.c.id == row.id).values(expires_at=row.expires_at + away))


async def expiring(connection: AsyncConnection, organisation: str, now: datetime) -> list[Job]:
    """List queued jobs past their expiry, in that order. A runner may have been live meanwhile."""
    query = (
        select(JOBS)
        .where(JOBS.c.organisation == organisation, JOBS.c.state == "queued", JOBS.c.expires_at < now)
        .order_by(JOBS.c.expires_at, JOBS.c.id)
        .limit(MOST_SWEPT)
    )
    return [_job(row) for row in await connection.execute(query)]


async def has_unfinished(connection: AsyncConnection, organisation: str) -> bool:
    """Return whether a job is leased, blocked, or queued with an expiry."""
    looked_after = JOBS.c.state.in_((*LEASED_STATES, "blocked")) | (
        (JOBS.c.state == "queued") & JOBS.c.expires_at.is_not(None)
    )
    query = select(JOBS.c.id).where(JOBS.c.organisation == organisation, looked_after)
    return (await connection.execute(query.limit(1))).first() is not None


async def blocked(connection: AsyncConnection, organisation: str) -> dict[str, list[str]]:
    """Return all blocked jobs with their dependencies."""
    query = select(JOBS.c.id, JOBS.c.depends_on).where(JOBS.c.organisation == organisation, JOBS.c.state == "blocked")
    return {row.id: row.depends_on for row in await connection.execute(query)}


async def states(connection: AsyncConnection, organisation: str, ids: Iterable[str]) -> dict[str, State]:
    """Return the states of the existing jobs of some ids."""
    query = select(JOBS.c.id, JOBS.c.state).where(JOBS.c.organisation == organisation, JOBS.c.id.in_(sorted(ids)))
    return {row.id: row.state for row in await connection.execute(query)}


async def counts(connection: AsyncConnection, organisation: str) -> tuple[dict[str, int], datetime | None]:
    """Count the jobs by state. Also return the queue time of the oldest queued one."""
    by_state = select(JOBS.c.state, func.count()).where(JOBS.c.organisation == organisation).group_by(JOBS.c.state)
    oldest = select(func.min(JOBS.c.queued_at)).where(JOBS.c.organisation == organisation, JOBS.c.state == "queued")
    found = {row[0]: row[1] for row in await connection.execute(by_state)}
    return found, (await connection.execute(oldest)).scalar()
