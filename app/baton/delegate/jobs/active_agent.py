"""The agent mode of sessions: which agent a session is handed to now. It is not the orchestrator's mode (`modes`)."""

import msgspec

from baton.delegate.core import events_store
from baton.delegate.core.protocol import DEFAULT_MODE
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import require
from baton.people.users import Users


class AgentMode(msgspec.Struct, frozen=True, kw_only=True):
    """A session's mode, `default_mode` while nothing is delegated, and the agent that spoke last, "" for none."""

    user: str
    session_id: str
    agent_mode: str = DEFAULT_MODE
    provider: str = ""


class AgentModes:
    """Reads what the jobs of a session have left."""

    def __init__(self, database: Database, users: Users) -> None:
        self._database = database
        self._users = users

    async def get(self, principal: Principal, session_id: str, user: str = "", *, fresh: bool = True) -> AgentMode:
        """Give the mode of a session; without `user` the principal's own comes first.

        A `fresh` session, in which nobody has delegated anything, is the principal's own.

        Raises:
            NotFound: nothing was delegated in a session that the principal may see.
            StoreUnavailable: the database is away.
        """
        require(principal, "jobs.read")
        organisation = principal.organisation
        try:
            async with self._database.transaction() as connection:
                owners = await events_store.owners(connection, organisation, session_id)
                if fresh and not owners and user in {"", principal.user}:
                    return AgentMode(user=principal.user, session_id=session_id)
                found = [
                    owner
                    for owner in sorted(owners, key=lambda owner: owner != principal.user)
                    if user in {"", owner} and self._users.covers(principal, "jobs.read", owner)
                ]
                if not found:
                    raise NotFound(f"nothing was delegated in a session `{session_id[:100]}`")
                mode = await events_store.mode_of(connection, organisation, found[0], session_id)
                provider = await events_store.last_provider(connection, organisation, found[0], session_id)
        except DatabaseUnavailable:
            raise StoreUnavailable("sessions cannot be read now; try again") from None
        return AgentMode(user=found[0], session_id=session_id, agent_mode=mode or DEFAULT_MODE, provider=provider)
