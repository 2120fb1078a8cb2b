"""Readers of changes continue after any failure of a kind's owner."""

import asyncio

from baton.kernel.changes import numbers
from baton.kernel.changes.announce import Changes


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


async def test_what_breaks_one_look_does_not_end_the_looking(redis, database, monkeypatch, caplog):
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
