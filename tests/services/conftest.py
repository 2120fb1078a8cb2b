"""A recorder with its drain, on either database, and a Valkey that is empty afterwards."""

import pytest

from app.settings import Settings
from app.store.redis import Redis
from app.store.sql import Database
from tests.support.records import Both


@pytest.fixture
def make(database, valkey_url, redis):
    def make(url=valkey_url, **settings):
        return Both(Settings(**settings), url, database)

    return make


@pytest.fixture
async def sqlite(sqlite_url):
    database = Database(Settings(database_url=sqlite_url))
    yield database
    await database.close()


@pytest.fixture
async def empty_valkey(valkey_url):
    yield
    client = Redis(valkey_url, timeout_s=5)
    await client.start()
    await client.call(b"FLUSHALL")
    await client.close()
