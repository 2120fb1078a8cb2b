import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import msgspec
import pytest
from sqlalchemy import text

from baton.operate import retention as retention_store
from baton.people.users import RowScope
from baton.records.columns.writer import ColumnWriter
from baton.records.pipeline import store as decisions
from baton.records.pipeline.store import BadCursorError, Filters, matches
from baton.rules.call.verdict import RuleHit
from tests.support.databases import opened
from tests.support.records import counts
from tests.support.records import record as made

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


record = partial(made, at=NOON)
FULL = record(
    project="p",
    session_id="s",
    agent_id="a",
    agent_type="Explore",
    tool="Bash",
    tool_use_id="toolu_1",
    effect="deny",
    decision="block",
    rules=(RuleHit("x/y", "deny"), RuleHit("x/z", "guidance")),
    mode_enabled=True,
    mode_level="strict",
    mode_scope="user",
    revision="abc",
    elapsed_us=12,
    degraded=("history",),
    command="rm -rf é",
    paths=("a", "b"),
    model_injected="haiku",
    overridden=True,
)


async def test_a_record_comes_back_as_it_was_stored(database):
    await decisions.add(database, [FULL, record()])
    assert await decisions.get(database, "default", FULL.id) == FULL
    assert await decisions.get(database, "another", FULL.id) is None
    assert await decisions.get(database, "default", "no\0ne") is None


async def test_a_record_is_stored_once_however_often_it_comes(database):
    await decisions.add(database, [FULL, FULL])
    await decisions.add(database, [FULL, msgspec.structs.replace(FULL, effect="allow")])
    assert await counts(database, "default", Filters()) == {"deny": 1}


async def test_batches_are_bounded(database):
    with pytest.raises(ValueError, match="201 records in one batch"):
        await decisions.add(database, [FULL] * 201)


@pytest.mark.parametrize(
    "wanted",
    [
        Filters(user="ann"),
        Filters(session_id="s"),
        Filters(agent_id="a"),
        Filters(client="codex", event="PreToolUse"),
        Filters(tool="Bash"),
        Filters(effect="deny"),
        Filters(decision="block"),
        Filters(rule="x/z"),
        Filters(project="p"),
        Filters(overridden=True),
        Filters(since=NOON),
        Filters(until=NOON + timedelta(seconds=1)),
        Filters(user="ann", rule="x/y", overridden=True, since=NOON),
    ],
)
async def test_each_filter_finds_what_it_names_and_nothing_else(database, wanted):
    other = record(
        user="bob", client="claude-code", at=NOON - timedelta(days=1) if wanted.since else NOON + timedelta(days=1)
    )
    await decisions.add(database, [FULL, other])
    assert await decisions.find_records(database, "default", wanted) == ([FULL], "")
    assert await counts(database, "default", wanted) == {"deny": 1}


async def test_the_end_of_a_period_is_not_in_it(database):
    await decisions.add(database, [FULL])
    assert await decisions.find_records(database, "default", Filters(until=NOON)) == ([], "")


async def test_pages_are_stable_while_decisions_come_in(database):
    made = [record(user="ann" if number % 2 else "bob") for number in range(25)]
    await decisions.add(database, made)
    found, cursor = await decisions.find_records(database, "default", Filters(user="ann"), limit=5)
    while cursor:
        await decisions.add(database, [record()])
        page, cursor = await decisions.find_records(database, "default", Filters(user="ann"), cursor, 5)
        found += page
    assert found == [one for one in reversed(made) if one.user == "ann"]


async def test_a_full_last_page_has_no_next(database):
    await decisions.add(database, [record() for _ in range(4)])
    page, cursor = await decisions.find_records(database, "default", Filters(), limit=4)
    assert (len(page), cursor) == (4, "")


@pytest.mark.parametrize("cursor", ["x", "%%%", "é", "AAAA", "' OR 1=1"])
async def test_a_foreign_cursor_is_refused(database, cursor):
    with pytest.raises(BadCursorError, match="is not a cursor"):
        await decisions.find_records(database, "default", Filters(), cursor)


async def test_long_names_are_found_by_their_long_names(database):
    long = "é" * 400
    await decisions.add(database, [record(user=long[:200], session_id=long[:200])])
    assert len((await decisions.find_records(database, "default", Filters(user=long, session_id=long)))[0]) == 1


@pytest.mark.parametrize(
    "wanted",
    [
        Filters(client="codex", tool="Read"),
        Filters(q="needle"),
        Filters(rule="x/y", tool="Read"),
        Filters(scope=RowScope(user="bob", team="t"), q="needle"),
        Filters(scope=RowScope(user="ann"), q="needle", since=NOON),
    ],
)
async def test_a_page_looks_through_a_part_and_says_where_to_go_on(database, monkeypatch, wanted):
    monkeypatch.setattr("baton.records.pipeline.search.WINDOW", 7)
    made = [
        record(
            tool="Read" if number % 23 == 0 else "Bash", command="a needle" if number % 19 == 0 else "", rules=FULL.rules,
            user="bob" if number % 5 == 0 else "ann", team="u" if number % 3 == 0 else "t",
        )
        for number in range(100)
    ]  # fmt: skip
    await decisions.add(database, made)
    found, cursor = await decisions.find_records(database, "default", wanted, limit=2)
    pages = 1
    while cursor:
        page, cursor = await decisions.find_records(database, "default", wanted, cursor, 2)
        assert len(page) <= 2
        found, pages = found + page, pages + 1
    assert found == [one for one in reversed(made) if matches(one, "default", wanted)]
    assert found
    assert not wanted.q or pages > len(found) / 2 + 3  # no index tells which decisions hold a text


async def test_totals_are_kept_with_what_is_stored(database):
    one = record(effect="deny", decision="block")
    await decisions.add(database, [one, one, record(user="bob", team="u"), record(event="UserPromptSubmit")])
    await decisions.add(database, [one, record(organisation="other")])
    assert await decisions.totals(database, "default", RowScope()) == {"abstain": 1, "deny": 1}
    assert await decisions.totals(database, "default", RowScope(user="ann")) == {"deny": 1}
    assert await decisions.totals(database, "default", RowScope(user="ann", team="u")) == {"abstain": 1, "deny": 1}
    assert await retention_store.remove_decisions_of(database, "default", "ann") == 2
    assert await decisions.totals(database, "default", RowScope()) == {"abstain": 1}


@pytest.mark.slow("fills a database")
async def test_a_page_looks_through_a_part_of_the_columns(database, monkeypatch):
    made = [record(at=NOON + timedelta(hours=hour), tool="Read" if hour % 9 == 0 else "Bash") for hour in range(60)]
    await decisions.add(database, made)
    await ColumnWriter(database, "default", now=lambda: NOON + timedelta(days=9)).catch_up(asyncio.Event())
    monkeypatch.setattr("baton.records.pipeline.search.MOST_IN_COLUMNS", 7)
    found, cursor = await decisions.find_records(database, "default", Filters(tool="Read"))
    pages = 1
    while cursor:
        page, cursor = await decisions.find_records(database, "default", Filters(tool="Read"), cursor)
        found, pages = found + page, pages + 1
    assert found == [one for one in reversed(made) if one.tool == "Read"]
    assert pages > 1


async def test_a_decision_takes_at_most_850_bytes_of_sqlite(sqlite_url):
    usual = {"project": "github.com/acme/shop", "revision": "0123456789abcdef", "tool": "Bash", "paths": ("src",)}
    usual |= {"command": "cd src && pytest -q tests/test_cart.py -k total | tail -20", "elapsed_us": 812}
    sizes = []
    async with opened(sqlite_url) as database:
        for session in range(20):
            ids = {"session_id": str(UUID(int=session)), "rules": (RuleHit("orchestrator/test", "shadow"),)}
            calls = [made(tool_use_id=f"toolu_{uuid4().hex[:24]}", **usual, **ids) for _ in range(150)]
            await decisions.add(database, calls)
            async with database.transaction() as connection:
                sizes.append((await connection.execute(text("PRAGMA page_count"))).scalar() * 4_096)
    assert 400 < (sizes[-1] - sizes[4]) / (15 * 150) <= 850, sizes
