import asyncio

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect
from sqlmodel import SQLModel

from alembic import command
from app.settings import Settings
from app.store import migrate, tables
from app.store.sql import Database


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request, tmp_path):
    if request.param == "sqlite":
        return Settings(database_url=f"sqlite:///{tmp_path / 'deep' / 'empty.db'}")
    return Settings(database_url=request.getfixturevalue("new_postgres")())


async def _names(database):
    async with database.transaction() as connection:
        return set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))


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
        await connection.run_sync(lambda sync: command.downgrade(migrate.config(sync), "base"))
    assert await _names(database) == {"alembic_version"}
    await migrate.upgrade(empty)
    assert await _names(database) == {table.name for table in tables.ALL} | {"alembic_version"}
    await database.close()


async def test_servers_that_start_at_once_migrate_once(empty):
    await asyncio.gather(*(migrate.upgrade(empty) for _ in range(4)))
    database = Database(empty)
    assert len(await _names(database)) == len(tables.ALL) + 1
    await database.close()
