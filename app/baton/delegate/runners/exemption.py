"""Exempts the sessions of delegated agents from the orchestrator mode: they are to do the work, not to delegate it.

A runner names the agent's session once it knows it (`agent.session`). Before that, and whatever session it is, requests
with the token of a leased job are exempt (`Modes.effective`); nobody else's word about a session is believed.
"""

from datetime import datetime, timedelta
from typing import Protocol

from baton.delegate.core.job import Job
from baton.engine.call.principal import Principal

EXEMPT = timedelta(days=1)
"""How long a session is exempt: the agent may resume it in the next job."""


class ModeExemptions(Protocol):
    """Switches the orchestrator mode off for a session: `Modes`."""

    async def let_work(self, principal: Principal, session_id: str, reason: str, until: datetime) -> None:
        """Switch the mode off for a session. Raise StoreUnavailable."""
        ...


class DelegatedSessions:
    """The sessions of delegated agents."""

    def __init__(self, modes: ModeExemptions) -> None:
        self._modes = modes

    async def exempt(self, principal: Principal, job: Job, session_id: str, now: datetime) -> None:
        """Exempt the session of a job's agent, under the login of the runner's owner.

        The session that delegated is never exempt: a runner that names it is ignored.

        Raises:
            StoreUnavailable: If the database is away; nothing was changed.
        """
        if session_id not in {"", job.session_id}:
            await self._modes.let_work(principal, session_id, f"the agent of {job.id}", now + EXEMPT)
