"""The agent mode of sessions: which agent a session is delegated to now. The orchestrator mode is in `modes`."""

import msgspec

from baton.delegate.core.protocol import DEFAULT_MODE
from baton.delegate.core.stores import events as events_store
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import require
from baton.people.users import Users


class AgentMode(msgspec.Struct, frozen=True, kw_only=True):
    """A session's agent mode, `default_mode` while nothing is delegated, and the last job's provider, "" for none."""

    user: str
    session_id: str
    agent_mode: str = DEFAULT_MODE
    provider: str = ""


class AgentModes:
    """Reads the agent modes of sessions."""

    def __init__(self, database: Database, users: Users) -> None:
        self._database = database
        self._users = users

    async def get(self, principal: Principal, session_id: str, user: str = "", *, fresh: bool = True) -> AgentMode:
        """Return the agent mode of a session; without `user` the principal's own session comes first.

        With `fresh`, a session in which nobody has delegated yet counts as the principal's own.

        Raises:
            NotFound: If nothing was delegated in such a session that the principal may see.
            StoreUnavailable: If the database is away.
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
                    raise NotFound(f"nothing was delegated in session `{session_id[:100]}`")
                mode = await events_store.mode_of(connection, organisation, found[0], session_id)
                provider = await events_store.last_provider(connection, organisation, found[0], session_id)
        except DatabaseUnavailable:
            raise StoreUnavailable("sessions cannot be read now; try again") from None
        return AgentMode(user=found[0], session_id=session_id, agent_mode=mode or DEFAULT_MODE, provider=provider)
