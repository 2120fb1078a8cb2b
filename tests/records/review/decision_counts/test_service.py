"""Decisions counted by time and group: content, visibility, and bounds."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from baton.kernel.base.errors import Invalid
from baton.records.pipeline import store
from baton.records.pipeline.store import Filters
from baton.records.review import decision_counts as decision_counts_store
from baton.records.review.decision_counts import DecisionCounts
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from tests.support.cases import every
from tests.support.records import record

ADMIN = Principal(user="root", role="admin")
ANN = Principal(user="ann", team="t")
NIGHT = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=UTC)
MORNING = datetime(2026, 3, 2, 0, 0, tzinfo=UTC)
PERIOD = {"since": NIGHT - timedelta(hours=1), "until": MORNING + timedelta(hours=1)}


def at(moment, **fields):
    return record(at=moment, **fields)


RECORDS = [
    at(NIGHT, effect="deny", rules=(RuleHit("a/b", "deny"), RuleHit("a/c", "shadow")), outcome="refused"),
    at(MORNING, effect="allow", client="claude-code", outcome="ran"),
    at(MORNING + timedelta(seconds=59), effect="allow", user="bob", rules=(RuleHit("a/b", "allow"),), outcome="ran"),
    at(MORNING + timedelta(minutes=59), effect="ask", user="eve", team="other", outcome="unknown"),
    at(MORNING, event="UserPromptSubmit"),
    at(MORNING, organisation="other"),
    at(MORNING + timedelta(hours=1), effect="allow"),
]
CASES = [
    ("day", "effect", {"event": "PreToolUse"}, ADMIN, {"2026-03-01T00:00": {"deny": 1}, "2026-03-02T00:00": {"allow": 2, "ask": 1}}),
    ("hour", "user", {}, ADMIN, {"2026-03-01T23:00": {"ann": 1}, "2026-03-02T00:00": {"ann": 2, "bob": 1, "eve": 1}}),
    ("minute", "effect", {"event": "PreToolUse"}, ADMIN,
     {"2026-03-01T23:59": {"deny": 1}, "2026-03-02T00:00": {"allow": 2}, "2026-03-02T00:59": {"ask": 1}}),
    ("day", "rule", {}, ADMIN, {"2026-03-01T00:00": {"a/b": 1, "a/c": 1}, "2026-03-02T00:00": {"a/b": 1}}),
    ("day", "outcome", {}, ADMIN, {"2026-03-01T00:00": {"refused": 1}, "2026-03-02T00:00": {"ran": 2, "unknown": 1}}),
    ("day", "client", {"tool": ""}, ANN, {"2026-03-01T00:00": {"codex": 1}, "2026-03-02T00:00": {"claude-code": 1, "codex": 1}}),
    ("day", "user", {}, ANN, {"2026-03-01T00:00": {"ann": 1}, "2026-03-02T00:00": {"ann": 2}}),
    ("day", "user", {}, msgspec.structs.replace(ANN, role="lead"),
     {"2026-03-01T00:00": {"ann": 1}, "2026-03-02T00:00": {"ann": 2, "bob": 1}}),
    ("day", "effect", {"rule": "a/b", "user": "bob"}, ADMIN, {"2026-03-02T00:00": {"allow": 1}}),
    ("day", "effect", {"user": "nobody"}, ADMIN, {}),
]  # fmt: skip


async def test_decisions_are_counted_by_time_and_group(database):
    await store.add(database, RECORDS)
    counts = DecisionCounts(database)
    for by, group, filters, principal, expected in CASES:
        found = await counts.count(principal, Filters(**filters, **PERIOD), by, group)
        shown = {one.at.isoformat()[:16]: one.counts for one in found.items}
        assert shown == expected, (by, group, filters)
        assert all(one.others == 0 for one in found.items)
        assert set(found.groups) == {name for one in expected.values() for name in one}


async def test_rare_groups_are_counted_together(database, monkeypatch):
    monkeypatch.setattr(decision_counts_store, "MOST_GROUPS", 2)
    await store.add(database, [at(MORNING, user=name) for name in ("a", "a", "a", "b", "b", "c", "d")])
    found = await DecisionCounts(database).count(ADMIN, Filters(**PERIOD), "day", "user")
    assert found.groups == ["a", "b"]
    assert [(one.counts, one.others) for one in found.items] == [({"a": 3, "b": 2}, 2)]


@pytest.mark.parametrize(("by", "days"), [("minute", 1), ("hour", 31), ("day", 366)])
async def test_a_period_is_bounded(no_database, by, days):
    wanted = Filters(since=MORNING - timedelta(days=days, seconds=1), until=MORNING)
    with pytest.raises(Invalid, match=f"more than {days} days"):
        await DecisionCounts(no_database).count(ADMIN, wanted, by, "effect")


@every(
    "query", [{"by": "week"}, {"group": "team"}, {"since": "now"}, {"by": "minute", "since": "2020-01-01T00:00:00Z"}]
)
def test_a_wrong_question_names_its_field(http, query):
    answer = http.get("/decisions/counts", params=query)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == list(query)[-1]


def test_the_year_one_is_a_period_too(http):
    assert http.get("/decisions/counts", params={"by": "day", "until": "0001-01-02T00:00:00Z"}).json()["items"] == []
