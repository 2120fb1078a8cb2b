"""The tokens of delegated agents: made at the lease, good for one job, over with the attempt. Checked in memory."""

import secrets
from hashlib import sha256

from baton.delegate.core.stores import jobs as store
from baton.delegate.core.stores.jobs import LeasedAgent
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Unauthenticated
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.people.users import Users

KIND = "agent-tokens"
"""The kind of change that makes every process read the tokens of leased jobs again."""
PREFIX = "baton_job_"
AGENT, DELEGATING_AGENT = "agent", "delegating-agent"
"""The roles of an agent, and of one that a roster names, which is handed tools to delegate."""


class AgentTokens:
    """The tokens of the agents whose jobs are leased now, by the digest that is kept with the job."""

    def __init__(self, database: Database, changes: Changes, users: Users, organisation: str) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._organisation = organisation
        self._known: dict[str, LeasedAgent] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the tokens of leased jobs. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND), self._database.transaction() as connection:
            found = await store.leased_agents(connection, self._organisation)
            self._known = {one.agent_digest: one for one in found}

    def check(self, text: str) -> Principal:
        """Return whom an agent's token speaks for: the owner of the runner, for this one job.

        Raises:
            Unauthenticated: If the attempt is over, or the owner is disabled.
        """
        # The digest of a 256-bit secret: comparing it in a dict tells a guesser nothing.
        one = self._known.get(digest_of(text))
        if one is None:
            raise Unauthenticated("the token is of a delegated agent whose attempt is over; it is made with each lease")
        user = self._users.find(one.runner_user)
        if user is not None and user.disabled_at is not None:
            raise Unauthenticated(f"the token is of a delegated agent of `{user.name}`, who is disabled")
        return Principal(
            organisation=self._organisation,
            team=one.team if user is None else user.team,
            user=one.runner_user,
            role=DELEGATING_AGENT if one.agent_type else AGENT,
            job=one.id,
            session=one.session_id if one.agent_type else "",
        )


def made() -> str:
    """Make the token of an agent."""
    return PREFIX + secrets.token_hex(32)


def digest_of(text: str) -> str:
    """Return what is stored of an agent's token."""
    return sha256(text.encode()).hexdigest()
