"""Permission requests of agents in SQL, and their answers."""

from datetime import datetime

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import JobPermission
from baton.delegate.core.tables import JobPermissionRow
from baton.engine.text.masking import mask, mask_json
from baton.kernel.base.storable import storable, storable_json

_permissions = JobPermissionRow.__table__


async def add(connection: AsyncConnection, permission: JobPermission) -> None:
    """Store a request; the transaction has locked its job."""
    row = msgspec.structs.asdict(permission)
    row |= {"request": storable_json(mask_json(permission.request)), "reason": mask(storable(permission.reason))}
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
