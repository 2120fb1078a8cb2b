"""What people ask to be done with a job's result: events of the job, and commands that wait for its runner."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import Job, JobEvent
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores.runners import RESULT_COMMAND
from baton.delegate.core.stores.tables import RunnerCommandRow, RunnerRow
from baton.kernel.base.storable import storable

EVENT = "workspace.action"
"""The type of the events that say what was asked of a job's runner and what became of it."""
_commands = RunnerCommandRow.__table__
_runners = RunnerRow.__table__


async def add_command(
    connection: AsyncConnection, job: Job, action_id: str, body: dict[str, Any], now: datetime
) -> None:
    """Leave the command to do an action for the job's runner; it has the action's id."""
    await connection.execute(
        insert(_commands).values(
            id=action_id,
            organisation=job.organisation,
            user=job.runner_user,
            runner_id=job.runner_id,
            job_id=job.id,
            attempt=job.attempt,
            kind=RESULT_COMMAND,
            body=body,
            created_at=now,
        )
    )


async def is_waiting(connection: AsyncConnection, action_id: str) -> bool:
    """Return whether the runner has not taken an action yet."""
    query = select(_commands.c.id).where(_commands.c.id == storable(action_id))
    return (await connection.execute(query)).first() is not None


async def last_seen(connection: AsyncConnection, job: Job) -> datetime | None:
    """Return when the runner that worked on a job was last heard of, None if it is forgotten."""
    query = select(_runners.c.last_seen).where(
        _runners.c.organisation == job.organisation,
        _runners.c.user == job.runner_user,
        _runners.c.id == job.runner_id,
    )
    found: datetime | None = (await connection.execute(query)).scalar()
    return found


async def events(connection: AsyncConnection, job: Job) -> list[JobEvent]:
    """List the events of a job's actions, the oldest first."""
    return await events_store.of_type(connection, job.id, EVENT)
