import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from baton.kernel.base.errors import StoreUnavailable, TooLongToFind
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors, database_url
from baton.kernel.redis.client import RedisUnavailable
from baton.machines import session_projects
from baton.machines.session_projects import LastContact
from baton.modes import store as modes
from baton.people import users_store
from baton.people.directory import Project
from baton.policies import store
from baton.rules.call.modes import ModeSetting
from tests.support.cases import every

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def changed(database, **what):
    """Change the settings of the mode."""
    async with database.transaction() as connection:
        await modes.change(connection, "default", **what)


@every(
    ("given", "driver"),
    [
        ("postgres://u:p@h/d", "postgresql+asyncpg"),
        ("postgresql://u:p@h/d", "postgresql+asyncpg"),
        ("postgresql+asyncpg://h/d", "postgresql+asyncpg"),
        ("sqlite:///x.db", "sqlite+aiosqlite"),
    ],
)
def test_a_url_gets_its_asynchronous_driver(given, driver):
    assert database_url(Settings(database_url=given)).drivername == driver


def test_the_default_is_sqlite_in_the_home_folder(tmp_path):
    assert database_url(Settings(home=tmp_path)).database == str(tmp_path / "baton.db")


def test_sslmode_reaches_asyncpg_under_its_own_name():
    assert dict(database_url(Settings(database_url="postgres://h/d?sslmode=require")).query) == {"ssl": "require"}


def test_an_unknown_database_is_refused_with_the_allowed_ones():
    with pytest.raises(ValueError, match="unknown database `mysql`; allowed: `postgresql://"):
        database_url(Settings(database_url="mysql://h/d"))


async def test_a_file_that_cannot_be_opened_is_one_error(no_database):
    with pytest.raises(DatabaseUnavailable):
        await no_database.look()
    with pytest.raises(DatabaseUnavailable):
        await modes.load_all(no_database, "default", NOON)


async def test_an_unavailable_store_has_the_given_detail(no_database):
    with pytest.raises(StoreUnavailable, match="try again"):
        async with no_database.transaction("try again"):
            pass
    for error in (DatabaseUnavailable("locked"), RedisUnavailable("hung")):
        with pytest.raises(StoreUnavailable, match="try again"), StoreErrors("try again"):
            raise error
        with pytest.raises(type(error)), StoreErrors(""):
            raise error


async def test_a_file_that_is_no_database_is_one_error(tmp_path):
    (tmp_path / "baton.db").write_bytes(b"no database" * 1_000)
    database = Database(Settings(home=tmp_path))
    with pytest.raises(DatabaseUnavailable, match="file is not a database"):
        await modes.load_all(database, "default", NOON)
    await database.close()


async def test_an_unavailable_server_is_one_error():
    database = Database(Settings(database_url="postgresql://127.0.0.1:1/none"))
    with pytest.raises(DatabaseUnavailable, match=r"`postgresql://127.0.0.1:1/none` is unavailable: \w"):
        await database.look()
    with pytest.raises(DatabaseUnavailable):
        await modes.load_all(database, "default", NOON)
    await database.close()


async def test_a_database_that_is_there_accepts_writes(database):
    assert not (await database.look())[1]


async def test_a_database_error_omits_the_statement_s_parameters(database):
    with pytest.raises((DBAPIError, DatabaseUnavailable)) as refused:
        async with database.transaction() as connection:
            await connection.execute(text("INSERT INTO nowhere VALUES (:said)"), {"said": "what a person typed"})
    assert "typed" not in str(refused.value)


async def test_mode_settings_come_back_as_they_were_put(database):
    setting = ModeSetting(
        scope="user_project",
        user="ann",
        project="git@host:team/app\0" + "x" * 5_000,
        enabled=True,
        level="strict",
        reason="because",
        expires_at=datetime(2026, 5, 1, 15, tzinfo=timezone(timedelta(hours=2))),
        activated_at=NOON,
        set_by="ann",
        set_at=NOON,
    )
    await changed(database, put=[setting, ModeSetting(scope="organisation")])
    kept = {one.scope: one for one in await modes.load_all(database, "default", NOON)}
    assert kept["organisation"] == ModeSetting(scope="organisation")
    assert kept["user_project"].expires_at == datetime(2026, 5, 1, 13, tzinfo=UTC)
    assert kept["user_project"].project == setting.project.replace("\0", "\ufffd")
    assert (kept["user_project"].level, kept["user_project"].activated_at) == ("strict", NOON)
    assert await modes.load_all(database, "another", NOON) == []
    assert [one.scope for one in await modes.load_all(database, "default", NOON + timedelta(hours=1))] == [
        "organisation"
    ]


async def test_a_setting_replaces_the_row_with_its_key(database):
    on = ModeSetting(scope="session", id="s", user="ann", enabled=True)
    off = ModeSetting(scope="session", id="s", user="ann", enabled=False)
    others = ModeSetting(scope="session", id="s", user="bob", enabled=True)
    await changed(database, put=[on, others])
    await changed(database, put=[off])
    assert sorted(one.enabled for one in await modes.load_all(database, "default", NOON)) == [False, True]
    await changed(database, remove=[off.key, ("team", "none", "")])
    assert await modes.load_all(database, "default", NOON) == [others]


async def test_a_naive_datetime_is_refused(database):
    setting = ModeSetting(scope="organisation", set_at=datetime(2026, 5, 1, 12))  # noqa: DTZ001
    with pytest.raises(Exception, match="without a timezone"):
        await changed(database, put=[setting])


async def test_a_client_s_last_contact_is_its_newest(database):
    later = NOON + timedelta(minutes=5)
    await session_projects.note_contacts(
        database, "default", [LastContact(user="ann", client="codex", last_seen=later, protocol="1")]
    )
    await session_projects.note_contacts(
        database,
        "default",
        [
            LastContact(user="ann", client="codex", last_seen=NOON),
            LastContact(user="bob", client="codex", last_seen=NOON),
        ],
    )
    ann = LastContact(user="ann", client="codex", last_seen=later, protocol="1")
    bob = LastContact(user="bob", client="codex", last_seen=NOON)
    assert await session_projects.load(database, "default") == [ann, bob]
    assert await session_projects.load(database, "default", "bob") == [bob]


async def test_revisions_keep_their_texts_and_come_back_when_activated_again(database):
    for minute, name in enumerate(["one", "two", "one"]):
        await store.note_revisions(database, "default", {name: {"a.yaml": name}}, NOON + timedelta(minutes=minute))
    found = await store.latest_revisions(database, "default")
    assert [(one.revision, one.first_at, one.activated_at) for one in found] == [
        ("one", NOON, NOON + timedelta(minutes=2)),
        ("two", NOON + timedelta(minutes=1), NOON + timedelta(minutes=1)),
    ]
    assert await store.revision_files(database, "default", "two") == {"a.yaml": "two"}
    assert await store.revision_files(database, "default", "three") is None


async def test_a_name_too_long_to_be_found_again_is_a_mistake_of_who_gave_it(database):
    endless = "".join(chr(0x4E00 + number * 7_919 % 20_011) for number in range(1_000))
    if database.dialect == "sqlite":
        async with database.transaction() as connection:
            await users_store.put_row(connection, "default", Project(name=endless, team="red"))
        return
    with pytest.raises(TooLongToFind):
        async with database.transaction() as connection:
            await users_store.put_row(connection, "default", Project(name=endless, team="red"))


async def test_an_existing_database_and_its_logs_are_closed_to_other_users(tmp_path):
    file = tmp_path / "baton.db"
    with closing(sqlite3.connect(file)) as old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute("CREATE TABLE t (x)")
        for end in ("", "-wal", "-shm"):
            os.chmod(f"{file}{end}", 0o644)  # noqa: PTH101
        database = Database(Settings(home=tmp_path))
        async with database.transaction() as connection:
            await connection.execute(text("INSERT INTO t VALUES (1)"))
        modes_found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        await database.close()
    assert modes_found == dict.fromkeys(("baton.db", "baton.db-wal", "baton.db-shm"), 0o600)
