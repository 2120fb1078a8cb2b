"""The plans of the queries over decisions: none reads or sorts all rows, for any filter."""

import asyncio
import re
from datetime import timedelta

import msgspec
import pytest
from sqlalchemy import text

from baton.operate import costs as costs_store
from baton.people.users import RowScope
from baton.records import latency
from baton.records.columns.reading import Period
from baton.records.columns.writer import ColumnWriter
from baton.records.pipeline import store as decisions
from baton.records.pipeline.store import Filters
from baton.records.replay import rule_hits_store
from baton.records.review import decision_counts as decision_counts_store
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import GroupFilter
from tests.records.pipeline.test_store import NOON
from tests.support.cases import listed
from tests.support.plans import plans

pytestmark = pytest.mark.slow("fills a database")

ROWS = 6_000
PRIMARY = ("PRIMARY KEY", "decisions_pkey")
TABLES = {"decisions", "decision_columns", "summed_hours", "day_columns", "summed_days"}
OWN, TEAM = RowScope(user="u7"), RowScope(user="u7", team="t3")
DAY = {"since": NOON, "until": NOON + timedelta(days=1)}
RARE = {
    "tool": "Rare", "rule": "none", "outcome": "ran_anyway", "q": "nowhere", "client": "gemini", "effect": "deny",
    "decision": "block", "event": "SessionStart", "revision": "r2", "agent_id": "a1", "agent_type": "Explore", "project": "p3",
}  # fmt: skip
CASES = {
    "no filter": (Filters(), "pkey"),
    "user": (Filters(user="u7"), "user"),
    "session": (Filters(session_id="s9"), "session"),
    "a session's tool": (Filters(session_id="s9", tool="Rare"), "session"),
    **{name: (Filters(**{name: value}), "pkey") for name, value in RARE.items()},
    "a day": (Filters(**DAY), "pkey"),
    "own": (Filters(scope=OWN), "user"),
    "own, of a session": (Filters(scope=OWN, session_id="s9"), "session"),
    "own, overridden": (Filters(scope=OWN, overridden=True), "user"),
    "team": (Filters(scope=TEAM), ("team", "user")),
}
"""The index that finds the rows of hours without columns; other filters are checked on a window of them."""


@pytest.fixture
async def filled(database):
    """Fill a database with rows enough for its planner to see what is rare."""
    series = (
        f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {ROWS}) SELECT n FROM s) s"  # noqa: S608
        if database.dialect == "sqlite"
        else f"generate_series(1, {ROWS}) s(n)"
    )
    hexed = "printf('%06x', n)" if database.dialect == "sqlite" else "lpad(to_hex(n), 6, '0')"
    columns = {
        "id": f"'019dd0' || substr({hexed}, 1, 2) || '-' || substr({hexed}, 3, 4) || '-7000-8000-000000000000'",
        "at": "'2026-05-01 00:00:00'", "organisation": "'default'", "team": "'t' || (n % 8)", "user": "'u' || (n % 60)",
        "project": "'p' || (n % 40)", "session_id": "'s' || (n / 20)", "agent_id": "CASE WHEN n % 10 = 0 THEN 'a' || (n / 100) ELSE '' END",
        "agent_type": "CASE WHEN n % 10 = 0 THEN 'Explore' ELSE '' END", "client": "CASE WHEN n % 300 = 0 THEN 'gemini' ELSE 'codex' END",
        "event": "CASE WHEN n % 400 = 0 THEN 'SessionStart' ELSE 'PreToolUse' END", "tool_use_id": "''",
        "tool": "CASE WHEN n % 500 = 0 THEN 'Rare' ELSE 'Bash' END",
        "effect": "CASE WHEN n % 50 = 0 THEN 'deny' ELSE 'abstain' END",
        "decision": "CASE WHEN n % 50 = 0 THEN 'block' ELSE 'allow' END", "rules": "'[]'", "mode_enabled": "n > 0",
        "mode_level": "''", "mode_scope": "''", "revision": "'r' || (n / 300)", "elapsed_us": "1", "degraded": "'[]'", "command": "''",
        "paths": "'[]'", "model_injected": "''", "overridden": "n % 1000 = 0",
        "outcome": "CASE WHEN n % 700 = 0 THEN 'ran_anyway' ELSE 'ran' END",
    }  # fmt: skip
    if database.dialect != "sqlite":
        columns |= {name: f"{columns[name]}::json" for name in ("rules", "degraded", "paths")}
        columns["at"] += "::timestamptz"
    names = ", ".join(f'"{name}"' for name in columns)
    async with database.transaction() as connection:
        insert = f"INSERT INTO decisions ({names}) SELECT {', '.join(columns.values())} FROM {series}"  # noqa: S608
        await connection.execute(text(insert))
    async with database.transaction() as connection:
        await connection.execute(text("ANALYZE"))
    return database


def at_fault(lines):
    """Return the lines of a plan that read or sort a whole table."""
    return [
        line
        for line in lines
        if "SCAN decision" in line or "TEMP B-TREE" in line or "Seq Scan on decision" in line or "Sort" in line
    ]


async def test_each_list_takes_an_index_in_the_order_of_its_page(filled):
    wrong = {}
    for name, (wanted, indexes) in CASES.items():
        made = await plans(filled, decisions.find_records(filled, "default", wanted))
        scans = ["\n".join(lines) for statement, lines in made if "ORDER BY" in statement]
        for lines in (lines for statement, lines in made if "ORDER BY" in statement and at_fault(lines)):
            wrong[name] = lines
        for index in (indexes,) if isinstance(indexes, str) else indexes:
            # In Postgres, a team that made a quarter of the rows is found as well by the primary key.
            named = PRIMARY if index == "pkey" else (f"ix_decisions_{index} ", *(PRIMARY if index == "team" else ()))
            if not any(one in told + " " for told in scans for one in named):
                wrong[name] = f"wants {index}\n" + "\n".join(scans)
    assert not wrong, listed(wrong)


async def test_each_list_bounds_its_ids_once_at_each_end(filled):
    """SQLite searches by any one of several bounds, and reads the rows between it and a closer one."""
    _, cursor = await decisions.find_records(filled, "default", Filters())
    later = NOON + timedelta(days=2)
    await ColumnWriter(filled, "default", now=lambda: later).catch_up(asyncio.Event())
    period = {"since": NOON - timedelta(days=30), "until": later}
    counts = decision_counts_store.counts(filled, "default", Filters(**period), "day", "effect")
    works = {"counts": counts} | {
        f"{name} {more}": decisions.find_records(filled, "default", msgspec.structs.replace(one, **more), cursor)
        for name, (one, _) in CASES.items()
        for more in ({}, period)
    }
    wrong = {}
    for name, work in works.items():
        for statement, _ in await plans(filled, work):
            bounds = re.findall(r"decisions\.id (<|>)", statement)
            if len(bounds) != len(set(bounds)):
                wrong[name] = statement
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("wanted", [{"tool": "Rare"}, {"rule": "none"}, {"project": "p3"}, {"outcome": "ran_anyway"}])
async def test_a_rare_filter_reads_columns_and_only_the_rows_of_its_page(filled, monkeypatch, wanted):
    monkeypatch.setattr("baton.records.pipeline.search.WINDOW", ROWS)
    by_rows = await decisions.find_records(filled, "default", Filters(**wanted))
    await ColumnWriter(filled, "default", now=lambda: NOON + timedelta(days=2)).catch_up(asyncio.Event())
    made = await plans(filled, decisions.find_records(filled, "default", Filters(**wanted)))
    assert any("day_columns" in statement or "decision_columns" in statement for statement, _ in made)
    wrong = [(statement, lines) for statement, lines in made if at_fault([one for one in lines if "decisions" in one])]
    assert not wrong
    assert (await decisions.find_records(filled, "default", Filters(**wanted)))[0] == by_rows[0]


async def test_analytics_read_columns_and_the_rows_of_hours_that_have_none(filled):
    later = NOON + timedelta(days=2)
    await ColumnWriter(filled, "default", now=lambda: later).catch_up(asyncio.Event())
    since = NOON - timedelta(days=30)
    asked, period = GroupFilter(since=since), Period(since, later)
    works = {
        "delegation": delegation_share_store.find_groups(filled, "default", TEAM, asked, "user", agent_tools=["Task"]),
        "rule hits": rule_hits_store.hits(filled, "default", RowScope(), period),
        "latencies": latency.find_counts(filled, "default", RowScope(), latency.Period(since, later), "day", user="u7"),
        "a session": delegation_share_store.find_groups(
            filled, "default", RowScope(), GroupFilter(since=since, session_id="s9"), "session", agent_tools=["Task"]
        ),
        "costs": costs_store.of_calls(filled, "default", RowScope(), costs_store.CostFilter(since=since), "user"),
    }
    for group in ("effect", "rule", "user", "client", "outcome"):
        wanted = Filters(since=since, until=later)
        works[f"counts by {group}"] = decision_counts_store.counts(filled, "default", wanted, "day", group)
    for name, filters in (("tool", {"tool": "Rare"}), ("rule", {"rule": "r36"}), ("revision", {"revision": "r2"})):
        wanted = Filters(since=since, until=later, **filters)
        works[f"counts of a {name}"] = decision_counts_store.counts(filled, "default", wanted, "day", "effect")
    for name, work in works.items():
        for statement, lines in await plans(filled, work):
            wrong = [
                one for one in lines for table in TABLES if f"SCAN {table}" in one or f"Seq Scan on {table}" in one
            ]
            assert not wrong, (name, statement, lines)
