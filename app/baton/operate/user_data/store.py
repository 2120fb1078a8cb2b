"""Queries for everything that the database holds about one user, table by table."""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.operate import tables

_SECRET = {"digest", "agent_digest"}
"""Columns that are never exported."""
_NOT_DELETED = {"audit", "tokens", "users"}
"""Tables that a deletion leaves alone: changes must stay traceable, and a revoked token must stay refused."""


def concerning(user: str) -> dict[str, tuple[Table, ColumnElement[bool]]]:
    """Return each table that holds something about a user, with the condition for the user's rows."""
    name, found = storable(user), {}
    for table in tables.ALL:
        if table.name == "audit":
            found[table.name] = (table, table.c.actor == name)
        elif table.name == "users":
            found[table.name] = (table, table.c.name == name)
        elif table.name == "mode_settings":
            found[table.name] = (table, (table.c.user == name) | ((table.c.scope == "user") & (table.c.id == name)))
        elif table.name == "policy_layers":
            found[table.name] = (table, (table.c.tier == "user") & (table.c.name == name))
        elif "user" in table.c:
            found[table.name] = (table, table.c.user == name)
    return found


async def rows(database: Database, organisation: str, user: str, table: str) -> AsyncIterator[dict[str, Any]]:
    """Yield a table's rows about a user, without secret columns."""
    source, theirs = concerning(user)[table]
    query = select(*(column for column in source.c if column.name not in _SECRET))
    async with database.transaction() as connection:
        result = await connection.stream(query.where(source.c.organisation == organisation, theirs))
        async for row in result:
            yield {str(name): value for name, value in row._asdict().items()}


async def session_ids(database: Database, organisation: str, user: str) -> list[str]:
    """Return the ids of the sessions of a user's decisions."""
    decisions, theirs = concerning(user)["decisions"]
    query = select(decisions.c.session_id).where(decisions.c.organisation == organisation, theirs).distinct()
    async with database.transaction() as connection:
        return [row[0] for row in await connection.execute(query)]


async def remove(connection: AsyncConnection, organisation: str, user: str) -> dict[str, int]:
    """Delete a user's rows, except decisions, which may be many; return the number of rows by table."""
    deleted = {}
    for name, (table, of_user) in concerning(user).items():
        if name not in _NOT_DELETED and name != "decisions":
            result = await connection.execute(delete(table).where(table.c.organisation == organisation, of_user))
            deleted[name] = result.rowcount
    return deleted
