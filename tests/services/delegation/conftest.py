"""A database of each kind that is emptied after each test: making one takes longer than most tests here."""

import shutil

import pytest
from sqlalchemy import delete

from app.settings import Settings
from app.store import tables
from app.store.sql import Database
from tests.support.delegating import World

_USED = ("audit", "graph", "job", "lease", "runner", "session", "task")
"""What the names of tables that these tests write to begin with."""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def kept_url(request, tmp_path_factory):
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("jobs") / "baton.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    yield request.getfixturevalue("kept_postgres")


@pytest.fixture
async def database(kept_url):
    database = Database(Settings(database_url=kept_url))
    yield database
    async with database.transaction() as connection:
        for table in tables.ALL:
            if table.name.startswith(_USED):
                await connection.execute(delete(table))
    await database.close()


@pytest.fixture
async def world(database, redis):
    return World(database, redis)
