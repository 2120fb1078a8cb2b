"""The tokens of delegated agents: created with the lease, valid for one attempt. Checked in memory."""

import secrets
from datetime import datetime, timedelta
from typing import Protocol

from baton.delegate.core.stores import jobs as store
from baton.delegate.core.stores.jobs import LeasedAgent
from baton.kernel.base.errors import Unauthenticated
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.people.tokens import digest_of
from baton.people.users import Users
from baton.rules.call.call import Principal

KIND = "agent-tokens"  # the change kind that makes every process reload the tokens
PREFIX = "baton_job_"
AGENT, DELEGATING_AGENT = "agent", "delegating-agent"  # roles; the latter has delegation tools


class AgentTokens:
    """The tokens of leased jobs' agents, by the digest stored with the job."""

    def __init__(self, database: Database, changes: Changes, users: Users, organisation: str) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._organisation = organisation
        self._known: dict[str, LeasedAgent] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Load the tokens of leased jobs. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND), self._database.transaction() as connection:
            found = await store.leased_agents(connection, self._organisation)
            self._known = {one.agent_digest: one for one in found}

    def check(self, text: str) -> Principal:
        """Return the principal of an agent's token: the runner's owner, for one job. Raise Unauthenticated."""
        # The digest of a 256-bit secret: timing of the dict lookup reveals nothing useful.
        one = self._known.get(digest_of(text))
        if one is None:
            raise Unauthenticated(
                "the token belongs to a delegated agent after the end of its attempt; each lease creates a new one"
            )
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
    """Return a new token of an agent."""
    return PREFIX + secrets.token_hex(32)


# Delegated agents' sessions are exempt from the orchestrator mode: they do the work.
#
# A runner reports the agent's session once known (`agent.session`). Before that, and for any session, requests with the
# token of a leased job are exempt (`Modes.effective`). No other claim about a session is trusted. The delegating session
# is never exempt.

EXEMPT = timedelta(days=1)  # duration of an exemption: the agent may resume the session in the next job


class ModeExemptions(Protocol):
    """Switches the orchestrator mode off for a session: `Modes`."""

    async def let_work(self, principal: Principal, session_id: str, reason: str, until: datetime) -> None:
        """Switch the mode off for a session. Raise StoreUnavailable."""
        ...
