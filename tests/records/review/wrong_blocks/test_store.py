"""The table of wrong blocks, on both databases."""

from datetime import UTC, datetime

import msgspec
import pytest
from uuid_utils import uuid7

from baton.people.users import RowScope
from baton.records.review import wrong_blocks as wrong_blocks_store
from baton.records.review.wrong_blocks import WrongBlock

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALL = RowScope()


def report(**fields):
    given = {"team": "t", "decision_id": str(uuid7()), "rule": "x/y", "user": "ann", "comment": "é", "at": NOON}
    return WrongBlock(id=str(uuid7()), **(given | fields))


async def test_a_report_comes_back_and_a_second_one_of_the_same_decision_is_none(database):
    first = report()
    assert await wrong_blocks_store.add(database, "default", first)
    assert not await wrong_blocks_store.add(database, "default", msgspec.structs.replace(first, id=str(uuid7())))
    assert await wrong_blocks_store.get(database, "default", ALL, first.id) == first
    assert await wrong_blocks_store.get(database, "another", ALL, first.id) is None


@pytest.mark.parametrize(
    ("scope", "seen"),
    [(ALL, "abc"), (RowScope(user="ann"), "a"), (RowScope(user="ann", team="red"), "ab"), (RowScope(team="none"), "")],
)
async def test_reports_are_seen_by_their_user_and_their_team(database, scope, seen):
    for name, user, team in (("a", "ann", "blue"), ("b", "bob", "red"), ("c", "cid", "blue")):
        await wrong_blocks_store.add(database, "default", report(user=user, team=team, comment=name))
    found = await wrong_blocks_store.find_wrong_blocks(database, "default", scope)
    assert {one.comment for one in found} == set(seen)


async def test_reports_are_filtered_and_paged(database):
    for number in range(5):
        await wrong_blocks_store.add(
            database, "default", report(rule="x/y" if number % 2 else "x/z", comment=str(number))
        )
    found = await wrong_blocks_store.find_wrong_blocks(database, "default", ALL, rule="x/z", limit=2)
    assert [one.comment for one in found] == ["4", "2"]
    rest = await wrong_blocks_store.find_wrong_blocks(database, "default", ALL, rule="x/z", before_id=found[-1].id)
    assert [one.comment for one in rest] == ["0"]


async def test_of_two_answers_to_one_version_of_a_report_one_is_stored(database):
    first = report()
    await wrong_blocks_store.add(database, "default", first)
    answer = msgspec.structs.replace(first, state="accepted", answer="yes", version=2)
    async with database.transaction() as connection:
        assert await wrong_blocks_store.replace(connection, "default", answer)
        assert not await wrong_blocks_store.replace(connection, "default", msgspec.structs.replace(answer, answer="no"))
    assert await wrong_blocks_store.get(database, "default", ALL, first.id) == answer
