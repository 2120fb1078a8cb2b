"""Runners, what waits to be told to them, and jobs that they take. It does not say which jobs they may have."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.delegate.core.protocol import HELD
from baton.delegate.core.store import Job
from baton.delegate.core.tables import JobRow, RunnerCommandRow, RunnerRow
from baton.kernel.base.sql import insert_into, row_of, storable
from baton.people.row_scope import RowScope

_jobs = JobRow.__table__
_runners = RunnerRow.__table__
_commands = RunnerCommandRow.__table__


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs jobs. `slots` were free when it last asked, `active` jobs were in its hands."""

    organisation: str
    user: str
    id: str
    team: str
    boot_id: str
    name: str
    version: str
    providers: tuple[str, ...]
    workspaces: tuple[str, ...]
    slots: int
    active: int
    shared: bool
    last_seen: datetime


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner is to do: `cancel` a job, or pass on the answer to a `permission`."""

    id: str
    job: str
    attempt: int
    kind: str
    body: dict[str, Any]


async def put(connection: AsyncConnection, runner: Runner) -> None:
    """Note that a runner was heard of, and hold its row until the transaction ends."""
    row = row_of(runner)
    new = insert_into(connection.dialect.name, _runners).values(row)
    await connection.execute(new.on_conflict_do_update(index_elements=["organisation", "user", "id"], set_=row))


async def find(connection: AsyncConnection, organisation: str, scope: RowScope) -> list[Runner]:
    """List the runners, the one heard of last first."""
    query = scope.limit(select(_runners).where(_runners.c.organisation == organisation), _runners)
    rows = await connection.execute(query.order_by(_runners.c.last_seen.desc(), _runners.c.user, _runners.c.id))
    return [msgspec.convert(row._asdict(), Runner) for row in rows]


def _waiting_for(runner: Runner) -> list[ColumnElement[bool]]:
    """Tell which queued jobs a runner may have and is able to do."""
    theirs: ColumnElement[bool] = _jobs.c.user == storable(runner.user)
    if runner.shared and runner.team:
        theirs = or_(theirs, _jobs.c.team == storable(runner.team))
    return [
        _jobs.c.organisation == runner.organisation,
        _jobs.c.state == "queued",
        theirs,
        _jobs.c.provider.in_(runner.providers),
        _jobs.c.workspace.in_(["", *map(storable, runner.workspaces)]),
    ]


async def something_waits(connection: AsyncConnection, runner: Runner) -> bool:
    """Tell whether there is a job for a runner."""
    return (await connection.execute(select(_jobs.c.id).where(*_waiting_for(runner)).limit(1))).first() is not None


async def take(
    connection: AsyncConnection, runner: Runner, *, digest: str, now: datetime, lease: timedelta
) -> Job | None:
    """Give a runner the job that has waited longest; several that ask at once never get the same."""
    oldest = (
        select(_jobs.c.id)
        .where(*_waiting_for(runner))
        .order_by(_jobs.c.queued_at, _jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = (
        update(_jobs)
        .where(_jobs.c.id == oldest.scalar_subquery(), _jobs.c.state == "queued")
        .values(
            state="leased",
            attempt=_jobs.c.attempt + 1,
            digest=digest,
            lease_until=now + lease,
            runner_user=storable(runner.user),
            runner_id=runner.id,
            boot_id=runner.boot_id,
            last_seq=0,
        )
        .returning(_jobs)
    )
    row = (await connection.execute(taken)).first()
    return None if row is None else msgspec.convert(row._asdict(), Job)


async def agent_session(connection: AsyncConnection, job: Job) -> str:
    """Name the agent's own session that the newest job like this one had on the same runner, "" for none."""
    query = (
        select(_jobs.c.agent_session)
        .where(
            _jobs.c.organisation == job.organisation,
            _jobs.c.user == job.user,
            _jobs.c.session_id == job.session_id,
            _jobs.c.provider == job.provider,
            _jobs.c.workspace == job.workspace,
            _jobs.c.runner_user == job.runner_user,
            _jobs.c.runner_id == job.runner_id,
            _jobs.c.isolation == "in_place",
            _jobs.c.agent_session != "",
            _jobs.c.state.not_in(HELD),
        )
        .order_by(_jobs.c.started_at.desc(), _jobs.c.id.desc())
        .limit(1)
    )
    return str((await connection.execute(query)).scalar() or "")


async def tell(connection: AsyncConnection, job: Job, kind: str, body: dict[str, Any], now: datetime) -> None:
    """Leave a command for the runner that has a job."""
    await connection.execute(
        insert(_commands).values(
            id=f"cmd_{uuid7().hex}",
            organisation=job.organisation,
            user=job.runner_user,
            runner_id=job.runner_id,
            job_id=job.id,
            attempt=job.attempt,
            kind=kind,
            body=body,
            created_at=now,
        )
    )


async def commands(connection: AsyncConnection, runner: Runner) -> list[Command]:
    """List what a runner was not told yet, the oldest first."""
    query = select(_commands).where(*_of(runner)).order_by(_commands.c.id).limit(100)
    return [
        Command(id=row.id, job=row.job_id, attempt=row.attempt, kind=row.kind, body=row.body)
        for row in await connection.execute(query)
    ]


async def acknowledge(connection: AsyncConnection, runner: Runner, ids: list[str]) -> None:
    """Forget the commands that a runner has followed."""
    if ids:
        await connection.execute(delete(_commands).where(*_of(runner), _commands.c.id.in_(map(storable, ids))))


def _of(runner: Runner) -> tuple[ColumnElement[bool], ...]:
    return (
        _commands.c.organisation == runner.organisation,
        _commands.c.user == storable(runner.user),
        _commands.c.runner_id == runner.id,
    )
