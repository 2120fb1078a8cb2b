import asyncio
from datetime import UTC, datetime

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect
from sqlmodel import SQLModel

from alembic import command
from baton.clients import last_heard_store
from baton.clients.last_heard_store import LastContact
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.operate import migrate, revisions, tables


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    if request.param == "sqlite":
        return Settings(database_url=f"sqlite:///{tmp_path / 'deep' / 'empty.db'}")
    return Settings(database_url=request.getfixturevalue("new_postgres")())


async def _names(database):
    async with database.transaction() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))


# SQLite does not describe an index over an expression, so it is compared on Postgres alone.
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
@pytest.mark.filterwarnings("ignore:autogenerate skipping:UserWarning")
async def test_migrations_make_what_the_code_expects(database):
    async with database.transaction() as connection:
        drift = await connection.run_sync(
            lambda sync: compare_metadata(
                MigrationContext.configure(sync, opts={"compare_type": True}), SQLModel.metadata
            )
        )
    assert drift == []


async def test_migrations_go_back_to_nothing_and_forth_again(empty):
    await migrate.upgrade(empty)
    database = Database(empty)
    assert await _names(database) == {table.name for table in tables.ALL} | {"alembic_version"}
    async with database.transaction() as connection:
        await connection.run_sync(lambda sync: command.downgrade(revisions.config(sync), "base"))
    assert await _names(database) == {"alembic_version"}
    await migrate.upgrade(empty)
    assert await _names(database) == {table.name for table in tables.ALL} | {"alembic_version"}
    await database.close()


async def test_data_of_the_first_schema_survives_going_back_and_forth(empty):
    await migrate.upgrade(empty)
    database = Database(empty)
    seen = LastContact(user="ada", client="codex", last_seen=datetime(2026, 1, 2, tzinfo=UTC), protocol="1")
    await last_heard_store.note(database, "acme", [seen])
    await migrate.downgrade(empty, "0001")
    assert "audit" not in await _names(database)
    assert await last_heard_store.load(database, "acme") == [seen]
    assert (await migrate.missing(empty))[0].startswith("0002")
    await migrate.upgrade(empty)
    assert await _names(database) == {table.name for table in tables.ALL} | {"alembic_version"}
    assert await last_heard_store.load(database, "acme") == [seen]
    assert await migrate.missing(empty) == []
    await database.close()


async def test_servers_that_start_at_once_migrate_once(empty):
    await asyncio.gather(*(migrate.upgrade(empty) for _ in range(4)))
    database = Database(empty)
    assert len(await _names(database)) == len(tables.ALL) + 1
    await database.close()
