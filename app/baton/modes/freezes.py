"""Freezes: refuse all or all changing tool calls of a scope until a time or until a person ends it."""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import Index, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.errors import Forbidden, PersonRequired
from baton.kernel.base.sql import Database, insert_into, row_of, table_of, types_of
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.audit_store import AUDIT
from baton.modes.request import ModeTarget
from baton.people.users import ASK_A_PERSON, Users, covers, require
from baton.rules.call.call import Principal
from baton.rules.call.modes import Freeze, strictest
from baton.shared.caller import Caller

KIND = "freezes"
Key = tuple[str, str, str]
_RANK = {"developer": 0, "lead": 1, "admin": 2}


FREEZES = table_of(
    "freezes", types_of(Freeze) | {"set_at": datetime}, Index("ix_freezes_organisation", "organisation"), keys=("key",)
)
"""The freezes; `key` is a digest of an organisation and a freeze's key."""


class Freezes:
    """All freezes of the organisation in memory; every change goes to SQL first."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        users: Users,
        *,
        organisation: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._organisation = organisation
        self._now = now
        self._known: dict[Key, Freeze] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read all freezes from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            query = select(FREEZES).where(FREEZES.c.organisation == self._organisation)
            self._known = {one.key: one for one in await self._database.read(query, Freeze)}

    def in_force(self, principal: Principal, project: str, session_id: str) -> Freeze | None:
        """Return the freeze of a call, the strictest of several; None for none."""
        if not self._known:
            return None
        return strictest(self._known.values(), principal, project, session_id, self._now())

    def live(self) -> list[Freeze]:
        """List all freezes in force."""
        now = self._now()
        return [one for one in self._known.values() if one.expires_at is None or one.expires_at > now]

    def concerning(self, principal: Principal) -> list[Freeze]:
        """List the freezes that may hold for a user, in any project and session."""
        return [one for one in self.live() if one.holds_for(principal, one.id, one.id)]

    def visible(self, principal: Principal) -> list[Freeze]:
        """List the freezes in force visible to a principal, by scope and name. Raise Forbidden."""
        require(principal, "modes.read")
        return sorted((one for one in self.live() if self._is_visible(principal, one)), key=lambda one: one.key)

    def _is_visible(self, principal: Principal, freeze: Freeze) -> bool:
        match freeze.scope:
            case "organisation":
                return True
            case "team" | "project":
                team = freeze.id if freeze.scope == "team" else self._users.project_team(freeze.id)
                return team in {"", principal.team} or covers(principal, "modes.read", user="", team=team)
        user = freeze.id if freeze.scope == "user" else freeze.user or freeze.set_by
        return covers(principal, "modes.read", user=user, team=self._users.team_of(user))

    async def set(self, caller: Caller, freeze: Freeze) -> Freeze:
        """Store a freeze, in the place of an earlier one of its scope and name.

        Raises:
            PersonRequired: An agent asks for it.
            Forbidden: Somebody with more rights has frozen the same.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        stored = msgspec.structs.replace(freeze, set_by=caller.principal.user, set_at=self._now())
        await self._change(caller.principal, freeze, stored, freeze.reason)
        return stored

    async def end(self, caller: Caller, where: ModeTarget, reason: str) -> None:
        """End a freeze, of a session whoever owns it. Ending an absent one is no error.

        Raises:
            PersonRequired: An agent asks for it.
            Forbidden: Somebody with more rights has frozen it.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        await self._change(caller.principal, where, None, reason)

    async def _change(self, actor: Principal, where: Freeze | ModeTarget, freeze: Freeze | None, reason: str) -> None:
        if actor.agent:
            raise PersonRequired(f"a freeze needs a person; {ASK_A_PERSON}")
        async with self._changes.write(KIND, actor, "freeze.set" if freeze else "freeze.end") as change:
            named = (FREEZES.c.scope == where.scope, FREEZES.c.id == where.id)
            rows = await change.connection.execute(
                select(FREEZES).where(FREEZES.c.organisation == self._organisation, *named)
            )
            found = [msgspec.convert(row._asdict(), Freeze) for row in rows]
            same = [one for one in found if one.user == where.user]
            before = next(iter(same or [one for one in found if not freeze and self._is_visible(actor, one)]), None)
            key = before.key if before else (where.scope, where.user, where.id)
            name = " ".join(filter(None, key))
            if before is not None:
                await self._check_rights(change.connection, actor, before, name)
            elif freeze is None:
                change.unchanged()
                return
            digest = sha256("".join(f"{len(part)}:{part}" for part in (self._organisation, *key)).encode()).hexdigest()
            await change.connection.execute(delete(FREEZES).where(FREEZES.c.key == digest))
            if freeze is not None:
                row_values = row_of(freeze, masked=("reason",)) | {"key": digest, "organisation": self._organisation}
                await change.connection.execute(insert_into(change.connection.dialect.name, FREEZES).values(row_values))
            await change.audit(name, before=_shown(before), after=_shown(freeze), reason=reason)

    async def _check_rights(self, connection: AsyncConnection, actor: Principal, freeze: Freeze, name: str) -> None:
        """Raise Forbidden if somebody with more rights has set a freeze, by the role in the audit log."""
        set_before = (
            AUDIT.c.organisation == self._organisation,
            AUDIT.c.action == "freeze.set",
            AUDIT.c.object == name,
        )
        newest = select(AUDIT.c.role).where(*set_before).order_by(AUDIT.c.id.desc()).limit(1)
        role = (await connection.execute(newest)).scalar_one_or_none() or "admin"
        if freeze.set_by != actor.user and _RANK.get(actor.role, 0) < _RANK.get(role, 0):
            raise Forbidden(f"`{freeze.set_by}` has frozen this as `{role}`; ask them, or another `{role}`, to end it")


def _shown(freeze: Freeze | None) -> dict[str, Any]:
    return {} if freeze is None else msgspec.structs.asdict(freeze)
