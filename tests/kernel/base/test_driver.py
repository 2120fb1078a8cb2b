"""Writing through a database's own driver: whole or not at all, with the cause of a failure."""

import asyncio
import contextlib
import sqlite3

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from baton.kernel.base import driver as drivers
from baton.kernel.base.driver import DriverUnavailable, RowsRefused, Writes, driver
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import database_url, driver_target

INSERT = {"sqlite": "INSERT INTO t (id, name) VALUES (?, ?)", "postgresql": "INSERT INTO t (id, name) VALUES ($1, $2)"}


def just(statements):
    """Return writes of statements that depend on no row before them."""
    return Writes("", [], lambda _: statements)


@pytest.fixture
async def writer(database):
    async with database.transaction() as connection:
        await connection.execute(text("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL)"))
    one = driver(driver_target(database.engine.url))
    yield one
    await one.close()
    async with database.transaction() as connection:
        await connection.execute(text("DROP TABLE IF EXISTS t"))


async def names(database):
    async with database.transaction() as connection:
        return [row[0] for row in await connection.execute(text("SELECT name FROM t ORDER BY id"))]


async def test_all_statements_are_one_transaction(writer, database):
    insert = INSERT[database.dialect]
    await writer.write(just([(insert, [(1, "a"), (2, "b")]), (insert, [(3, "c")])]))
    with pytest.raises(RowsRefused):
        await writer.write(just([(insert, [(4, "d")]), (insert, [(1, "again")])]))
    await writer.write(just([(insert, [(5, "e")])]))
    assert await names(database) == ["a", "b", "c", "e"]


KEEP = {
    "sqlite": "INSERT INTO t (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
    "postgresql": "INSERT INTO t (id, name) SELECT * FROM unnest($1::int[], $2::text[]) ON CONFLICT DO NOTHING RETURNING id",
}


async def test_dependent_rows_are_written_only_with_a_new_row(writer, database):
    insert = INSERT[database.dialect]
    seen = []

    def beside(new):
        seen.append(sorted(new))
        return [(insert, [(key + 10, f"beside {key}") for key in new])]

    await writer.write(Writes(KEEP[database.dialect], [(1, "a"), (2, "b")], beside))
    await writer.write(Writes(KEEP[database.dialect], [(2, "again"), (3, "c"), (3, "twice")], beside))
    assert seen == [[1, 2], [3]]
    assert await names(database) == ["a", "b", "c", "beside 1", "beside 2", "beside 3"]


@pytest.mark.parametrize("row", [(1, None), (2**70, "x"), (1, "half \ud800"), (1, {})], ids=repr)
async def test_rows_that_cannot_be_stored_are_at_fault_themselves(writer, database, row):
    with pytest.raises(RowsRefused):
        await writer.write(just([(INSERT[database.dialect], [row])]))
    await writer.write(just([(INSERT[database.dialect], [(7, "good")])]))
    assert await names(database) == ["good"]


async def test_a_missing_table_is_no_fault_of_the_rows(writer, database):
    with pytest.raises(DriverUnavailable):
        await writer.write(just([(INSERT[database.dialect].replace("INTO t", "INTO gone"), [(1, "a")])]))
    await writer.write(just([(INSERT[database.dialect], [(1, "a")])]))


async def test_a_locked_database_is_unavailable_until_released(tmp_path, monkeypatch):
    monkeypatch.setattr(drivers, "BUSY_S", 0.02)
    other = sqlite3.connect(tmp_path / "db", isolation_level=None)
    other.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR)")
    other.execute("BEGIN EXCLUSIVE")
    writer = driver(driver_target(make_url(f"sqlite+aiosqlite:///{tmp_path}/db")))
    with pytest.raises(DriverUnavailable):
        await writer.write(just([(INSERT["sqlite"], [(1, "a")])]))
    other.execute("ROLLBACK")
    await writer.write(just([(INSERT["sqlite"], [(1, "a")])]))
    await writer.close()
    other.close()


async def test_an_invalid_database_file_is_unavailable(tmp_path):
    (tmp_path / "db").write_text("no database " * 100)
    writer = driver(driver_target(make_url(f"sqlite+aiosqlite:///{tmp_path}/db")))
    with pytest.raises(DriverUnavailable):
        await writer.write(just([(INSERT["sqlite"], [(1, "a")])]))
    await writer.close()


async def test_it_connects_again_after_its_connection_was_ended(emptied_postgres):
    writer = driver(driver_target(database_url(Settings(database_url=emptied_postgres))))
    await writer.write(just([("SELECT $1::int", [(1,)])]))
    first = writer._connection
    ending = driver(driver_target(database_url(Settings(database_url=emptied_postgres))))
    mine = "datname = current_database() AND pid <> pg_backend_pid()"
    await ending.write(just([(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {mine}", [()])]))  # noqa: S608
    await ending.close()

    # Postgres ends a connection soon after it was asked to: a write sees it end, or the one after it finds it closed.
    async with asyncio.timeout(30):
        while writer._connection is first:
            with contextlib.suppress(DriverUnavailable):
                await writer.write(just([("SELECT $1::int", [(2,)])]))
    await writer.write(just([("SELECT $1::int", [(2,)])]))
    await writer.close()


async def test_a_refused_connection_is_an_error(unused_tcp_port):
    writer = driver(driver_target(make_url(f"postgresql+asyncpg://u:p@127.0.0.1:{unused_tcp_port}/d")))
    with pytest.raises(DriverUnavailable):
        await writer.write(just([("SELECT 1", [()])]))
    await writer.close()


def test_sqlalchemy_s_names_of_arguments_are_translated_for_the_driver():
    url = make_url("postgresql+asyncpg://u:p@h:5433/d?prepared_statement_cache_size=0&ssl=require")
    target = driver_target(url)
    assert target.arguments == {
        "user": "u", "password": "p", "host": "h", "port": 5433, "database": "d", "prepared_statement_cache_size": 0,
        "ssl": "require",
    }  # fmt: skip
    assert drivers.PostgresDriver(target.arguments)._arguments == {
        "user": "u", "password": "p", "host": "h", "port": 5433, "database": "d", "statement_cache_size": 0, "ssl": "require",
    }  # fmt: skip
