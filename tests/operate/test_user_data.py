"""Deleting what is kept about a person takes what Redis knows of their sessions with it, and of nobody else's."""

import pytest

from baton.clients.inventories import Inventories
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.kernel.changes.announce import Changes
from baton.operate.user_data import UserData
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
    return UserData(database, changes, users, history, inventories)


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
