"""Runners in SQL: their rows, their commands, and the lease of a job to one of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.delegate.core.job import LEASED_STATES, Job
from baton.delegate.core.runner import Runner, RunnerCommand
from baton.delegate.core.stores.tables import JOBS, RunnerCommandRow, RunnerRow
from baton.delegate.core.waiting import FolderUse, Waiting, folder_of, overlaps, waiting_of
from baton.kernel.base.sql import insert_into, row_of
from baton.kernel.base.storable import storable
from baton.kernel.base.time import clock
from baton.people.row_scope import RowScope

RESULT_COMMAND = "result"
"""The kind of commands that say what to do with a job's result."""
RESULT_LIMIT = timedelta(seconds=60)
"""How long such a command waits for its runner."""
_runners = RunnerRow.__table__
_commands = RunnerCommandRow.__table__


async def put(connection: AsyncConnection, runner: Runner) -> None:
    """Store what a runner said of itself, and lock its row until the transaction ends."""
    row = row_of(runner)
    new = insert_into(connection.dialect.name, _runners).values(row)
    await connection.execute(new.on_conflict_do_update(index_elements=["organisation", "user", "id"], set_=row))


async def find(connection: AsyncConnection, organisation: str, scope: RowScope) -> list[Runner]:
    """List runners, the one heard of last first."""
    query = scope.limit(select(_runners).where(_runners.c.organisation == organisation), _runners)
    rows = await connection.execute(query.order_by(_runners.c.last_seen.desc(), _runners.c.user, _runners.c.id))
    return [msgspec.convert(row._asdict(), Runner) for row in rows]


async def is_alive(connection: AsyncConnection, job: Job, since: datetime) -> bool:
    """Return whether the process that holds a job was heard of since a moment."""
    query = select(_runners.c.id).where(
        _runners.c.organisation == job.organisation,
        _runners.c.user == job.runner_user,
        _runners.c.id == job.runner_id,
        _runners.c.boot_id == job.boot_id,
        _runners.c.last_seen >= since,
    )
    return (await connection.execute(query)).first() is not None


async def usable(connection: AsyncConnection, organisation: str, users: set[str], teams: set[str]) -> list[Runner]:
    """List the runners that may take jobs of these users and teams, the one heard of last first."""
    of_team = _runners.c.shared & _runners.c.team.in_([storable(team) for team in teams if team])
    query = (
        select(_runners)
        .where(
            _runners.c.organisation == organisation,
            _runners.c.user.in_([storable(user) for user in users]) | of_team,
        )
        .order_by(_runners.c.last_seen.desc(), _runners.c.user, _runners.c.id)
    )
    return [msgspec.convert(row._asdict(), Runner) for row in await connection.execute(query)]


async def folder_uses(connection: AsyncConnection, organisation: str) -> list[FolderUse]:
    """List the jobs that work in place in folders that their runners named."""
    columns = (JOBS.c.id.label("job_id"), JOBS.c.user, JOBS.c.graph_id, JOBS.c.folder, JOBS.c.started_at)
    query = select(*columns).where(
        JOBS.c.organisation == organisation, JOBS.c.state.in_(LEASED_STATES), JOBS.c.folder != ""
    )
    return [msgspec.convert(row._asdict(), FolderUse) for row in await connection.execute(query)]


async def waiting(connection: AsyncConnection, queued: Sequence[Job]) -> dict[str, Waiting]:
    """Return why queued jobs of one organisation wait, by their ids; one that is about to be leased is left out."""
    organisation, now = queued[0].organisation, await clock.now(connection)
    users, teams = {job.user for job in queued}, {job.team for job in queued}
    runners = await usable(connection, organisation, users, teams)
    busy = await folder_uses(connection, organisation)
    reasons = {job.id: waiting_of(job, runners, busy, now) for job in queued}
    return {job_id: reason for job_id, reason in reasons.items() if reason is not None}


async def busy_workspaces(connection: AsyncConnection, runner: Runner) -> dict[str, str]:
    """Return the workspaces of a runner in whose folders jobs work in place; "" if its first one is among them.

    Each with the graph of which all these jobs are, "" for none: other jobs of that graph may join them.
    """
    if not runner.folders:
        return {}
    uses = await folder_uses(connection, runner.organisation)
    busy: dict[str, str] = {}
    for alias in ("", *runner.workspaces):
        graphs = {use.graph_id for use in uses if overlaps(use.folder, folder_of(runner, alias))}
        if graphs:
            busy[alias] = graphs.pop() if len(graphs) == 1 else ""
    return busy


async def lock_folders(connection: AsyncConnection, runner: Runner) -> None:
    """Let no other transaction lease a job on the runner's machine until this one ends: two could take one folder.

    SQLite has one writer at a time anyway (`clock.writing`). Taken before any row is locked.
    """
    if connection.dialect.name == "sqlite":
        return
    for machine in sorted({folder.partition("/")[0] for folder in runner.folders.values()}):
        key = int.from_bytes(sha256(machine.encode()).digest()[:8], signed=True)
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def _suitable_jobs(runner: Runner, busy: Mapping[str, str]) -> list[ColumnElement[bool]]:
    """Return the conditions for queued jobs that a runner may take and is able to run.

    `busy` are workspaces in use, as `busy_workspaces` returns them.
    """
    is_free = [
        (JOBS.c.workspace != alias) | (JOBS.c.graph_id == graph) if graph else JOBS.c.workspace != alias
        for alias, graph in busy.items()
    ]
    theirs: ColumnElement[bool] = JOBS.c.user == storable(runner.user)
    if runner.shared and runner.team:
        theirs = or_(theirs, JOBS.c.team == storable(runner.team))
    return [
        JOBS.c.organisation == runner.organisation,
        JOBS.c.state == "queued",
        theirs,
        JOBS.c.provider.in_(runner.providers),
        JOBS.c.workspace.in_(["", *map(storable, runner.workspaces)]),
        JOBS.c.thread_runner.in_(["", runner.id]),
        JOBS.c.thread_user.in_(["", storable(runner.user)]),
        *([or_(JOBS.c.isolation != "in_place", JOBS.c.concurrent, and_(*is_free))] if busy else []),
    ]


async def has_job_for(connection: AsyncConnection, runner: Runner) -> bool:
    """Return whether a queued job waits for a runner."""

    async def is_there(busy: Mapping[str, str]) -> bool:
        query = select(JOBS.c.id).where(*_suitable_jobs(runner, busy)).limit(1)
        return (await connection.execute(query)).first() is not None

    # Most polls find no job at all, and need not know which folders are in use.
    if not await is_there({}):
        return False
    busy = await busy_workspaces(connection, runner)
    return not busy or await is_there(busy)


async def lease_job(
    connection: AsyncConnection, runner: Runner, *, digest: str, agent_digest: str, now: datetime, lease: timedelta
) -> Job | None:
    """Lease the job that has waited longest to a runner; polls at the same time never get the same job."""
    # SKIP LOCKED: of several polls at once each gets another job instead of waiting for the same row. SQLite has no
    # row locks; there `clock.writing` lets one transaction at a time write.
    await lock_folders(connection, runner)
    oldest = (
        select(JOBS.c.id)
        .where(*_suitable_jobs(runner, await busy_workspaces(connection, runner)))
        .order_by(JOBS.c.queued_at, JOBS.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = (
        update(JOBS)
        .where(JOBS.c.id == oldest.scalar_subquery(), JOBS.c.state == "queued")
        .values(
            state="leased",
            attempt=JOBS.c.attempt + 1,
            digest=digest,
            agent_digest=agent_digest,
            lease_until=now + lease,
            runner_user=storable(runner.user),
            runner_id=runner.id,
            boot_id=runner.boot_id,
            last_seq=0,
            deadline=None,
            disconnected_since=None,
        )
        .returning(JOBS)
    )
    row = (await connection.execute(taken)).first()
    return None if row is None else msgspec.convert(row._asdict(), Job)


async def agent_session(connection: AsyncConnection, job: Job) -> str:
    """Return the agent's session of the newest job like this one on the same runner, "" for none."""
    query = (
        select(JOBS.c.agent_session)
        .where(
            JOBS.c.organisation == job.organisation,
            JOBS.c.user == job.user,
            JOBS.c.session_id == job.session_id,
            JOBS.c.provider == job.provider,
            JOBS.c.workspace == job.workspace,
            JOBS.c.runner_user == job.runner_user,
            JOBS.c.runner_id == job.runner_id,
            JOBS.c.isolation == "in_place",
            JOBS.c.agent_session != "",
            JOBS.c.state.not_in(LEASED_STATES),
        )
        .order_by(JOBS.c.started_at.desc(), JOBS.c.id.desc())
        .limit(1)
    )
    return str((await connection.execute(query)).scalar() or "")


async def add_command(connection: AsyncConnection, job: Job, kind: str, body: dict[str, Any], now: datetime) -> None:
    """Store a command for the runner that holds a job."""
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


async def commands(connection: AsyncConnection, runner: Runner) -> list[RunnerCommand]:
    """List the commands that a runner has not acknowledged, the oldest first.

    What is to be done with a result is in nobody's hands after a minute: the person was told that it was not done, and a
    laptop that wakes the next day must not write into their files.
    """
    still = or_(_commands.c.kind != RESULT_COMMAND, _commands.c.created_at > runner.last_seen - RESULT_LIMIT)
    query = select(_commands).where(*_of(runner), still).order_by(_commands.c.id).limit(100)
    return [
        RunnerCommand(id=row.id, job=row.job_id, attempt=row.attempt, kind=row.kind, body=row.body)
        for row in await connection.execute(query)
    ]


async def acknowledge(connection: AsyncConnection, runner: Runner, ids: list[str]) -> None:
    """Delete the commands that a runner has acknowledged."""
    if ids:
        await connection.execute(delete(_commands).where(*_of(runner), _commands.c.id.in_(map(storable, ids))))


def _of(runner: Runner) -> tuple[ColumnElement[bool], ...]:
    return (
        _commands.c.organisation == runner.organisation,
        _commands.c.user == storable(runner.user),
        _commands.c.runner_id == runner.id,
    )
