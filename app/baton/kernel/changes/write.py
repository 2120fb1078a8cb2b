"""One change of shared state: its transaction, its number, and the audit entry without which it is not stored."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from baton.engine.call.principal import Principal
from baton.kernel.base.sql import Database
from baton.kernel.changes import audit_store, numbers


class Change:
    """A change while it is made: `connection` is its transaction, `kinds` are the kinds of state that it changes."""

    def __init__(self, connection: AsyncConnection, kind: str, principal: Principal, action: str, number: int) -> None:
        self.connection = connection
        self.kinds = [kind]
        self._kind = kind
        self.number = number
        """The change's number within its first kind."""
        self._principal = principal
        self._action = action
        self._accounted_for = False

    async def also(self, kind: str, objects: Sequence[str] | None = None) -> None:
        """Change another kind of state in the same transaction; `objects` are named as `concerns` does."""
        self.kinds.append(kind)
        organisation = self._principal.organisation
        number = await numbers.raise_number(self.connection, organisation, kind)
        if objects is not None:
            await numbers.name_objects(self.connection, organisation, kind, number, objects)

    async def concerns(self, objects: Sequence[str]) -> None:
        """Name the objects of the first kind that the change concerns: other processes read those alone again."""
        await numbers.name_objects(self.connection, self._principal.organisation, self._kind, self.number, objects)

    async def missed(self, seen: int | None) -> list[str] | None:
        """Return the objects that changed between a number and this change, None where all must be read again."""
        if seen is None:
            return None
        organisation = self._principal.organisation
        return await numbers.objects_since(self.connection, organisation, self._kind, seen, self.number - 1)

    async def audit(
        self,
        object: str,  # noqa: A002 - the column's name
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        reason: str = "",
        action: str = "",
    ) -> None:
        """Write an audit entry; secrets in its texts are masked.

        Args:
            object: What was changed, such as a token's id or a team's name.
            before: What it was, nothing if it was not there.
            after: What it is now, nothing if it was removed.
            reason: Why the person changed it.
            action: What was done, where a change does more than the one thing that it began with.
        """
        action = action or self._action
        await audit_store.add(
            self.connection,
            self._principal,
            action=action,
            kind=action.partition(".")[0],
            object=object,
            before=before,
            after=after,
            reason=reason,
        )
        self._accounted_for = True

    def unchanged(self) -> None:
        """State that there was nothing to change, so that no audit entry is needed and nobody is told."""
        self.kinds.clear()
        self._accounted_for = True

    def check_accounted_for(self) -> None:
        """Raise RuntimeError if the change has no audit entry."""
        if not self._accounted_for:
            raise RuntimeError(f"`{self._action}` wrote no audit entry; call `audit`, or `unchanged`")


@asynccontextmanager
async def write(database: Database, kind: str, principal: Principal, action: str) -> AsyncIterator[Change]:
    """Open the transaction of a change of one kind of shared state, committed at the end of the block.

    A process without Redis uses this one: other processes find the change by its number, within a second. Elsewhere
    use `Changes.write`.

    Args:
        database: Where the change is stored.
        kind: The kind of state, as `Changes.on` knows it.
        principal: Who makes the change.
        action: What is done, such as `token.create`: the kind of object for the audit log, a dot, a verb.

    Raises:
        DatabaseUnavailable: The database is away; nothing was changed.
        RuntimeError: The block ended without an audit entry; nothing was changed.
    """
    async with database.transaction() as connection:
        # First, because it locks the kind's row: what the block reads cannot be changed by another server meanwhile.
        number = await numbers.raise_number(connection, principal.organisation, kind)
        change = Change(connection, kind, principal, action, number)
        yield change
        change.check_accounted_for()
