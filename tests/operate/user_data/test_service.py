"""Deleting a person's data includes their sessions' state in Redis, and no one else's."""

import json

import msgspec
import pytest

from baton.events.catalogue import TopicCatalogue
from baton.events.log import LOG, Emission, Log
from baton.events.personal_events import PersonalEvents
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.settings import Settings
from baton.kernel.changes.announce import Changes
from baton.machines.inventories import Inventories
from baton.operate.user_data import UserData
from baton.people.users import Users
from baton.records.pipeline import store as decisions
from baton.rules.call.call import Principal, ToolCall
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
    return UserData(
        database, changes, users, history, inventories, PersonalEvents(Log(redis), TopicCatalogue(Settings()))
    )


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


async def publish(redis, *whose):
    """Publish an event on an open topic and on a restricted one for each user."""
    emissions = [
        Emission(topic, "id", 0, "default", "t", user, b"{}")
        for user in whose
        for topic in ("jobs", "claude-hook-event")
    ]
    await Log(redis).append([msgspec.msgpack.encode(one) for one in emissions])


async def exported(user_data, principal, user):
    export = await user_data.export(principal, user)
    text = b"".join([part async for part in export.rows(msgspec.json.encode)])
    assert b":null" not in text
    return [one["type"].split(".")[1] for one in json.loads(b"{" + text + b"}")["events"]]


async def test_a_person_s_events_are_in_their_export_and_whole_prompts_in_their_own_alone(user_data, redis):
    await publish(redis, "ann", "bob", "ann")
    assert await exported(user_data, ANN, "ann") == ["jobs", "claude-hook-event"] * 2
    assert await exported(user_data, ADMIN, "ann") == ["jobs"] * 2
    assert await exported(user_data, msgspec.structs.replace(ADMIN, user="ann"), "bob") == ["jobs"]


async def test_deleted_entries_leave_the_log_stored_or_not(user_data, redis):
    await publish(redis, *["ann", "bob"] * 600)
    log = Log(redis)
    await log.done(await log.take())
    await log.append([msgspec.msgpack.encode(record(user="ann"))])
    await redis.call(b"XADD", LOG, b"*", b"x", b"of another version")
    assert (await user_data.delete(ADMIN, "ann"))["events"] == 1_201
    assert await exported(user_data, ANN, "ann") == []
    assert len(await exported(user_data, BOB, "bob")) == 1_200
    left = b"".join(field for _, fields in await redis.call(b"XRANGE", LOG, b"-", b"+") for field in fields)
    assert b"ann" not in left
    assert b"bob" in left


async def test_while_redis_is_away_nothing_is_deleted_and_no_export_begins(user_data, redis):
    await redis.close()
    with pytest.raises(StoreUnavailable, match="nothing was deleted"):
        await user_data.delete(ADMIN, "ann")
    with pytest.raises(StoreUnavailable, match="events cannot be read"):
        await user_data.export(ADMIN, "ann")
