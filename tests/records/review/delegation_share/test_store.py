"""The sums of the delegation share, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.people.users import RowScope
from baton.records.pipeline import store as decisions
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import After, GroupFilter
from baton.rules.call.verdict import RuleHit
from tests.support.records import record as made

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ALL = RowScope()


def record(**fields):
    given = {
        "at": NOON, "organisation": "default", "team": "t", "user": "ann", "client": "codex", "event": "PreToolUse",
        "tool": "Read", "session_id": "s",
    }  # fmt: skip
    return made(**(given | fields))


SPAWN = {"tool": "Agent", "model_injected": "haiku", "effect": "rewrite"}
GUIDED = (RuleHit("x/y", "guidance"),)


@pytest.fixture
async def week(database):
    made = [
        record(),
        record(rules=GUIDED),
        record(effect="deny", decision="block", rules=(RuleHit("x/y", "deny"),)),
        record(tool="Bash", effect="ask", decision="ask"),
        record(**SPAWN, outcome="ran"),
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
    names = (
        "calls",
        "delegated",
        "direct",
        "blocked",
        "asked",
        "overridden",
        "guided",
        "spawned",
        "injected",
        "ignored",
    )
    return tuple(getattr(group, name) for name in names)


ANN = (7, 2, 3, 2, 1, 0, 1, 1, {"haiku": 1}, 0)
BOB = (1, 0, 1, 0, 0, 1, 0, 0, {}, 0)


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
    found = await delegation_share_store.find_groups(
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
        (ALL, {"called_since": NOON + timedelta(hours=1)}, [1]),
        (ALL, {"called_since": NOON}, [1, 7]),
        (ALL, {"client": "none"}, []),
    ],
)
async def test_delegation_counts_only_what_is_asked_for(database, week, scope, wanted, calls):
    found = await delegation_share_store.find_groups(
        database, "default", scope, GroupFilter(since=NOON, **wanted), "user", agent_tools=["Agent"]
    )
    assert [one.calls for one in found] == calls


async def test_a_group_that_goes_on_while_it_is_paged_through_is_on_one_page(database, week):
    async def page(after):
        return await delegation_share_store.find_groups(
            database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=[], after=after, limit=1
        )

    (first,) = await page(After())
    await decisions.add(database, [record(at=NOON + DAY)])
    (second,) = await page(After(first.last_id, first.last_id))
    assert [(one.user, one.calls) for one in (first, second)] == [("bob", 1), ("ann", 7)]
    assert await page(After(second.last_id, first.last_id)) == []


async def test_a_new_model_that_the_client_ignored_saved_nothing(database):
    await decisions.add(database, [record(**SPAWN, outcome="ran"), record(**SPAWN, outcome="rewrite_ignored")])
    [group] = await delegation_share_store.find_groups(
        database, "default", ALL, GroupFilter(since=NOON), "user", agent_tools=["Agent"]
    )
    assert (group.spawned, group.injected, group.ignored) == (2, {"haiku": 1}, 1)
