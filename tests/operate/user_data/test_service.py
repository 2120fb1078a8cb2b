"""Deleting what is kept about a person takes what Redis knows of their sessions with it, and of nobody else's."""

import json
from itertools import count

import msgspec
import pytest

from baton.clients.inventories import Inventories
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.events.feed import FEED
from baton.events.personal_events import PersonalEvents
from baton.events.reading import EventReader
from baton.events.redis_streams import bus
from baton.events.redis_streams.bus import Bounds, Bus, Publication
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.changes.announce import Changes
from baton.operate.user_data.service import UserData
from baton.people.users import Users
from baton.records.pipeline import store as decisions
from baton.sessions.history import History
from tests.support.records import record

ADMIN = Principal(user="root", role="admin")
ANN, BOB = Principal(user="ann"), Principal(user="bob")


SESSIONS = ("s1", "s2")


@pytest.fixture
def history(redis):
    return History(redis, ttl_s=3_600)


@pytest.fixture
def inventories(redis):
    return Inventories(redis, 3_600)


@pytest.fixture
async def user_data(database, redis, history, inventories):
    """Two sessions each of Ann and Bob, of which Redis knows the place and a background task."""
    changes = Changes(redis, database, "default")
    for person in (ANN, BOB):
        await decisions.add(database, [record(user=person.user, session_id=name) for name in SESSIONS])
        for name in SESSIONS:
            await history.begin(person, call(name), "d")
            await history.started(person, name, "task")
        await inventories.begin(person, "s1", "claude-code", "p", "1-1")
        await inventories.put(person, "claude-code", "1-1", "= user a.md\n name: a\n")
    users = Users(database, changes, organisation="default", team="default")
    return UserData(database, changes, users, history, inventories, PersonalEvents(redis))


def call(session_id):
    return ToolCall(
        client="api", session_id=session_id, tool_name="Read", tool_input={}, project="acme/shop", project_root="/shop"
    )


async def test_a_deleted_person_s_sessions_are_forgotten_and_nobody_else_s(user_data, history, inventories):
    known = await history.look(BOB, "s1")
    assert known.background_running == 1
    await user_data.delete(ADMIN, "ann")
    assert [len(await inventories.of_user(one)) for one in (ANN, BOB)] == [0, 1]
    for name in SESSIONS:
        forgotten = await history.look(ANN, name)
        assert (forgotten.background_running, forgotten.project, forgotten.root) == (0, "", "")
        assert await history.look(BOB, name) == known


_ids = count()


async def publish(redis, *whose):
    """Publish an event on an open, live topic and on a restricted one for each user."""
    events = [
        Publication(
            topic=topic,
            id=str(next(_ids)),
            user=user,
            team="t",
            event=json.dumps({"user": user, "topic": topic}).encode(),
        )
        for user in whose
        for topic in ("jobs", "claude-hook-event")
    ]
    await Bus(redis, Bounds(entries=10_000, bytes=1 << 24, age_s=3_600)).publish(events)


async def exported(user_data, principal, user):
    export = await user_data.export(principal, user)
    text = b"".join([part async for part in export.rows(msgspec.json.encode)])
    return [one["topic"] for one in json.loads(b"{" + text + b"}")["events"]]


async def test_a_person_s_events_are_in_their_export_and_whole_prompts_in_their_own_alone(user_data, redis):
    await publish(redis, "ann", "bob", "ann")
    assert await exported(user_data, ANN, "ann") == ["claude-hook-event"] * 2 + ["jobs"] * 2
    assert await exported(user_data, ADMIN, "ann") == ["jobs"] * 2
    assert await exported(user_data, msgspec.structs.replace(ADMIN, user="ann"), "bob") == ["jobs"]


async def test_deleted_events_leave_the_bus_its_counts_and_the_feed(user_data, redis, valkey_url):
    await publish(redis, *["ann", "bob"] * 600)
    before = await bus.counts(redis)
    record_of_ann = msgspec.msgpack.encode(record(user="ann"))
    await redis.call(b"XADD", FEED, b"*", b"r", record_of_ann)
    await redis.call(b"XADD", FEED, b"*", b"x", b"of another version")
    assert (await user_data.delete(ADMIN, "ann"))["events"] == 1_200
    assert await exported(user_data, ANN, "ann") == []
    assert len(await exported(user_data, BOB, "bob")) == 1_200
    after = await bus.counts(redis)
    for topic in ("jobs", "claude-hook-event"):
        assert after[topic]["entries"] == before[topic]["entries"] - 600
        assert after[topic]["bytes"] == before[topic]["bytes"] // 2
    left = b"".join(field for _, fields in await redis.call(b"XRANGE", FEED, b"-", b"+") for field in fields)
    assert b"ann" not in left
    assert b"bob" in left
    reader = EventReader(valkey_url)
    await reader.start()
    page = await reader.read(ADMIN, "jobs", cursor="", limit=200)
    assert len(page.events) == 200
    assert page.missed > 0
    await reader.stop()


async def test_while_redis_is_away_nothing_is_deleted_and_no_export_begins(user_data, redis):
    await redis.close()
    with pytest.raises(StoreUnavailable, match="nothing was deleted"):
        await user_data.delete(ADMIN, "ann")
    with pytest.raises(StoreUnavailable, match="events cannot be read"):
        await user_data.export(ADMIN, "ann")
