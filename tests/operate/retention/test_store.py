"""Rows purged from the tables, on both databases."""

from datetime import UTC, datetime, timedelta
from functools import partial

from uuid_utils import uuid7

from baton.kernel.changes import audit_store
from baton.operate import retention as retention_store
from baton.policies import store
from baton.records.pipeline import store as decisions
from baton.records.review import wrong_blocks as wrong_blocks_store
from baton.records.review.wrong_blocks import WrongBlock
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from tests.support.records import record as made

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
record = partial(made, at=NOON)


def report(**fields):
    given = {"team": "t", "decision_id": str(uuid7()), "rule": "x/y", "user": "ann", "comment": "é", "at": NOON}
    return WrongBlock(id=str(uuid7()), **(given | fields))


async def test_old_decisions_go_and_others_stay(database):
    hit = (RuleHit("x/y", "deny"),)
    old = [record(at=NOON - DAY, rules=hit) for _ in range(3)]
    foreign = record(at=NOON - DAY, organisation="another", rules=hit)
    kept = record(rules=hit)
    await decisions.add(database, [*old, kept, foreign])
    assert await retention_store.purge_decisions(database, "default", NOON) == 3
    assert await retention_store.purge_decisions(database, "default", NOON) == 0
    found, _ = await decisions.find_records(database, "default", decisions.Filters(rule="x/y"))
    assert [one.id for one in found] == [kept.id]
    assert await decisions.get(database, "another", foreign.id) == foreign


async def test_a_purge_removes_no_more_than_a_batch_at_a_time(database, monkeypatch):
    monkeypatch.setattr(retention_store, "LARGEST_BATCH", 2)
    await decisions.add(database, [record(rules=(RuleHit("a", "deny"), RuleHit("b", "ask"))) for _ in range(3)])
    purged = [await retention_store.purge_decisions(database, "default", NOON + DAY) for _ in range(3)]
    assert purged == [2, 1, 0]


async def test_old_reports_and_audit_entries_go(database):
    await wrong_blocks_store.add(database, "default", report(at=NOON - DAY))
    await wrong_blocks_store.add(database, "default", report())
    assert await retention_store.purge_reports(database, "default", NOON) == 1
    async with database.transaction() as connection:
        await audit_store.add(connection, Principal(), action="a", kind="k", object="o")
    now = datetime.now(UTC)
    assert await retention_store.purge_audit(database, "default", now - DAY) == 0
    assert await retention_store.purge_audit(database, "default", now + DAY) == 1


async def test_unlocks_that_have_ended_go(database):
    given = {"rule": "a/b", "team": "", "user": "", "reason": "r", "created_by": "ada", "created_at": NOON - DAY}
    async with database.transaction() as connection:
        for name, until in (("old", NOON), ("new", NOON + DAY)):
            await store.add_unlock(connection, "default", store.StoredUnlock(id=name, until=until, **given))
    assert await retention_store.purge_unlocks(database, "default", NOON + DAY / 2) == 1
    assert [one.id for one in await store.load_unlocks(database, "default", NOON - DAY)] == ["new"]
