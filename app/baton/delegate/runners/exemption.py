"""Exempts the sessions of delegated agents from the orchestrator mode: they are to do the work, not to delegate it.

A runner names the agent's session once it knows it (`agent.session`); the agent's own SessionStart hook comes earlier,
and names the job.
"""

from datetime import datetime, timedelta
from typing import Protocol

from baton.delegate.core import jobs_store as jobs
from baton.delegate.core.job import LEASED_STATES, Job
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable

EXEMPT = timedelta(days=1)
"""How long a session is exempt: the agent may resume it in the next job."""


class ModeExemptions(Protocol):
    """Switches the orchestrator mode off for a session: `Modes`."""

    async def let_work(self, principal: Principal, session_id: str, reason: str, until: datetime) -> None:
        """Switch the mode off for a session. Raises StoreUnavailable."""
        ...


class DelegatedSessions:
    """The sessions of delegated agents."""

    def __init__(self, database: Database, modes: ModeExemptions) -> None:
        self._database = database
        self._modes = modes

    async def exempt(self, principal: Principal, job: Job, session_id: str, now: datetime) -> None:
        """Exempt the session of a job's agent, under the login of the runner's owner.

        The session that delegated is never exempt: a runner that names it is ignored.

        Raises:
            StoreUnavailable: If the database is away; nothing was changed.
        """
        if session_id not in {"", job.session_id}:
            await self._modes.let_work(principal, session_id, f"the agent of {job.id}", now + EXEMPT)

    async def began(self, principal: Principal, job_id: str, session_id: str) -> None:
        """Exempt a session that starts and names a job, if a runner of the principal's holds that job now.

        Once the runner has named the agent's session, no other session is exempt for the job.

        Raises:
            StoreUnavailable: If the database is away; nothing was changed.
        """
        try:
            async with self._database.transaction() as connection:
                job = await jobs.get(connection, principal.organisation, job_id)
                now = await clock.now(connection)
        except DatabaseUnavailable:
            raise StoreUnavailable("the job cannot be read now") from None
        if job is None or job.state not in LEASED_STATES or job.runner_user != principal.user:
            return
        if job.agent_session in {"", session_id}:
            await self.exempt(principal, job, session_id, now)
