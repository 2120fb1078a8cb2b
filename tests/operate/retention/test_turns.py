"""One server at a time removes what is too old."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from baton.kernel.changes.announce import Changes
from baton.operate.retention import service as retention
from baton.operate.retention.service import PERIOD, Retention

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture
def look(database, redis, monkeypatch):
    """Let some servers look once each whether it is time; returns those that purged."""

    async def servers_look(names, now):
        purged = []

        async def looked_once(stop, _seconds):
            stop.set()

        monkeypatch.setattr(retention, "pause", looked_once)

        async def one(name):
            server = Retention(database, Changes(redis, database, "default"), "default", now=lambda: now)

            async def purge(_stop):
                purged.append(name)
                return {}

            monkeypatch.setattr(server, "purge", purge)
            await server.run(asyncio.Event())

        await asyncio.gather(*map(one, names))
        return purged

    return servers_look


async def test_of_many_servers_one_purges_and_none_again_within_the_hour(look):
    assert len(await look("abc", NOON)) == 1
    assert await look("abc", NOON + PERIOD - timedelta(seconds=1)) == []
    assert len(await look("abc", NOON + PERIOD)) == 1
