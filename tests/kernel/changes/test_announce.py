"""Readers of changes continue after any failure of a kind's owner."""

import asyncio

import pytest

from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import numbers
from baton.kernel.changes.announce import Changes
from tests.support.databases import opened


async def changed(database, *kinds):
    async with database.transaction() as connection:
        for kind in kinds:
            await numbers.raise_number(connection, "default", kind)


async def test_a_kind_that_is_added_while_another_is_read_is_read_as_well(redis, database):
    changes, read = Changes(redis, database, "default"), []

    async def first():
        read.append("first")
        changes.on("second", second)

    async def second():
        read.append("second")

    changes.on("first", first)
    await changed(database, "first", "second")
    await changes.catch_up()
    await changes.catch_up()
    assert read == ["first", "second"]


async def test_polling_continues_after_an_error(redis, database, monkeypatch, caplog):
    changes, read, stop = Changes(redis, database, "default"), asyncio.Event(), asyncio.Event()

    async def reload():
        read.set()

    changes.on("modes", reload)
    await changed(database, "modes")
    real, looks = numbers.numbers, []

    async def breaks_once(*arguments):
        looks.append(1)
        if len(looks) == 1:
            raise RuntimeError("once")
        return await real(*arguments)

    monkeypatch.setattr(numbers, "numbers", breaks_once)
    running = asyncio.create_task(changes.run(stop))
    await asyncio.wait_for(read.wait(), timeout=60)
    stop.set()
    await running
    assert "changes could not be looked for" in caplog.text


@pytest.mark.parametrize("settled_ns", [0, 10**18], ids=["files older than a moment", "files just written"])
async def test_sqlite_is_asked_for_changes_only_after_its_files_changed(redis, sqlite_url, monkeypatch, settled_ns):
    monkeypatch.setattr("baton.kernel.base.sql.SETTLED_NS", settled_ns)
    async with opened(sqlite_url) as database, opened(sqlite_url) as other:
        changes, read, asked = Changes(redis, database, "default"), [], []
        real = numbers.numbers

        async def counted(*arguments):
            asked.append(1)
            return await real(*arguments)

        async def reload():
            read.append("modes")
            if read == ["modes"]:
                raise DatabaseUnavailable("it was locked for a moment")

        monkeypatch.setattr(numbers, "numbers", counted)
        changes.on("modes", reload)
        for _ in range(5):  # the first one opens the files
            await changes.catch_up()
        assert len(asked) == (5 if settled_ns else 2)
        await changed(other, "modes")
        await changes.catch_up()
        await changes.catch_up()
        assert read == ["modes", "modes"], "a failed reload is repeated"
        asked.clear()
        changes.wake()
        await changes.catch_up()
        assert asked == [1], "a message is always followed"
