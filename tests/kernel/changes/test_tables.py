"""The tables of settings, leadership and the audit log, on both databases."""

from datetime import UTC, datetime, timedelta

from baton.kernel.changes import announce, audit_store, write
from baton.rules.call.call import Principal

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


async def test_a_setting_has_its_last_value_and_version(database):
    assert await write.get(database, "default", "k") == ({}, 0)
    async with database.transaction() as connection:
        await write.put(connection, "default", "k", {"a": 1}, 1)
        await write.put(connection, "default", "k", {"a": 3}, 2)
        assert await write.get_with(connection, "default", "k") == ({"a": 3}, 2)
    assert await write.get(database, "default", "k") == ({"a": 3}, 2)
    assert await write.get(database, "another", "k") == ({}, 0)


async def test_one_of_many_leads_until_its_time_ends(database):
    hour = timedelta(hours=1)
    assert await announce.take_turn(database, "default", "purge", NOON, hour)
    assert not await announce.take_turn(database, "default", "purge", NOON + hour / 2, hour)
    assert await announce.take_turn(database, "another", "purge", NOON, hour)
    assert await announce.take_turn(database, "default", "purge", NOON + hour, hour)


async def test_audit_entries_are_found_by_time(database):
    async with database.transaction() as connection:
        await audit_store.add(connection, Principal(), action="a", kind="k", object="o")
    now = datetime.now(UTC)
    assert len(await audit_store.find_entries(database, "default", since=now - DAY, until=now + DAY)) == 1
    assert await audit_store.find_entries(database, "default", since=now + DAY) == []
    assert await audit_store.find_entries(database, "default", until=now - DAY) == []
