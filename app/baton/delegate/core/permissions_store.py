"""What agents asked leave for, and the answers. It asks nobody."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.tables import JobPermissionRow
from baton.kernel.base.sql import storable, storable_json

_permissions = JobPermissionRow.__table__


class JobPermission(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an agent asked leave for. `decided_by` is policy, user, timeout or end, "" while it is pending."""

    id: str
    organisation: str
    user: str
    job_id: str
    attempt: int
    request: dict[str, Any]
    state: str = "pending"
    decided_by: str = ""
    decided_user: str = ""
    decision_id: str = ""
    reason: str = ""
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None = None


async def add(connection: AsyncConnection, permission: JobPermission) -> None:
    """Store one, in the transaction that has locked its job."""
    row = msgspec.structs.asdict(permission)
    row |= {"request": storable_json(permission.request), "reason": storable(permission.reason)}
    await connection.execute(insert(_permissions).values(row))


async def get(connection: AsyncConnection, job_id: str, permission_id: str) -> JobPermission | None:
    """Read one of a job."""
    query = select(_permissions).where(
        _permissions.c.id == storable(permission_id), _permissions.c.job_id == storable(job_id)
    )
    row = (await connection.execute(query)).first()
    return None if row is None else msgspec.convert(row._asdict(), JobPermission)


async def of_job(connection: AsyncConnection, job_id: str) -> list[JobPermission]:
    """List those of a job, the oldest first."""
    query = select(_permissions).where(_permissions.c.job_id == storable(job_id))
    rows = await connection.execute(query.order_by(_permissions.c.created_at, _permissions.c.id))
    return [msgspec.convert(row._asdict(), JobPermission) for row in rows]


async def overdue(connection: AsyncConnection, organisation: str, now: datetime) -> list[tuple[str, str]]:
    """Name the job and the id of each that nobody has answered in time."""
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


async def decide(
    connection: AsyncConnection, permission: JobPermission, *, state: str, by: str, user: str, reason: str, at: datetime
) -> None:
    """Note the answer, in the transaction that has locked the job."""
    values = {"state": state, "decided_by": by, "decided_user": storable(user), "reason": storable(reason)}
    await connection.execute(
        update(_permissions).where(_permissions.c.id == permission.id).values(values | {"decided_at": at})
    )


async def close(connection: AsyncConnection, job_id: str, at: datetime) -> list[str]:
    """Deny what is still pending of a job that goes on no more; name each."""
    closed = (
        update(_permissions)
        .where(_permissions.c.job_id == job_id, _permissions.c.state == "pending")
        .values(state="denied", decided_by="end", reason="the attempt has ended", decided_at=at)
        .returning(_permissions.c.id)
    )
    return sorted(row[0] for row in await connection.execute(closed))
