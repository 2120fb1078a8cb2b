"""Runners, their commands and leases in SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, delete, insert, not_, or_, select, text, true, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.delegate.core.job import LEASED_STATES, Job, Runner, RunnerCommand
from baton.delegate.core.stores.tables import COMMANDS, JOBS, RUNNERS
from baton.delegate.core.waiting import FolderUse, Waiting, folder_of, overlaps, waiting_of
from baton.kernel.base import clock
from baton.kernel.base.sql import row_of, upsert
from baton.people.users import RowScope
from baton.rules.call.call import Principal
from baton.rules.call.modes import Freeze
from baton.shared.storable import storable

RESULT_COMMAND = "result"  # the kind of commands for a job's result
RESULT_LIMIT = timedelta(seconds=60)  # timeout of such a command


async def put(connection: AsyncConnection, runner: Runner) -> None:
    """Store a runner's report, and lock its row until the transaction ends."""
    await upsert(connection, RUNNERS, row_of(runner))


async def find_runners(connection: AsyncConnection, organisation: str, scope: RowScope) -> list[Runner]:
    """List runners, latest contact first."""
    query = scope.limit(select(RUNNERS).where(RUNNERS.c.organisation == organisation), RUNNERS)
    rows = await connection.execute(query.order_by(RUNNERS.c.last_seen.desc(), RUNNERS.c.user, RUNNERS.c.id))
    return [msgspec.convert(row._asdict(), Runner) for row in rows]


async def is_alive(connection: AsyncConnection, job: Job, since: datetime) -> bool:
    """Return whether the process that holds a job made contact since a given time."""
    query = select(RUNNERS.c.id).where(
        RUNNERS.c.organisation == job.organisation,
        RUNNERS.c.user == job.runner_user,
        RUNNERS.c.id == job.runner_id,
        RUNNERS.c.boot_id == job.boot_id,
        RUNNERS.c.last_seen >= since,
    )
    return (await connection.execute(query)).first() is not None


async def usable(connection: AsyncConnection, organisation: str, users: set[str], teams: set[str]) -> list[Runner]:
    """List the runners allowed to take jobs of these users and teams, latest contact first."""
    of_team = RUNNERS.c.shared & RUNNERS.c.team.in_([storable(team) for team in teams if team])
    query = (
        select(RUNNERS)
        .where(RUNNERS.c.organisation == organisation, RUNNERS.c.user.in_([storable(user) for user in users]) | of_team)
        .order_by(RUNNERS.c.last_seen.desc(), RUNNERS.c.user, RUNNERS.c.id)
    )
    return [msgspec.convert(row._asdict(), Runner) for row in await connection.execute(query)]


async def folder_uses(connection: AsyncConnection, organisation: str) -> list[FolderUse]:
    """List the jobs in place in named folders."""
    columns = (JOBS.c.id.label("job_id"), JOBS.c.user, JOBS.c.graph_id, JOBS.c.folder, JOBS.c.started_at)
    query = select(*columns).where(
        JOBS.c.organisation == organisation, JOBS.c.state.in_(LEASED_STATES), JOBS.c.folder != ""
    )
    return [msgspec.convert(row._asdict(), FolderUse) for row in await connection.execute(query)]


async def waiting(connection: AsyncConnection, queued: Sequence[Job]) -> dict[str, Waiting]:
    """Return the wait reasons of queued jobs of one organisation, by id. Jobs about to be leased are omitted."""
    organisation, now = queued[0].organisation, await clock.now(connection)
    users, teams = {job.user for job in queued}, {job.team for job in queued}
    runners = await usable(connection, organisation, users, teams)
    busy = await folder_uses(connection, organisation)
    reasons = {job.id: waiting_of(job, runners, busy, now) for job in queued}
    return {job_id: reason for job_id, reason in reasons.items() if reason is not None}


async def busy_workspaces(connection: AsyncConnection, runner: Runner) -> dict[str, str]:
    """Return a runner's workspaces in use in place ("" for its first one), with the jobs' common graph or ""."""
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
    """Lock a runner's machine before leasing: two jobs must not get one folder. SQLite: see `clock.writing`."""
    if connection.dialect.name == "sqlite":
        return
    for machine in sorted({folder.partition("/")[0] for folder in runner.folders.values()}):
        key = int.from_bytes(sha256(machine.encode()).digest()[:8], signed=True)
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


_FROZEN = {"team": JOBS.c.team, "project": JOBS.c.project, "user": JOBS.c.user, "session": JOBS.c.session_id}


def _is_frozen(freeze: Freeze, runner: Runner) -> ColumnElement[bool]:
    """Return the condition for jobs that a freeze stops: those of its scope, and all on the machine of a user in it."""
    owner = Principal(organisation=runner.organisation, user=runner.user, team=runner.team)
    if freeze.holds_for(owner, "", ""):
        return true()
    whose = [JOBS.c.user == storable(freeze.user)] if freeze.user else []
    return and_(_FROZEN[freeze.scope] == storable(freeze.id), *whose)


def _suitable_jobs(runner: Runner, busy: Mapping[str, str], freezes: Sequence[Freeze]) -> list[ColumnElement[bool]]:
    """Return the conditions for queued jobs that a runner may take and can run. `busy`: see `busy_workspaces`."""
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
        *(not_(_is_frozen(one, runner)) for one in freezes),
    ]


async def has_job_for(connection: AsyncConnection, runner: Runner, freezes: Sequence[Freeze]) -> bool:
    """Return whether a queued job is available to a runner. No frozen one is."""

    async def is_there(busy: Mapping[str, str]) -> bool:
        query = select(JOBS.c.id).where(*_suitable_jobs(runner, busy, freezes)).limit(1)
        return (await connection.execute(query)).first() is not None

    # Most polls find no job, and need not know the folders in use.
    if not await is_there({}):
        return False
    busy = await busy_workspaces(connection, runner)
    return not busy or await is_there(busy)


async def lease_job(
    connection: AsyncConnection,
    runner: Runner,
    freezes: Sequence[Freeze],
    *,
    digest: str,
    agent_digest: str,
    now: datetime,
    lease: timedelta,
) -> Job | None:
    """Lease the oldest suitable job to a runner. Concurrent polls never get the same job."""
    # SKIP LOCKED: concurrent polls get different jobs instead of waiting for one row. On SQLite `clock.writing`
    # serializes them.
    await lock_folders(connection, runner)
    oldest = (
        select(JOBS.c.id)
        .where(*_suitable_jobs(runner, await busy_workspaces(connection, runner), freezes))
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
    """Return the agent's session of the newest similar job on the same runner, or ""."""
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


async def add_command(
    connection: AsyncConnection, job: Job, kind: str, body: dict[str, Any], now: datetime, command_id: str = ""
) -> None:
    """Store a command for a job's runner."""
    await connection.execute(
        insert(COMMANDS).values(
            id=command_id or f"cmd_{uuid7().hex}",
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
    """List a runner's unacknowledged commands, oldest first.

    Commands for results expire after a minute: the person was told of the failure, and a laptop that wakes the next day
    must not write into their files.
    """
    still = or_(COMMANDS.c.kind != RESULT_COMMAND, COMMANDS.c.created_at > runner.last_seen - RESULT_LIMIT)
    query = select(COMMANDS).where(*_of(runner), still).order_by(COMMANDS.c.id).limit(100)
    return [
        RunnerCommand(id=row.id, job=row.job_id, attempt=row.attempt, kind=row.kind, body=row.body)
        for row in await connection.execute(query)
    ]


async def is_waiting(connection: AsyncConnection, command_id: str) -> bool:
    """Return whether the runner has not acknowledged a command yet."""
    query = select(COMMANDS.c.id).where(COMMANDS.c.id == storable(command_id))
    return (await connection.execute(query)).first() is not None


async def last_seen(connection: AsyncConnection, job: Job) -> datetime | None:
    """Return the last contact with a job's runner, or None if unknown."""
    query = select(RUNNERS.c.last_seen).where(
        RUNNERS.c.organisation == job.organisation, RUNNERS.c.user == job.runner_user, RUNNERS.c.id == job.runner_id
    )
    found: datetime | None = (await connection.execute(query)).scalar()
    return found


async def acknowledge(connection: AsyncConnection, runner: Runner, ids: list[str]) -> None:
    """Delete acknowledged commands of a runner."""
    if ids:
        await connection.execute(delete(COMMANDS).where(*_of(runner), COMMANDS.c.id.in_(map(storable, ids))))


def _of(runner: Runner) -> tuple[ColumnElement[bool], ...]:
    return (
        COMMANDS.c.organisation == runner.organisation,
        COMMANDS.c.user == storable(runner.user),
        COMMANDS.c.runner_id == runner.id,
    )
