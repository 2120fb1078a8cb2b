import asyncio
import gzip
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, insert, inspect, select, text
from sqlmodel import SQLModel

from alembic import command
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.modes import store as modes_store
from baton.operate import migrate, revisions, tables, unreleased
from baton.people import approvals, users_store
from baton.people.directory import Project
from baton.policies.store import LAYERS
from baton.rules.call.modes import ModeSetting


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


FIXTURES = Path(__file__).parents[1] / "fixtures" / "revision_0030"
"""Dumps of a database of the last unreleased revision but one, with two rows or more in each table."""
NEW_NAMES = {
    ("projects", "name"): "github.com/acme/shop",
    ("policy_layers", "name"): "github.com/acme/shop",
    ("patterns", "project"): "github.com/acme/shop",
    ("mode_settings", "id"): "github.com/acme/shop",
}
GONE = {"context_days", "routing_fits", "decision_rules", "job_permissions", "overrides"}
DIGESTS = {"mode_settings": "key", "patterns": "said"}


@pytest.fixture
async def filled(empty):
    """Return the settings of a database that is filled from a dump."""
    url = empty.database_url
    kind = "sqlite" if url.startswith("sqlite") else "postgres"
    script = gzip.decompress((FIXTURES / f"{kind}.sql.gz").read_bytes()).decode()
    if kind == "sqlite":
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
    else:
        connection = await asyncpg.connect(url)
        await connection.execute(script)
        await connection.close()
    return empty


async def _all_rows(settings):
    database = Database(settings)

    def read(sync):
        metadata = MetaData()
        metadata.reflect(sync)
        return {
            name: sorted((dict(row) for row in sync.execute(table.select()).mappings()), key=_order)
            for name, table in metadata.tables.items()
        }

    async with database.transaction() as connection:
        rows = await connection.run_sync(read)
    await database.close()
    return rows


def _order(row):
    """Order rows by what a conversion does not change."""
    return str([value for column, value in row.items() if column not in DIGESTS.values()])


async def _schema(settings):
    """Describe every table as the database knows it, whatever the order of columns."""
    database = Database(settings)

    def read(sync):
        found = inspect(sync)
        return {
            name: (
                {one["name"]: (str(one["type"]), one["nullable"], one["default"]) for one in found.get_columns(name)},
                found.get_pk_constraint(name)["constrained_columns"],
                sorted(map(_index, found.get_indexes(name))),
                found.get_foreign_keys(name),
                found.get_unique_constraints(name),
            )
            for name in found.get_table_names()
        }

    async with database.transaction() as connection:
        schema = await connection.run_sync(read)
    await database.close()
    return schema


def _index(one):
    options = {name: str(value) for name, value in one.get("dialect_options", {}).items()}
    # Postgres spells a restored condition with other casts.
    where = re.sub(r"::(character varying|text)(\[\])?|[()]", "", str(options))
    return (one["name"], bool(one["unique"]), str(one["column_names"]), str(one.get("expressions")), where)


def _expected(before):
    """Say what the rows of an old database become."""
    after = {name: [dict(row) for row in rows] for name, rows in before.items() if name not in GONE}
    after["project_aliases"] = []
    after["alembic_version"] = [{"version_num": "0032"}]
    after["freezes"] = after["approvals"] = after["exceptions"] = []
    for row in after["route_feedback"]:
        del row["agents"], row["features"]
    for row in after["decisions"]:
        row["repeats"] = 0
    for row in after["summed_hours"]:
        row["valid"] = False
    for row in after["event_webhooks"]:
        row |= {"format": "cloudevents", "console": ""}
    settings = after["organisation_settings"]
    after["organisation_settings"] = [one for one in settings if one["key"] == "retention"]
    for (name, column), new in NEW_NAMES.items():
        for row in after[name]:
            if row[column] == "github.com/Acme/Shop.git":
                row[column] = new
    return after


@pytest.mark.matrix(2)
@pytest.mark.parametrize("start", ["0030", "0031"])
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
async def test_a_filled_database_of_an_unreleased_revision_keeps_its_rows(filled, start):
    if start == "0031":
        database = Database(filled)
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '0031'"))
            await connection.execute(text(unreleased._ALIASES))
        await database.close()
    before = await _all_rows(filled)
    assert all(before.values()) or start == "0031", "an empty table proves nothing"
    assert [one[:4] for one in await migrate.missing(filled)] == ["0032"]
    await migrate.upgrade(filled)
    assert await migrate.missing(filled) == []
    expected, after = _expected(before), await _all_rows(filled)
    if start == "0031":  # its projects were renamed by the migration to it
        expected |= {name: before[name] for name, _ in NEW_NAMES}
    for name, column in DIGESTS.items() if start == "0030" else ():
        changed = [old[column] != new[column] for old, new in zip(expected[name], after[name], strict=True)]
        assert changed == [True, False], name
        for old, new in zip(expected[name], after[name], strict=True):
            old[column] = new[column]
    assert after == expected


async def test_a_question_that_waits_for_a_person_still_waits_after_the_conversion(filled):
    database = Database(filled)
    async with database.transaction() as connection:
        asked = "UPDATE job_permissions SET state = 'pending', job_id = 'id é 0' WHERE id = 'id é 0'"
        await connection.execute(text(asked))
    await migrate.upgrade(filled)
    async with database.transaction() as connection:
        (found,) = await approvals.find_approvals(connection)
    await database.close()
    assert (found.id, found.state, found.job, found.team) == ("id é 0", "waiting", "id é 0", "team é 0")
    assert (found.approvers, found.job_title, found.reading) == ("user:runner_user é 0", "description é 0", {})


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
async def test_a_converted_database_has_the_schema_of_a_new_one(filled, request, tmp_path):
    sqlite = filled.database_url.startswith("sqlite")
    new = Settings(
        database_url=f"sqlite:///{tmp_path / 'new.db'}" if sqlite else request.getfixturevalue("new_postgres")()
    )
    await migrate.upgrade(filled)
    await migrate.upgrade(new)
    assert await _schema(filled) == await _schema(new)
    if sqlite:
        assert _unreflected(filled) == _unreflected(new) != set()


def _unreflected(settings):
    """Return what SQLAlchemy does not read from SQLite: indexes over expressions, and tables without row ids."""
    query = (
        "SELECT name, CASE type WHEN 'index' THEN sql END FROM sqlite_master"
        " WHERE type = 'index' AND sql <> '' OR sql LIKE '%WITHOUT ROWID%'"
    )
    with closing(sqlite3.connect(settings.database_url.removeprefix("sqlite:///"))) as connection:
        return set(connection.execute(query))


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection:sqlalchemy.exc.SAWarning")
async def test_a_database_of_an_earlier_revision_is_refused_and_left_alone(filled):
    database = Database(filled)
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '0029'"))
    await database.close()
    before = await _all_rows(filled)
    with pytest.raises(ValueError, match="known revisions: `0032`"):
        await migrate.upgrade(filled)
    assert await _all_rows(filled) == before


async def test_servers_that_start_at_once_migrate_once(empty):
    await asyncio.gather(*(migrate.upgrade(empty) for _ in range(4)))
    database = Database(empty)
    assert len(await _names(database)) == len(tables.ALL) + 1
    await database.close()


async def test_stored_names_of_projects_are_folded_into_one_spelling(filled):
    database = Database(filled)
    old, new = "github.com:22/Acme/Shop", "github.com/acme/shop"
    now = datetime(2026, 1, 2, tzinfo=UTC)
    strict = ModeSetting(scope="project", id=old, enabled=True, level="strict", set_by="ada")
    own = ModeSetting(scope="user_project", user="ada", project=old, enabled=True, level="strict", set_by="ada")
    user = ModeSetting(scope="user", id="Host/Ada", enabled=True, level="strict", set_by="ada")
    async with database.transaction() as connection:
        await modes_store.change(connection, "acme", put=[strict, own, user])
        await users_store.put_row(connection, "acme", Project(name=old, team="web"))
        await users_store.put_row(connection, "acme", Project(name="git.example/Two", team="old"))
        await users_store.put_row(connection, "acme", Project(name="GIT.example/Two", team="gone"))
        for name, version in ((old, 1), (old, 2), ("Host/x", 1), ("host/x", 1)):
            values = {"organisation": "acme", "tier": "project", "name": name, "version": version, "files": {}}
            more = {"state": "active", "created_at": now, "created_by": "ada", "reason": ""}
            await connection.execute(insert(LAYERS).values(values | more))
    await migrate.upgrade(filled)
    async with database.transaction() as connection:
        settings = {one.key for one in await modes_store.load_with(connection, "acme", now)}
        assert settings == {("project", new, ""), ("user_project", "ada", new), ("user", "Host/Ada", "")}
        found = await modes_store.load_keys(connection, "acme", [("project", new, ""), ("user_project", "ada", new)])
        assert len(found) == 2
        projects = (await users_store.load_with(connection, "acme")).projects
        assert {name: one.team for name, one in projects.items()} == {new: "web", "git.example/Two": "old"}
        layer = LAYERS.c
        layers = await connection.execute(select(layer.name, layer.version).where(layer.organisation == "acme"))
        assert sorted(map(tuple, layers)) == [("Host/x", 1), (new, 1), (new, 2), ("host/x", 1)]
    await database.close()
