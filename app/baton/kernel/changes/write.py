"""One change of shared state: its transaction, number and mandatory audit entry."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, table_of, upsert
from baton.kernel.changes import audit_store, numbers
from baton.rules.call.call import Principal


class SqlChange:
    """A change in progress. `connection` is its transaction; `kinds` are the kinds of state affected."""

    def __init__(self, connection: AsyncConnection, kind: str, principal: Principal, action: str, number: int) -> None:
        self.connection = connection
        self.kinds = [kind]
        self._kind = kind
        self.number = number  # the change's number within its first kind
        self._principal = principal
        self._action = action
        self._accounted_for = False

    async def also(self, kind: str, objects: Sequence[str] | None = None) -> None:
        """Include another kind of state in the same transaction. `objects` as for `concerns`."""
        self.kinds.append(kind)
        organisation = self._principal.organisation
        number = await numbers.raise_number(self.connection, organisation, kind)
        if objects is not None:
            await numbers.name_objects(self.connection, organisation, kind, number, objects)

    async def concerns(self, objects: Sequence[str]) -> None:
        """Name the changed objects of the first kind. Other processes reload only these."""
        await numbers.name_objects(self.connection, self._principal.organisation, self._kind, self.number, objects)

    async def missed(self, seen: int | None) -> list[str] | None:
        """Return the objects changed between `seen` and this change, or None to reload all."""
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
        """Write an audit entry, with secrets masked. `action` overrides the change's own.

        `before` is empty for a new object, `after` for a removed one.
        """
        await audit_store.add(
            self.connection,
            self._principal,
            action=action or self._action,
            object=object,
            before=before,
            after=after,
            reason=reason,
        )
        self._accounted_for = True

    def unchanged(self) -> None:
        """Declare that nothing changed: no audit entry, no notification."""
        self.kinds.clear()
        self._accounted_for = True

    def check_accounted_for(self) -> None:
        """Raise RuntimeError if the change has no audit entry."""
        if not self._accounted_for:
            raise RuntimeError(f"`{self._action}` wrote no audit entry; call `audit`, or `unchanged`")


@asynccontextmanager
async def write(database: Database, kind: str, principal: Principal, action: str) -> AsyncIterator[SqlChange]:
    """Open the transaction of a change to one kind of shared state. Commit at the block's end.

    For processes without Redis: others find the change by polling, within a second. Elsewhere use `Changes.write`.

    Args:
        database: The database.
        kind: The kind of state, as registered with `Changes.on`.
        principal: The person who makes the change.
        action: The audit action, such as `token.create`: object kind, dot, verb.

    Raises:
        DatabaseUnavailable: Nothing was changed.
        RuntimeError: The block ended without an audit entry. Nothing was changed.
    """
    async with database.transaction() as connection:
        # Comes first: it locks the kind's row, so that other servers cannot change data read by the block.
        number = await numbers.raise_number(connection, principal.organisation, kind)
        change = SqlChange(connection, kind, principal, action, number)
        yield change
        change.check_accounted_for()


# An organisation's own settings.


SETTINGS = table_of("organisation_settings", {"value": dict[str, Any], "version": int}, keys=("organisation", "key"))
"""An organisation's own settings. `version` counts the changes of one."""


async def get(database: Database, organisation: str, key: str) -> tuple[dict[str, Any], int]:
    """Read a setting and its version; ({}, 0) if never set."""
    async with database.transaction() as connection:
        return await get_with(connection, organisation, key)


async def get_with(connection: AsyncConnection, organisation: str, key: str) -> tuple[dict[str, Any], int]:
    """Read a setting and its version within a transaction; ({}, 0) if never set."""
    query = select(SETTINGS.c.value, SETTINGS.c.version).where(
        SETTINGS.c.organisation == organisation, SETTINGS.c.key == key
    )
    row = (await connection.execute(query)).first()
    return (row[0], row[1]) if row is not None else ({}, 0)


async def put(connection: AsyncConnection, organisation: str, key: str, value: dict[str, Any], version: int) -> None:
    """Store a version of a setting. Call it within a change (`kernel.changes.write`), which excludes others."""
    row = {"organisation": organisation, "key": key, "value": value, "version": version}
    await upsert(connection, SETTINGS, row)
