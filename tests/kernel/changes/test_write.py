"""A change of shared state is stored with its number and its audit entry, or not at all."""

import asyncio

import pytest

from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import audit_store, numbers, write
from baton.kernel.changes.announce import Changes
from baton.rules.call.call import Principal

ALICE = Principal(organisation="default", user="alice", role="lead")


@pytest.fixture
def changes(redis, database):
    return Changes(redis, database, "default")


async def entries(database):
    return [
        (one.action, one.kind, one.object, one.before, one.after, one.reason)
        for one in await audit_store.find_entries(database, "default")
    ]


async def test_a_change_is_numbered_audited_and_read_again(changes, database):
    read = []

    async def reload():
        read.append(await entries(database))

    changes.on("tokens", reload)
    async with changes.write("tokens", ALICE, "token.create") as change:
        await change.audit("t1", after={"user": "bob"}, reason="new colleague")
    assert await numbers.numbers(database, "default") == {"tokens": 1}
    entry = ("token.create", "token", "t1", {}, {"user": "bob"}, "new colleague")
    assert read == [[entry]]  # after the commit


async def test_a_change_without_an_audit_entry_is_not_stored(changes, database):
    with pytest.raises(RuntimeError, match="wrote no audit entry"):
        async with changes.write("tokens", ALICE, "token.create") as change:
            await audit_store.add(change.connection, ALICE, action="a", kind="k", object="o")  # something stored
    assert await numbers.numbers(database, "default") == {}
    assert await entries(database) == []


async def test_an_error_within_a_change_rolls_it_back(changes, database):
    async def make():
        async with changes.write("tokens", ALICE, "token.create") as change:
            await change.audit("t1")
            raise KeyError("not there")

    with pytest.raises(KeyError, match="not there"):
        await make()
    assert await numbers.numbers(database, "default") == {}
    assert await entries(database) == []


async def test_without_a_change_nothing_is_announced_or_read(changes, database):
    async def reload():
        pytest.fail("nothing was changed")

    changes.on("tokens", reload)
    async with changes.write("tokens", ALICE, "token.create") as change:
        change.unchanged()
    assert await entries(database) == []


async def test_a_change_of_two_kinds_has_each_read_again_and_may_name_each_thing_done(changes, database):
    read = []

    async def tokens():
        read.append("tokens")

    async def users():
        read.append("users")

    changes.on("tokens", tokens)
    changes.on("users", users)
    async with changes.write("tokens", ALICE, "token.create") as change:
        await change.also("users")
        await change.audit("bob", action="user.put")
        await change.audit("t1")
    assert read == ["tokens", "users"]
    assert await numbers.numbers(database, "default") == {"tokens": 1, "users": 1}
    assert [one[:3] for one in await entries(database)] == [
        ("token.create", "token", "t1"),
        ("user.put", "user", "bob"),
    ]


async def test_an_unavailable_database_refuses_the_change(changes):
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        async with changes.write("tokens", ALICE, "token.create"):
            raise DatabaseUnavailable("away")


async def test_a_stored_change_is_no_failure_when_it_cannot_be_read_again_at_once(changes, database):
    async def reload():
        raise DatabaseUnavailable("away")

    changes.on("tokens", reload)
    async with changes.write("tokens", ALICE, "token.create") as change:
        await change.audit("t1")
    assert len(await entries(database)) == 1


async def test_of_changes_at_the_same_time_each_starts_from_the_one_before(redis, database):
    async def count(server):
        async with server.write("counts", ALICE, "count.raise") as change:
            value, version = await write.get_with(change.connection, "default", "counts")
            await asyncio.sleep(0.01)  # whoever could read now would read the same
            after = {"n": value.get("n", 0) + 1}
            await write.put(change.connection, "default", "counts", after, version + 1)
            await change.audit("counts", after=after)

    await asyncio.gather(*(count(Changes(redis, database, "default")) for _ in range(4)))
    assert await write.get(database, "default", "counts") == ({"n": 4}, 4)
