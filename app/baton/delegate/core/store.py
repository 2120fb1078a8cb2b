"""Jobs as they are stored, found and changed. It knows no state's meaning: `baton.delegate.core.states` does."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.protocol import ACTIVE, HELD, State
from baton.delegate.core.tables import JobRow
from baton.kernel.base.sql import Database, insert_into, row_of, storable
from baton.people.row_scope import RowScope

_jobs = JobRow.__table__
MOST_SWEPT = 200
"""Jobs that one sweep looks at."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One delegated task.

    `digest` is the SHA-256 of the lease's token, "" once the runner's word counts no longer. `cost_usd` is what the
    agent said it cost, None where it did not. `next_no` is the number of the next event.
    """

    id: str
    organisation: str
    user: str
    team: str
    session_id: str
    project: str = ""
    provider: str
    workspace: str = ""
    prompt: str
    description: str = ""
    approval: str = "none"
    isolation: str = "in_place"
    state: State
    cancel_requested: bool = False
    cancel_at: datetime | None = None
    attempt: int = 0
    max_attempts: int = 1
    digest: str = ""
    lease_until: datetime | None = None
    runner_user: str = ""
    runner_id: str = ""
    boot_id: str = ""
    last_seq: int = 0
    depends_on: tuple[str, ...] = ()
    graph_id: str = ""
    task: str = ""
    agent_type: str = ""
    tier: str = ""
    model: str = ""
    system_prompt: str = ""
    thinking_budget: int | None = None
    agent_session: str = ""
    timeout_s: int = 300
    next_no: int = 1
    progress: str = ""
    output: str = ""
    error_code: str = ""
    error_detail: str = ""
    late_result: dict[str, Any] | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    created_at: datetime
    queued_at: datetime | None = None
    started_at: datetime | None = None
    deadline: datetime | None = None
    ended_at: datetime | None = None
    idempotency_key: str | None = None
    idempotency_digest: str = ""


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to find; all that are set must hold. `since` is included, `until` is not."""

    user: str = ""
    session_id: str = ""
    state: str = ""
    provider: str = ""
    graph_id: str = ""
    workspace: str = ""
    since: datetime | None = None
    until: datetime | None = None


def _job(row: Any) -> Job:
    return msgspec.convert(row._asdict(), Job)


async def add(connection: AsyncConnection, job: Job) -> bool:
    """Store a new job; False if its user has one of that idempotency key."""
    insert = insert_into(connection.dialect.name, _jobs).values(row_of(job))
    kept = insert.on_conflict_do_nothing(index_elements=["organisation", "user", "idempotency_key"])
    return bool((await connection.execute(kept)).rowcount == 1)


async def change(connection: AsyncConnection, job_id: str, values: dict[str, Any]) -> None:
    """Change a job that the transaction has locked."""
    await connection.execute(update(_jobs).where(_jobs.c.id == job_id).values(values))


async def lock(connection: AsyncConnection, organisation: str, job_id: str) -> Job | None:
    """Read a job, and keep others from changing it until the transaction ends."""
    query = select(_jobs).where(_jobs.c.id == storable(job_id), _jobs.c.organisation == organisation).with_for_update()
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def get(connection: AsyncConnection, organisation: str, job_id: str) -> Job | None:
    """Read a job."""
    query = select(_jobs).where(_jobs.c.id == storable(job_id), _jobs.c.organisation == organisation)
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def of_key(connection: AsyncConnection, organisation: str, user: str, key: str) -> Job | None:
    """Read the job that a user made with an idempotency key."""
    query = select(_jobs).where(
        _jobs.c.organisation == organisation, _jobs.c.user == storable(user), _jobs.c.idempotency_key == storable(key)
    )
    row = (await connection.execute(query)).first()
    return None if row is None else _job(row)


async def several(connection: AsyncConnection, organisation: str, ids: Iterable[str]) -> list[Job]:
    """Read the jobs of these ids that there are."""
    wanted = [storable(one) for one in ids]
    query = select(_jobs).where(_jobs.c.organisation == organisation, _jobs.c.id.in_(wanted))
    return [_job(row) for row in await connection.execute(query)]


async def find(
    database: Database, organisation: str, scope: RowScope, wanted: JobFilter, *, before: tuple[str, ...], limit: int
) -> list[Job]:
    """Find jobs, the newest first; `before` is the moment and the id of the last one of the page before."""
    query = scope.limit(select(_jobs).where(_jobs.c.organisation == organisation), _jobs)
    for name in ("user", "session_id", "state", "provider", "graph_id", "workspace"):
        value = getattr(wanted, name)
        if value:
            query = query.where(_jobs.c[name] == storable(value))
    if wanted.since is not None:
        query = query.where(_jobs.c.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(_jobs.c.created_at < wanted.until)
    if before[0]:
        moment = datetime.fromisoformat(before[0])
        query = query.where(
            (_jobs.c.created_at < moment) | ((_jobs.c.created_at == moment) & (_jobs.c.id < storable(before[1])))
        )
    query = query.order_by(_jobs.c.created_at.desc(), _jobs.c.id.desc()).limit(limit)
    async with database.transaction() as connection:
        return [_job(row) for row in await connection.execute(query)]


async def active_of_session(connection: AsyncConnection, job: Job) -> list[Job]:
    """List the jobs that a job's session is busy with, the one queued last first."""
    query = (
        select(_jobs)
        .where(
            _jobs.c.organisation == job.organisation,
            _jobs.c.user == job.user,
            _jobs.c.session_id == job.session_id,
            _jobs.c.state.in_(ACTIVE),
        )
        .order_by(_jobs.c.queued_at.desc(), _jobs.c.id.desc())
    )
    return [_job(row) for row in await connection.execute(query)]


async def blocked_by(connection: AsyncConnection, organisation: str, user: str, job_id: str) -> list[str]:
    """Name the blocked jobs of a user that wait for a job."""
    query = select(_jobs.c.id, _jobs.c.depends_on).where(
        _jobs.c.organisation == organisation, _jobs.c.user == storable(user), _jobs.c.state == "blocked"
    )
    return [row.id for row in await connection.execute(query) if job_id in row.depends_on]


async def held_by(connection: AsyncConnection, organisation: str, user: str, runner_id: str) -> list[Job]:
    """List the jobs that a runner has."""
    query = (
        select(_jobs)
        .where(
            _jobs.c.organisation == organisation,
            _jobs.c.state.in_(HELD),
            _jobs.c.runner_user == storable(user),
            _jobs.c.runner_id == runner_id,
        )
        .order_by(_jobs.c.id)
    )
    return [_job(row) for row in await connection.execute(query)]


async def renew(connection: AsyncConnection, leases: list[tuple[str, int, str]], boot_id: str, until: datetime) -> None:
    """Renew leases by job, attempt and digest; those that are not current stay as they are."""
    if leases:
        proved = tuple_(_jobs.c.id, _jobs.c.attempt, _jobs.c.digest).in_(leases)
        renewed = update(_jobs).where(proved, _jobs.c.state.in_(HELD))
        await connection.execute(renewed.values(lease_until=until, boot_id=storable(boot_id)))


async def renew_all(connection: AsyncConnection, organisation: str, until: datetime) -> None:
    """Renew the lease of every job that a runner has."""
    held = update(_jobs).where(_jobs.c.organisation == organisation, _jobs.c.state.in_(HELD))
    await connection.execute(held.values(lease_until=until))


async def due(connection: AsyncConnection, organisation: str, now: datetime, cancelled_before: datetime) -> list[str]:
    """Name the jobs whose lease or time is over, or whose cancel nobody followed since a moment; oldest lease first."""
    query = (
        select(_jobs.c.id)
        .where(
            _jobs.c.organisation == organisation,
            _jobs.c.state.in_(HELD),
            (_jobs.c.lease_until < now) | (_jobs.c.deadline < now) | (_jobs.c.cancel_at < cancelled_before),
        )
        .order_by(_jobs.c.lease_until, _jobs.c.id)
        .limit(MOST_SWEPT)
    )
    return [row.id for row in await connection.execute(query)]


async def some_open(connection: AsyncConnection, organisation: str) -> bool:
    """Tell whether a runner has a job, or one waits for others."""
    query = select(_jobs.c.id).where(_jobs.c.organisation == organisation, _jobs.c.state.in_((*HELD, "blocked")))
    return (await connection.execute(query.limit(1))).first() is not None


async def blocked(connection: AsyncConnection, organisation: str) -> dict[str, list[str]]:
    """Give all blocked jobs, each with the jobs that it waits for."""
    query = select(_jobs.c.id, _jobs.c.depends_on).where(
        _jobs.c.organisation == organisation, _jobs.c.state == "blocked"
    )
    return {row.id: row.depends_on for row in await connection.execute(query)}


async def states(connection: AsyncConnection, organisation: str, ids: Iterable[str]) -> dict[str, State]:
    """Give the states of those of these jobs that there are."""
    query = select(_jobs.c.id, _jobs.c.state).where(_jobs.c.organisation == organisation, _jobs.c.id.in_(sorted(ids)))
    return {row.id: row.state for row in await connection.execute(query)}


async def counts(connection: AsyncConnection, organisation: str) -> tuple[dict[str, int], datetime | None]:
    """Count the jobs by state, and tell since when the oldest queued one waits."""
    by_state = select(_jobs.c.state, func.count()).where(_jobs.c.organisation == organisation).group_by(_jobs.c.state)
    oldest = select(func.min(_jobs.c.queued_at)).where(_jobs.c.organisation == organisation, _jobs.c.state == "queued")
    found = {row[0]: row[1] for row in await connection.execute(by_state)}
    return found, (await connection.execute(oldest)).scalar()
