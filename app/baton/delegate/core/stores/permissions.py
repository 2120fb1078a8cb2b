"""Permission requests of agents in SQL, and their answers."""

from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import JobPermission, PendingQuestion
from baton.delegate.core.stores.tables import JOBS, JobPermissionRow
from baton.engine.text.masking import mask, mask_json
from baton.kernel.base.storable import storable, storable_json
from baton.people.row_scope import RowScope

_permissions = JobPermissionRow.__table__


async def add(connection: AsyncConnection, permission: JobPermission) -> None:
    """Store a request; the transaction has locked its job."""
    row = msgspec.structs.asdict(permission)
    row |= {
        "request": storable_json(mask_json(permission.request)),
        "reason": mask(storable(permission.reason)),
        "reading": storable_json(permission.reading),
    }
    await connection.execute(insert(_permissions).values(row))


async def get(connection: AsyncConnection, job_id: str, permission_id: str) -> JobPermission | None:
    """Return a job's request, or None if it does not exist."""
    query = select(_permissions).where(
        _permissions.c.id == storable(permission_id), _permissions.c.job_id == storable(job_id)
    )
    row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), JobPermission)


async def of_job(connection: AsyncConnection, job_id: str) -> list[JobPermission]:
    """List a job's requests, the oldest first."""
    query = select(_permissions).where(_permissions.c.job_id == storable(job_id))
    rows = await connection.execute(query.order_by(_permissions.c.created_at, _permissions.c.id))
    return [msgspec.convert(row._asdict(), JobPermission) for row in rows]


async def overdue(connection: AsyncConnection, organisation: str, now: datetime) -> list[tuple[str, str]]:
    """List the requests whose deadline has passed without an answer, as pairs of job id and request id."""
    query = (
        select(_permissions.c.job_id, _permissions.c.id)
        .where(
            _permissions.c.organisation == organisation,
            _permissions.c.state == "pending",
            _permissions.c.deadline < now,
        )
        .order_by(_permissions.c.deadline)
        .limit(200)
    )
    return [(row.job_id, row.id) for row in await connection.execute(query)]


_BEGINNING = 1_000
_OF_JOB = tuple(name for name in PendingQuestion.__struct_fields__ if name != "permission")


async def pending(
    connection: AsyncConnection, organisation: str, scope: RowScope, host: str, limit: int
) -> list[PendingQuestion]:
    """List the requests that wait, the oldest first: of jobs in scope, and of those on the machines of `host`."""
    query = (
        select(_permissions, *(_of_job(name).label(f"job_{name}") for name in _OF_JOB))
        .join(JOBS, JOBS.c.id == _permissions.c.job_id)
        .where(_permissions.c.organisation == organisation, _permissions.c.state == "pending")
        .order_by(_permissions.c.deadline, _permissions.c.id)
        .limit(limit)
    )
    if scope.user:
        theirs = (JOBS.c.user == storable(scope.user)) | (JOBS.c.runner_user == storable(host))
        query = query.where(theirs | (JOBS.c.team == storable(scope.team)) if scope.team else theirs)
    found = []
    for row in await connection.execute(query):
        values = row._asdict()
        of_job = {name: values.pop(f"job_{name}") for name in _OF_JOB}
        found.append(PendingQuestion(permission=msgspec.convert(values, JobPermission), **of_job))
    return found


def _of_job(name: str) -> ColumnElement[str]:
    column: ColumnElement[str] = JOBS.c[name]
    return func.substr(column, 1, _BEGINNING) if name == "prompt" else column


async def decide(connection: AsyncConnection, permission: JobPermission) -> None:
    """Store the answer to a request; the transaction has locked the job."""
    values = {
        "state": permission.state,
        "decided_by": permission.decided_by,
        "decided_user": storable(permission.decided_user),
        "reason": mask(storable(permission.reason)),
        "decided_at": permission.decided_at,
    }
    await connection.execute(update(_permissions).where(_permissions.c.id == permission.id).values(values))


async def close(connection: AsyncConnection, job_id: str, at: datetime) -> list[str]:
    """Deny the pending requests of an attempt that has ended, and return their ids."""
    closed = (
        update(_permissions)
        .where(_permissions.c.job_id == job_id, _permissions.c.state == "pending")
        .values(state="denied", decided_by="end", reason="the attempt has ended", decided_at=at)
        .returning(_permissions.c.id)
    )
    return sorted(row[0] for row in await connection.execute(closed))
