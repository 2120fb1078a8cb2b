"""The limits of a replay's numbers, and its message while the database is unavailable."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from sqlalchemy import insert

from baton.kernel.base.errors import StoreUnavailable
from baton.people.users import RowScope
from baton.policies.in_force import Combinations, InForce
from baton.records.columns.reading import Period
from baton.records.pipeline import store as decisions
from baton.records.replay import rule_hits_store
from baton.records.replay.api import ReplayBody
from baton.records.replay.service import Replay, Summary
from baton.records.review.wrong_blocks import WRONG_BLOCKS
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from tests.support.records import record

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("field", "least", "most"), [("version", 1, 2**31 - 1), ("limit", 1, 1_000_000)], ids=["version", "limit"]
)
def test_a_number_is_taken_up_to_its_bounds(field, least, most):
    for number in (least, most):
        assert getattr(ReplayBody(**{field: number}), field) == number
    for number in (least - 1, most + 1):
        with pytest.raises(ValidationError, match=field):
            ReplayBody(**{field: number})


def test_a_replay_begins_at_nought():
    empty = Summary()
    assert (empty.read, empty.replayed, empty.changed, empty.by_tool_alone, empty.truncated) == (0, 0, 0, 0, False)


async def test_a_replay_without_the_database_says_so(no_database):
    active = SimpleNamespace(revision="r")
    policies = SimpleNamespace(combinations=lambda: Combinations(InForce(active), {}))
    replay = Replay(no_database, policies)
    admin = Principal(user="root", role="admin")
    with pytest.raises(StoreUnavailable):
        async for _ in replay.run(admin, Combinations(InForce(active), {}), Period(NOON, NOON + DAY), 10):
            pass


def at(moment, **fields):
    return record(at=moment, **fields)


def wrong_block(number, rule, **fields):
    given = {
        "id": str(number), "organisation": "default", "team": "web", "decision_id": str(number), "rule": rule, "user": "ann", "comment": "",
        "at": NOON, "state": "open", "answer": "", "resolved_by": "", "resolved_at": None, "version": 1,
    }  # fmt: skip
    return given | fields


async def test_reports_are_counted_by_rule_within_the_period_and_the_scope(database):
    rows = [
        wrong_block(1, "a/b"),
        wrong_block(2, "a/b", user="bob"),
        wrong_block(3, "a/c"),
        wrong_block(4, "a/b", at=NOON - DAY),
        wrong_block(5, "a/b", at=NOON + DAY),
        wrong_block(6, "a/b", organisation="another"),
    ]
    async with database.transaction() as connection:
        await connection.execute(insert(WRONG_BLOCKS), rows)
    period = Period(NOON, NOON + DAY)
    assert await rule_hits_store.reports(database, "default", RowScope(), period) == {"a/b": 2, "a/c": 1}
    assert await rule_hits_store.reports(database, "default", RowScope(user="bob"), period) == {"a/b": 1}


async def test_a_rule_s_hits_are_counted_by_effect_with_the_last_one(database):
    made = [
        at(NOON, user="ann", rules=(RuleHit("a/b", "deny"),)),
        at(NOON + DAY, user="bob", rules=(RuleHit("a/b", "deny"), RuleHit("a/c", "ask"))),
        at(NOON + 2 * DAY, user="bob", rules=(RuleHit("a/b", "deny"),)),
        at(NOON, organisation="another", rules=(RuleHit("a/b", "deny"),)),
    ]
    await decisions.add(database, made)
    period, everybody = Period(NOON, NOON + 2 * DAY), RowScope()
    found = await rule_hits_store.hits(database, "default", everybody, period)
    assert [(one.rule, one.effect, one.count, one.last) for one in found.hits] == [
        ("a/b", "deny", 2, NOON + DAY),
        ("a/c", "ask", 1, NOON + DAY),
    ]
    assert found.users == {"a/b": 2, "a/c": 1}
    assert await rule_hits_store.count_calls(database, "default", everybody, period, 10) == 2
    assert await rule_hits_store.count_calls(database, "default", everybody, period, 1) == 1
    assert await rule_hits_store.count_calls(database, "default", RowScope(user="ann"), period, 10) == 1
    first = await rule_hits_store.calls(database, "default", everybody, period, after="", limit=1)
    assert first == made[:1]
    assert await rule_hits_store.calls(database, "default", everybody, period, after=first[0].id, limit=5) == made[1:2]
