"""Sessions of agents that do delegated work: the orchestrator mode does not hold for them. It delegates nothing itself.

A runner tells of the session once it knows it; the agent's own start comes before that, and names the job.
"""

from datetime import datetime, timedelta
from typing import Protocol

from baton.delegate.core import store as jobs
from baton.delegate.core.protocol import HELD
from baton.delegate.core.store import Job
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable

EXEMPT = timedelta(days=1)
"""How long the mode stays off for an agent's session, which may go on in the next job."""


class Exempting(Protocol):
    """What switches the mode off: `Modes`."""

    async def let_work(self, principal: Principal, session_id: str, reason: str, until: datetime) -> None:
        """Switch the mode off for a session. Raises StoreUnavailable."""
        ...


class DelegatedSessions:
    """Lets agents do the work that they were handed."""

    def __init__(self, database: Database, modes: Exempting) -> None:
        self._database = database
        self._modes = modes

    async def let_work(self, principal: Principal, job: Job, session_id: str, now: datetime) -> None:
        """Let a job's agent work in its session, under the login of whose runner it is; never who delegated, in theirs.

        Raises:
            StoreUnavailable: the database is away; nothing was changed.
        """
        if session_id not in {"", job.session_id}:
            await self._modes.let_work(principal, session_id, f"the agent of {job.id}", now + EXEMPT)

    async def began(self, principal: Principal, job_id: str, session_id: str) -> None:
        """Let an agent work whose session begins, if a runner of the principal's has its job now and told of no other one.

        Raises:
            StoreUnavailable: the database is away; nothing was changed.
        """
        try:
            async with self._database.transaction() as connection:
                job = await jobs.get(connection, principal.organisation, job_id)
                now = await clock.now(connection)
        except DatabaseUnavailable:
            raise StoreUnavailable("the job cannot be read now") from None
        if job is None or job.state not in HELD or job.runner_user != principal.user:
            return
        if job.agent_session in {"", session_id}:
            await self.let_work(principal, job, session_id, now)
