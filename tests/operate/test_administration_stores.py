"""The tables of reports, overrides, settings, leases; what is purged; on both databases."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from uuid_utils import uuid7

from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.engine.call.verdict import RuleHit
from baton.kernel.changes import audit_store, leadership, organisation_settings
from baton.operate import retention_store
from baton.people.row_scope import RowScope
from baton.records.pipeline import store as decisions
from baton.records.review import delegation_share_store, wrong_blocks_store
from baton.records.review.delegation_groups import After, GroupFilter
from baton.records.review.wrong_blocks_store import WrongBlock
from baton.sessions.overrides import store as overrides
from baton.sessions.overrides.store import Override

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
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
    found = await wrong_blocks_store.find(database, "default", scope)
    assert {one.comment for one in found} == set(seen)


async def test_reports_are_filtered_and_paged(database):
    for number in range(5):
        await wrong_blocks_store.add(
            database, "default", report(rule="x/y" if number % 2 else "x/z", comment=str(number))
        )
    found = await wrong_blocks_store.find(database, "default", ALL, rule="x/z", limit=2)
    assert [one.comment for one in found] == ["4", "2"]
    rest = await wrong_blocks_store.find(database, "default", ALL, rule="x/z", before_id=found[-1].id)
    assert [one.comment for one in rest] == ["0"]


async def test_of_two_answers_to_one_version_of_a_report_one_is_stored(database):
    first = report()
    await wrong_blocks_store.add(database, "default", first)
    answer = msgspec.structs.replace(first, state="accepted", answer="yes", version=2)
    async with database.transaction() as connection:
        assert await wrong_blocks_store.replace(connection, "default", answer)
        assert not await wrong_blocks_store.replace(connection, "default", msgspec.structs.replace(answer, answer="no"))
    assert await wrong_blocks_store.get(database, "default", ALL, first.id) == answer


async def test_overrides_are_read_until_they_expire(database):
    one = Override(
        id="1", session_id="s", user="ann", rule="*", reason="r", created_by="lea", created_at=NOON,
        expires_at=NOON + DAY,
    )  # fmt: skip
    async with database.transaction() as connection:
        await overrides.add(connection, "default", one)
    assert await overrides.load(database, "default", NOON) == [one]
    assert await overrides.load(database, "another", NOON) == []
    assert await overrides.load(database, "default", NOON + DAY) == []
    async with database.transaction() as connection:
        assert not await overrides.remove(connection, "another", "1")
        assert await overrides.remove(connection, "default", "1")
        assert not await overrides.remove(connection, "default", "1")


async def test_a_setting_has_its_last_value_and_version(database):
    assert await organisation_settings.get(database, "default", "k") == ({}, 0)
    async with database.transaction() as connection:
        await organisation_settings.put(connection, "default", "k", {"a": 1}, 1)
        await organisation_settings.put(connection, "default", "k", {"a": 3}, 2)
        assert await organisation_settings.get_with(connection, "default", "k") == ({"a": 3}, 2)
    assert await organisation_settings.get(database, "default", "k") == ({"a": 3}, 2)
    assert await organisation_settings.get(database, "another", "k") == ({}, 0)


async def test_one_of_many_leads_until_its_time_ends(database):
    hour = timedelta(hours=1)
    assert await leadership.take(database, "default", "purge", NOON, hour)
    assert not await leadership.take(database, "default", "purge", NOON + hour / 2, hour)
    assert await leadership.take(database, "another", "purge", NOON, hour)
    assert await leadership.take(database, "default", "purge", NOON + hour, hour)


def record(**fields):
    given = {
        "at": NOON, "organisation": "default", "team": "t", "user": "ann", "client": "codex", "event": "PreToolUse",
        "tool": "Read", "session_id": "s",
    }  # fmt: skip
    return Record(id=str(uuid7()), **(given | fields))


async def test_old_decisions_go_with_their_rules_and_others_stay(database):
    hit = (RuleHit("x/y", "deny"),)
    old = [record(at=NOON - DAY, rules=hit) for _ in range(3)]
    foreign = record(at=NOON - DAY, organisation="another", rules=hit)
    kept = record(rules=hit)
    await decisions.add(database, [*old, kept, foreign])
    assert await retention_store.purge_decisions(database, "default", NOON) == 3
    assert await retention_store.purge_decisions(database, "default", NOON) == 0
    found, _ = await decisions.find(database, "default", decisions.Filters(rule="x/y"))
    assert [one.id for one in found] == [kept.id]
    assert await decisions.get(database, "another", foreign.id) == foreign
    async with database.transaction() as connection:
        left = (await connection.execute(decisions.DecisionRuleRow.__table__.select())).all()
    assert {row.decision_id for row in left} == {kept.id, foreign.id}


async def test_a_purge_removes_no_more_than_a_batch_at_a_time(database, monkeypatch):
    monkeypatch.setattr(retention_store, "LARGEST_BATCH", 2)
    await decisions.add(database, [record(rules=(RuleHit("a", "deny"), RuleHit("b", "ask"))) for _ in range(3)])
    purged = [await retention_store.purge_decisions(database, "default", NOON + DAY) for _ in range(3)]
    assert purged == [2, 1, 0]
    async with database.transaction() as connection:
        assert (await connection.execute(decisions.DecisionRuleRow.__table__.select())).all() == []


async def test_old_reports_overrides_and_audit_entries_go(database):
    await wrong_blocks_store.add(database, "default", report(at=NOON - DAY))
    await wrong_blocks_store.add(database, "default", report())
    assert await retention_store.purge_reports(database, "default", NOON) == 1
    async with database.transaction() as connection:
        await audit_store.add(connection, Principal(), action="a", kind="k", object="o")
    now = datetime.now(UTC)
    assert await retention_store.purge_audit(database, "default", now - DAY) == 0
    assert await retention_store.purge_audit(database, "default", now + DAY) == 1
    assert await retention_store.purge_overrides(database, "default", now) == 0


async def test_audit_entries_are_found_by_time(database):
    async with database.transaction() as connection:
        await audit_store.add(connection, Principal(), action="a", kind="k", object="o")
    now = datetime.now(UTC)
    assert len(await audit_store.find(database, "default", since=now - DAY, until=now + DAY)) == 1
    assert await audit_store.find(database, "default", since=now + DAY) == []
    assert await audit_store.find(database, "default", until=now - DAY) == []


SPAWN = {"tool": "Agent", "model_injected": "haiku", "effect": "rewrite"}
GUIDED = (RuleHit("x/y", "guidance"),)


@pytest.fixture
async def week(database):
    made = [
        record(),
        record(rules=GUIDED),
        record(effect="deny", decision="block", rules=(RuleHit("x/y", "deny"),)),
        record(tool="Bash", effect="ask", decision="ask"),
        record(**SPAWN),
        record(agent_id="a1"),
        record(agent_id="a1", effect="deny", decision="block"),
        record(user="bob", team="red", session_id="z", overridden=True, at=NOON + DAY),
        record(user="cid", organisation="another"),
        record(event="SessionStart", tool=""),
        record(at=NOON - DAY),
    ]
    await decisions.add(database, made)
    return made


def counted(group):
    names = ("calls", "delegated", "direct", "blocked", "asked", "overridden", "guided", "spawned", "injected")
    return tuple(getattr(group, name) for name in names)


ANN = (7, 2, 3, 2, 1, 0, 1, 1, {"haiku": 1})
BOB = (1, 0, 1, 0, 0, 1, 0, 0, {})


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("session", [("z", "bob", "red", "", "codex"), ("s", "ann", "t", "", "codex")]),
        ("user", [("", "bob", "", "", ""), ("", "ann", "", "", "")]),
        ("team", [("", "", "red", "", ""), ("", "", "t", "", "")]),
        ("day", [("", "", "", "2026-05-02", ""), ("", "", "", "2026-05-01", "")]),
    ],
)
async def test_delegation_is_summed_up_by(database, week, by, keys):
    found = await delegation_share_store.find(
        database, "default", ALL, GroupFilter(since=NOON), by, agent_tools=["Agent", "Task"]
    )
    assert [(one.session_id, one.user, one.team, one.day, one.client) for one in found] == keys
    assert [counted(one) for one in found] == [BOB, ANN]
    assert (found[0].first_at, found[0].last_at) == (NOON + DAY, NOON + DAY)


@pytest.mark.parametrize(
    ("scope", "wanted", "calls"),
    [
        (RowScope(user="ann"), {}, [7]),
        (RowScope(user="bob", team="t"), {}, [1, 7]),
        (ALL, {"user": "bob"}, [1]),
        (ALL, {"team": "t"}, [7]),
        (ALL, {"session_id": "z"}, [1]),
        (ALL, {"until": NOON + DAY}, [7]),
        (ALL, {"client": "none"}, []),
    ],
)
async def test_delegation_counts_only_what_is_asked_for(database, week, scope, wanted, calls):
    found = await delegation_share_store.find(
        database, "default", scope, GroupFilter(since=NOON, **wanted), "user", agent_tools=["Agent"]
    )
    assert [one.calls for one in found] == calls


async def test_a_group_that_goes_on_while_it_is_paged_through_is_on_one_page(database, week):
    async def page(after):
        return await delegation_share_store.find(
            database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=[], after=after, limit=1
        )

    (first,) = await page(After())
    await decisions.add(database, [record(at=NOON + DAY)])
    (second,) = await page(After(first.last_id, first.last_id))
    assert [(one.user, one.calls) for one in (first, second)] == [("bob", 1), ("ann", 7)]
    assert await page(After(second.last_id, first.last_id)) == []
