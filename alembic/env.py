"""How alembic runs: on the connection that `baton.operate.migrate` hands over, else on the settings' database."""

import asyncio
from typing import Literal

from sqlalchemy import Connection
from sqlmodel import AutoString, SQLModel

from alembic import context
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, UTCDateTime
from baton.operate import tables

assert tables.ALL  # noqa: S101 - imported so that every table is known


def spell(kind: str, item: object, _: object) -> str | Literal[False]:
    """Spell our types as plain ones: a migration must not change when the code does."""
    if kind == "type" and isinstance(item, UTCDateTime):
        return "sa.DateTime(timezone=True)"
    return "sa.String()" if kind == "type" and isinstance(item, AutoString) else False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=SQLModel.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
        render_item=spell,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_on_settings() -> None:
    database = Database(Settings())
    async with database.transaction() as connection:
        await connection.run_sync(run)
    await database.close()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    asyncio.run(run_on_settings())
