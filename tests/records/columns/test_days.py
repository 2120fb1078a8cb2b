"""Days in one piece: analytics with them equal those with hours and with rows, after any change."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import delete, select, update

from baton.operate import retention as retention_store
from baton.records.columns import hours
from baton.records.columns.tables import COLUMNS, DAY_COLUMNS, SUMMED, SUMMED_DAYS
from baton.records.columns.writer import ColumnWriter, write_day, write_hour
from baton.records.pipeline import search
from baton.records.pipeline import store as decisions
from baton.records.pipeline.store import Filters
from tests.records.columns.test_columns import (
    HOUR,
    LATER,
    NOON,
    PERIODS,
    a_persons_deletion,
    answers,
    differences,
    late_outcome,
    late_record,
    summed,
    week,
)

pytestmark = pytest.mark.slow("stores decisions of many days")

DAY = hours.hour_of(NOON) // 24
AFTERWARDS = NOON + 48 * HOUR
ACROSS = {
    "across days": (NOON - 24 * HOUR, LATER + 24 * HOUR),
    "from one day into the next": (NOON + HOUR / 3, NOON + 20.5 * HOUR),
    "the day": (NOON - 12 * HOUR, NOON + 12 * HOUR),
}
ONE = ("across days",)


@pytest.fixture(autouse=True)
def _periods(monkeypatch):
    for name, period in ACROSS.items():
        monkeypatch.setitem(PERIODS, name, period)


def days():
    """Return decisions of two days and a half; the day of `NOON` is whole."""
    return week(NOON - 30 * HOUR, timedelta(minutes=75))


async def written(database):
    """Return the days that are in one piece and have decisions."""
    await summed(database, AFTERWARDS)
    async with database.transaction() as connection:
        valid = select(SUMMED_DAYS.c.day).where(SUMMED_DAYS.c.valid)
        return set((await connection.execute(valid)).scalars()) & set(await days_with_columns(database))


async def days_with_columns(database):
    async with database.transaction() as connection:
        return set((await connection.execute(select(DAY_COLUMNS.c.day))).scalars())


@pytest.mark.matrix(3)
@pytest.mark.parametrize("period", [*PERIODS, *ACROSS])
async def test_analytics_say_the_same_with_days_as_without(database, period):
    await decisions.add(database, days())
    before = await answers(database, [period])
    assert await written(database) == {DAY, DAY + 1}
    assert differences(before, await answers(database, [period])) == ""
    async with database.transaction() as connection:
        await connection.execute(delete(COLUMNS).where(COLUMNS.c.hour // 24 == DAY))
    by_hour = {name for name in before if " hour " in name or " minute " in name}
    without_hours = await answers(database, [period])
    assert differences({name: one for name, one in before.items() if name not in by_hour}, without_hours) == ""


async def retention(database, stored):
    assert await retention_store.purge_decisions(database, "default", NOON + 2.5 * HOUR) == 26


@pytest.mark.matrix(4)
@pytest.mark.parametrize("change", [late_record, late_outcome, retention, a_persons_deletion])
async def test_a_later_change_of_a_day_is_counted_at_once(database, change):
    stored = days()
    await decisions.add(database, stored)
    await written(database)
    before = await answers(database, ONE)
    await change(database, stored)
    at_once = await answers(database, ONE)
    assert at_once != before
    await written(database)
    assert differences(at_once, await answers(database, ONE)) == ""
    async with database.transaction() as connection:
        await connection.execute(SUMMED.delete())
    assert differences(at_once, await answers(database, ONE)) == ""


async def test_a_day_is_written_again_after_a_late_outcome(database):
    stored = days()
    await decisions.add(database, stored)
    await written(database)
    late = next(one for one in stored if hours.hour_of(one.at) // 24 == DAY and one.tool == "Bash")
    async with database.transaction() as connection:
        await connection.execute(update(SUMMED).where(SUMMED.c.hour == hours.hour_of(late.at)).values(valid=False))
    async with database.transaction() as connection:
        await write_hour(connection, "default", hours.hour_of(late.at))
    assert DAY not in await days_with_columns(database)
    assert DAY in await written(database)


async def test_a_deleted_person_is_in_no_day(database):
    await decisions.add(database, days())
    await written(database)
    assert await _days_that_name(database, b"u1")
    await retention_store.remove_decisions_of(database, "default", "u1")
    assert not await _days_that_name(database, b"u1")
    assert DAY in await written(database)
    assert not await _days_that_name(database, b"u1")


async def _days_that_name(database, user):
    async with database.transaction() as connection:
        users = select(DAY_COLUMNS.c.day, DAY_COLUMNS.c.data).where(DAY_COLUMNS.c.column == "user")
        return [row.day for row in await connection.execute(users) if user in row.data]


async def test_a_day_with_a_stale_hour_is_not_written(database):
    await decisions.add(database, days())
    await written(database)
    await late_record(database, [])
    await ColumnWriter(database, "default").write_day(DAY)
    assert DAY not in await days_with_columns(database)


async def test_a_search_finds_what_lost_its_columns_meanwhile(database, monkeypatch):
    await decisions.add(database, days())
    assert DAY in await written(database)
    wanted, read, looks = Filters(tool="Bash", until=NOON + 24 * HOUR), search.with_ids, []
    found = await decisions.find_records(database, "default", wanted)

    async def late(connection, *given):
        await connection.execute(update(SUMMED).values(valid=False))
        looks.append(await read(connection, *given))
        return looks[-1]

    monkeypatch.setattr(search, "with_ids", late)
    assert await decisions.find_records(database, "default", wanted) == found
    assert found[0]
    assert {type(one).__name__ for one in looks} == {"Gap"}


async def test_a_day_whose_writing_was_broken_off_is_as_before(database):
    await decisions.add(database, days())
    before = await answers(database, ONE)
    await written(database)

    with pytest.raises(ZeroDivisionError):
        await _break_off(database)
    assert DAY in await days_with_columns(database)
    assert differences(before, await answers(database, ONE)) == ""


async def _break_off(database):
    async with database.transaction() as connection:
        await write_day(connection, "default", DAY)
        await connection.execute(DAY_COLUMNS.delete())
        raise ZeroDivisionError


async def test_days_before_the_first_decision_go(database):
    await decisions.add(database, days())
    await written(database)
    await retention_store.purge_decisions(database, "default", NOON + 2 * HOUR)
    assert await written(database) == {DAY + 1}
    async with database.transaction() as connection:
        left = set((await connection.execute(select(SUMMED_DAYS.c.day))).scalars())
    assert DAY - 1 not in left


async def test_a_deletion_waits_while_its_day_is_written(database):
    if database.dialect == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    await decisions.add(database, days())
    await written(database)
    async with database.transaction() as connection:
        await write_day(connection, "default", DAY)
        deletion = asyncio.create_task(retention_store.remove_decisions_of(database, "default", "u1"))
        await asyncio.sleep(0.3)
        assert not deletion.done()
    await deletion
    assert not await _days_that_name(database, b"u1")
