"""Hours by column: analytics with them equal those without, and a plain recount, after any change."""

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import numpy as np
import pytest
from sqlalchemy import select, update

from baton.operate import retention as retention_store
from baton.people.users import RowScope
from baton.records.columns import hours
from baton.records.columns.piece import Piece, grouped
from baton.records.columns.reading import Period
from baton.records.columns.tables import COLUMNS, SUMMED
from baton.records.columns.writer import ColumnWriter, write_hour
from baton.records.pipeline import store as decisions
from baton.records.pipeline.store import Filters, matches
from baton.records.replay import rule_hits_store
from baton.records.review import decision_counts as decision_counts_store
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import After, GroupFilter
from baton.records.tables import DECISIONS
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.verdict import RuleHit
from baton.sessions import activity
from tests.support.cases import every, listed
from tests.support.records import record

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LATER = NOON + 9 * HOUR
ALL = RowScope()
HITS = (RuleHit("a/b", "deny"), RuleHit("a/c", "guidance"))


def week(began=NOON, apart=timedelta(minutes=7)):
    """Return decisions of some hours, with two of everything that is counted."""
    found = []
    for number in range(48):
        given = {
            "at": began + number * apart, "user": f"u{number % 3}", "team": f"t{number % 2}",
            "session_id": f"s{number % 5}", "project": f"p{number % 2}", "client": "codex" if number % 4 else "gemini", "tool": "Bash",
            "agent_id": "a" if number % 6 == 0 else "", "outcome": "ran", "elapsed_us": 150, "tool_use_id": f"c{number}",
        }  # fmt: skip
        if number % 7 == 0:
            given |= {"effect": "deny", "decision": "block", "rules": HITS, "outcome": "refused"}
        if number % 11 == 0:
            given |= {"tool": "Task", "effect": "rewrite", "model_injected": "haiku", "rules": HITS[1:]}
        if number % 13 == 0:
            given |= {"event": "UserPromptSubmit", "outcome": "", "tool": ""}
        if number % 17 == 0:
            given |= {"outcome": "rewrite_ignored", "overridden": True}
        found.append(record(**given))
    return found


async def summed(database, now=LATER):
    return await ColumnWriter(database, "default", now=lambda: now).catch_up(asyncio.Event())


PERIODS = {
    "all": (NOON - HOUR, None),
    "odd ends": (NOON + HOUR / 3, NOON + 4.4 * HOUR),
    "an hour": (NOON + HOUR, NOON + 2 * HOUR),
    "within an hour": (NOON + 1.1 * HOUR, NOON + 1.9 * HOUR),
}
GROUPED = [
    ("session", {}), ("user", {}), ("team", {}), ("day", {}), ("user", {"project": "p1", "client": "gemini"}),
    ("session", {"user": "u1"}), ("session", {"called_since": NOON + 3 * HOUR}), ("session", {"q": "P1"}),
]  # fmt: skip
COUNTED = [
    ("hour", "effect", {}), ("day", "user", {}), ("hour", "client", {}), ("day", "outcome", {}), ("hour", "rule", {}),
    ("hour", "rule", {"user": "u1"}), ("day", "rule", {"client": "gemini"}), ("hour", "user", {"effect": "deny"}), ("day", "user", {"effect": "guidance"}),
    ("hour", "client", {"decision": "allow"}), ("day", "effect", {"decision": "allow"}), ("day", "user", {"outcome": "ran"}),
    ("day", "user", {"overridden": True}), ("day", "user", {"overridden": False}), ("day", "effect", {"overridden": True}),
    ("hour", "effect", {"event": "PreToolUse", "user": "u2"}), ("day", "effect", {"tool": "Bash"}), ("day", "rule", {"rule": "a/c"}),
    ("day", "user", {"effect": "rewrite", "outcome": "ran"}), ("hour", "outcome", {"session_id": "s1", "project": "p0"}),
    ("minute", "effect", {}), ("day", "user", {"scope": RowScope(user="u1", team="t0")}),
]  # fmt: skip


async def answers(database, names=PERIODS):
    """Return what analytics say of some periods, filters and groups."""
    found = {}
    for name in names:
        since, until = PERIODS[name]
        for by, which in GROUPED:
            asked = GroupFilter(since=since, until=until, **which)
            found[f"delegation {name} {by} {which}"] = await delegation_share_store.find_groups(
                database, "default", ALL, asked, by, agent_tools=["Task"]
            )
        period = Period(since, until or LATER)
        for scope in (ALL, RowScope(user="u1", team="t0")):
            found[f"hits {name} {scope}"] = await rule_hits_store.hits(database, "default", scope, period)
        for by, group, which in COUNTED:
            wanted = Filters(**({"since": since, "until": until or LATER} | which))
            counted = await decision_counts_store.counts(database, "default", wanted, by, group)
            found[f"counts {name} {by} {group} {which}"] = counted
    return found


def differences(before, after):
    return listed({name: f"{one}\n{after[name]}" for name, one in before.items() if after[name] != one})


async def test_further_refusals_by_the_rate_limit_are_counted_everywhere_until_they_are_removed(database):
    refused = record(at=NOON, session_id="s", agent_id="a", effect="deny", decision="block", rules=HITS[:1])
    again = msgspec.structs.replace(refused, repeats=19)
    for stored in (refused, again, again, record(at=NOON + HOUR / 6, session_id="s", agent_id="a", effect="allow")):
        await decisions.add(database, [stored])
    period = {"since": NOON, "until": LATER}
    for _with_columns in (False, True):
        assert await decisions.totals(database, "default", ALL) == {"allow": 1, "deny": 20}
        for by in ("minute", "hour", "day"):
            _, rows = await decision_counts_store.counts(database, "default", Filters(**period), by, "effect")
            assert sorted((row.group, row.count) for row in rows) == [("allow", 1), ("deny", 20)], by
        hits = await rule_hits_store.hits(database, "default", ALL, Period(**period))
        assert ([one.count for one in hits.hits], hits.calls) == ([20], 21)
        (group,) = await delegation_share_store.find_groups(
            database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=["Task"]
        )
        assert (group.calls, group.blocked, group.delegated) == (21, 20, 1)
        async with database.transaction() as connection:
            (agent,), _ = await activity.agents(connection, "default", ALL, ("s", "ann"))
        assert (agent.calls, agent.blocked) == (21, 20)
        await summed(database)
    assert await retention_store.purge_decisions(database, "default", NOON + HOUR / 12) == 1
    assert await decisions.totals(database, "default", ALL) == {"allow": 1}


@pytest.mark.matrix(3)
@pytest.mark.parametrize("period", PERIODS)
async def test_analytics_say_the_same_with_columns_as_without(database, period):
    await decisions.add(database, week())
    before = await answers(database, [period])
    assert await summed(database) == 8
    assert differences(before, await answers(database, [period])) == ""
    assert any(before.values())


async def test_columns_are_read_and_not_the_rows(database):
    await decisions.add(database, week())
    await summed(database)
    async with database.transaction() as connection:
        await connection.execute(update(DECISIONS).values(user="nobody"))
    [group, *_] = await delegation_share_store.find_groups(
        database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=[]
    )
    assert group.user != "nobody"


async def test_an_hour_is_written_when_it_has_settled(database):
    await decisions.add(database, week()[:3])
    assert await summed(database, NOON + HOUR + timedelta(seconds=hours.SETTLED_S - 1)) == 0
    assert await summed(database, NOON + HOUR + timedelta(seconds=hours.SETTLED_S)) == 1
    assert await summed(database) == 7
    assert await summed(database) == 0


FILTERS = {
    "user": ["u1", "u2", "none"], "session_id": ["s1"], "agent_id": ["a"], "client": ["codex", "gemini"],
    "event": ["PreToolUse", "UserPromptSubmit"], "tool": ["Bash", "Task"], "effect": ["deny", "abstain", "guidance", "shadow"],
    "decision": ["block", "allow"], "outcome": ["ran", "refused"], "rule": ["a/b", "a/c", "none/none"], "project": ["p0", "p1"],
    "revision": ["r"], "overridden": [True, False], "q": ["as"],
    "scope": [RowScope(user="u1"), RowScope(user="u1", team="t0")],
    "since": [NOON + HOUR / 3, NOON + HOUR], "until": [NOON + 1.9 * HOUR, NOON + 5 * HOUR],
}  # fmt: skip
SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}


def recounted(records, wanted, by, group):
    """Count records one by one."""
    found = Counter()
    for one in records:
        if matches(one, "default", wanted):
            names = {hit.id for hit in one.rules} if group == "rule" else {getattr(one, group)}
            bucket = datetime.fromtimestamp(one.at.timestamp() // SECONDS[by] * SECONDS[by], UTC)
            found.update((bucket, name) for name in names if name or group != "outcome")
    return found


@pytest.mark.matrix(3)
@pytest.mark.parametrize("written", ["some", "none", "all"])
async def test_any_filters_count_as_a_plain_recount(database, written):
    stored = week()
    await decisions.add(database, stored)
    if written != "none":
        await summed(database)
    if written == "some":
        async with database.transaction() as connection:
            await connection.execute(update(SUMMED).where(SUMMED.c.hour % 3 == 0).values(valid=False))
    chance = random.Random(7)  # noqa: S311 - a fixed sequence
    wrong, counted = [], 0
    for _ in range(120):
        which = {name: chance.choice(FILTERS[name]) for name in chance.sample(sorted(FILTERS), chance.randrange(4))}
        wanted = Filters(**({"since": NOON - HOUR, "until": LATER} | which))
        by, group = chance.choice(list(SECONDS)), chance.choice(["effect", "rule", "user", "client", "outcome"])
        _, rows = await decision_counts_store.counts(database, "default", wanted, by, group)
        expected = recounted(stored, wanted, by, group)
        counted += bool(expected)
        if {(row.bucket, row.group): row.count for row in rows} != expected:
            wrong.append((which, by, group))
    assert not wrong
    assert counted > 40


async def late_record(database, stored):
    await decisions.add(database, [record(at=NOON + HOUR / 2, user="late", rules=HITS, effect="deny")])


async def late_outcome(database, stored):
    one = stored[16]
    report = OutcomeReport(
        at=one.at + 3 * HOUR, organisation="default", user=one.user, session_id=one.session_id, agent_id=one.agent_id,
        tool=one.tool, tool_use_id=one.tool_use_id, outcome="failed",
    )  # fmt: skip
    await decisions.add(database, [], [report])


async def retention(database, stored):
    assert await retention_store.purge_decisions(database, "default", NOON + 2.5 * HOUR) == 22


async def a_persons_deletion(database, stored):
    assert await retention_store.remove_decisions_of(database, "default", "u1") == 16


@pytest.mark.matrix(4)
@pytest.mark.parametrize("change", [late_record, late_outcome, retention, a_persons_deletion])
async def test_a_later_change_of_an_hour_is_counted_at_once(database, change):
    stored = week()
    await decisions.add(database, stored)
    await summed(database)
    some = ("odd ends",)
    before = await answers(database, some)
    await change(database, stored)
    at_once = await answers(database, some)
    assert at_once != before
    assert await summed(database) > 0
    after = await answers(database, some)
    assert differences(at_once, after) == ""
    async with database.transaction() as connection:
        await connection.execute(SUMMED.delete())
    assert differences(after, await answers(database, some)) == ""


async def test_a_deleted_person_is_in_no_column(database):
    await decisions.add(database, week())
    await summed(database)
    await retention_store.remove_decisions_of(database, "default", "u1")
    async with database.transaction() as connection:
        data = (await connection.execute(select(COLUMNS.c.data).where(COLUMNS.c.column == "user"))).scalars()
        assert not any(b"u1" in one for one in data)


async def test_hours_before_the_first_decision_go(database):
    await decisions.add(database, week())
    await summed(database)
    await retention_store.purge_decisions(database, "default", NOON + 2 * HOUR)
    await summed(database)
    async with database.transaction() as connection:
        left = set((await connection.execute(select(COLUMNS.c.hour))).scalars())
    assert min(left) == hours.hour_of(NOON + 2 * HOUR)


async def test_a_page_of_groups_ends_with_the_newest_decision_of_the_first_page(database):
    await decisions.add(database, week())
    await summed(database)
    newest = (await decisions.find_records(database, "default", Filters(event="PreToolUse"), limit=1))[0][0].id
    await decisions.add(database, [record(at=LATER, user="u1")])

    async def page(after):
        return await delegation_share_store.find_groups(
            database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=[], after=after, limit=1
        )

    seen, after = [], After("~", newest)
    while found := await page(after):
        seen.append(found[0].user)
        after = After(found[0].last_id, newest)
    assert sorted(seen) == ["u0", "u1", "u2"]


async def test_a_late_record_waits_while_its_hour_is_written(database):
    if database.dialect == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    await decisions.add(database, week())
    async with database.transaction() as connection:
        await write_hour(connection, "default", hours.hour_of(NOON))
        late = asyncio.create_task(late_record(database, []))
        await asyncio.sleep(0.3)
        assert not late.done()
    await late
    async with database.transaction() as connection:
        of_hour = select(SUMMED.c.valid).where(SUMMED.c.hour == hours.hour_of(NOON))
        assert (await connection.execute(of_hour)).scalars().all() == [False]


def piece(**columns):
    count = len(next(iter(columns.values())))
    return Piece.of_rows(0, [str(UUID(int=number)) for number in range(count)], columns)


@every("different", [3, 200, 300])  # only 300 by 300 pairs need more than sixteen bits
def test_decisions_are_grouped_by_several_columns_however_many_values_these_have(different):
    choice = random.Random(different)  # noqa: S311 - no secret
    users = [*range(different), *choice.choices(range(different), k=5_000)]
    sessions = [*range(different), *choice.choices(range(different), k=5_000)]
    found = grouped(piece(user=users, session=sessions), ("user", "session"), np.ones(len(users), np.bool_))
    counts = Counter(zip(users, sessions, strict=True))
    assert len(found.keys) == len(counts)
    assert dict(zip(found.keys, found.counts.tolist(), strict=True)) == counts
