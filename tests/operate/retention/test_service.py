"""What is purged, and by which server."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from baton.clients import last_heard_store
from baton.clients.last_heard_store import LastContact
from baton.engine.call.modes import ModeSetting
from baton.engine.call.principal import Principal
from baton.kernel.changes import leadership
from baton.kernel.changes.announce import Changes
from baton.modes import store as modes
from baton.operate.retention.service import Retention, RetentionDays
from baton.records.pipeline import store as decisions
from tests.support.databases import opened
from tests.support.records import record as made

ADMIN = Principal(user="ada", role="admin")


def record(**fields):
    given = {
        "at": datetime.now(UTC), "organisation": "default", "team": "red", "user": "dora", "client": "codex",
        "event": "PreToolUse", "session_id": "s", "tool": "Edit",
    }  # fmt: skip
    return made(**(given | fields))


@pytest.fixture
async def database(sqlite_url):
    """One kind is enough here: `tests/store` runs the queries on both."""
    async with opened(sqlite_url) as database:
        yield database


async def test_of_two_servers_one_purges_and_keeps_to_the_setting(database, redis):
    old, young = (record(at=datetime.now(UTC) - timedelta(days=days)) for days in (31, 29))
    await decisions.add(database, [old, young])
    servers = [Retention(database, Changes(redis, database, "default"), "default") for _ in range(2)]
    await servers[0].put(ADMIN, RetentionDays(decisions_days=30), version="0", reason="r")
    stops = [asyncio.Event(), asyncio.Event()]
    running = [asyncio.create_task(one.run(stop)) for one, stop in zip(servers, stops, strict=True)]
    while await decisions.get(database, "default", old.id) is not None:  # noqa: ASYNC110 - SQL has no event
        await asyncio.sleep(0.01)
    for stop in stops:
        stop.set()
    await asyncio.gather(*running)
    assert await decisions.get(database, "default", young.id) == young


async def test_of_several_servers_one_purges_a_period(database, redis, monkeypatch):
    """All of them look several times within the hour that the first one leads."""
    monkeypatch.setattr("baton.operate.retention.service.LOOK_S", 0.001)
    purges, looks = [], []

    class Counted(Retention):
        async def purge(self, stop):
            purges.append(self)

    take = leadership.take

    async def noted(*arguments):
        looks.append(await take(*arguments))
        return looks[-1]

    monkeypatch.setattr(leadership, "take", noted)
    stop = asyncio.Event()
    servers = [Counted(database, Changes(redis, database, "default"), "default") for _ in range(3)]
    running = [asyncio.create_task(one.run(stop)) for one in servers]
    while len(looks) < 9:  # noqa: ASYNC110 - nothing tells of a look
        await asyncio.sleep(0.001)
    stop.set()
    await asyncio.gather(*running)
    assert len(purges) == 1


async def test_what_is_purged_is_counted_by_kind(database, redis):
    now = datetime.now(UTC)
    await decisions.add(database, [record(at=now - timedelta(days=400))])
    agents = [
        ModeSetting(scope="session", id=name, expires_at=now + timedelta(hours=h)) for name, h in (("a", -1), ("b", 1))
    ]
    async with database.transaction() as connection:
        await modes.change(connection, "default", put=[*agents, ModeSetting(scope="team", id="red")])
    heard = [
        LastContact(user="dora", client=name, last_seen=now - timedelta(days=days))
        for name, days in (("a", 366), ("b", 8))
    ]
    await last_heard_store.note(database, "default", heard)
    purged = await Retention(database, Changes(redis, database, "default"), "default").purge(asyncio.Event())
    assert {kind: number for kind, number in purged.items() if number} == {"decisions": 1, "modes": 1, "clients": 1}
    assert [one.client for one in await last_heard_store.load(database, "default")] == ["b"]
    assert {one.id for one in await modes.load_all(database, "default", now - timedelta(hours=2))} == {"b", "red"}
