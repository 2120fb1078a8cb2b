"""Everything that the database keeps about one user, table by table. It does not say who may ask for it."""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.sql import Database, storable
from baton.operate import tables

_KEPT_BACK = {"digest"}
"""Columns that are nobody's to see."""
_STAYING = {"audit", "tokens", "users"}
"""Tables that a deletion leaves: who changed what must stay known, and a token must stay refused."""


def concerning(user: str) -> dict[str, tuple[Table, ColumnElement[bool]]]:
    """Tell, for each table that holds something about a user, which rows do."""
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
    """Give a table's rows about a user, one by one, without what is secret."""
    source, theirs = concerning(user)[table]
    query = select(*(column for column in source.c if column.name not in _KEPT_BACK))
    async with database.transaction() as connection:
        result = await connection.stream(query.where(source.c.organisation == organisation, theirs))
        async for row in result:
            yield {str(name): value for name, value in row._asdict().items()}


async def session_ids(database: Database, organisation: str, user: str) -> list[str]:
    """List the sessions that a user's decisions name."""
    decisions, theirs = concerning(user)["decisions"]
    query = select(decisions.c.session_id).where(decisions.c.organisation == organisation, theirs).distinct()
    async with database.transaction() as connection:
        return [row[0] for row in await connection.execute(query)]


async def remove(connection: AsyncConnection, organisation: str, user: str) -> dict[str, int]:
    """Delete what is kept about a user but for their decisions, which may be many; give the number of rows by table."""
    deleted = {}
    for name, (table, of_user) in concerning(user).items():
        if name not in _STAYING and name != "decisions":
            result = await connection.execute(delete(table).where(table.c.organisation == organisation, of_user))
            deleted[name] = result.rowcount
    return deleted
