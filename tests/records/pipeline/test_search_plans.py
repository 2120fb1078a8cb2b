"""The plans of the queries over decisions: none reads or sorts all rows, whatever is asked."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text

from baton.operate.costs import store as costs_store
from baton.people.row_scope import RowScope
from baton.records.analytics import latency_store
from baton.records.columns.writer import ColumnWriter
from baton.records.pipeline import store as decisions
from baton.records.pipeline.store import Filters
from baton.records.replay import rule_hits_store
from baton.records.replay.period import Period
from baton.records.review.decision_counts import store as decision_counts_store
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import GroupFilter
from tests.records.pipeline.test_store import NOON
from tests.support.cases import listed
from tests.support.plans import plans

ROWS = 6_000
TABLES = {"decisions", "decision_rules", "decision_columns", "summed_hours", "day_columns", "summed_days"}
OWN, TEAM = RowScope(user="u7"), RowScope(user="u7", team="t3")
DAY = {"since": NOON, "until": NOON + timedelta(days=1)}
CASES = {
    "no filter": (Filters(), "id"),
    "user": (Filters(user="u7"), "user"),
    "session": (Filters(session_id="s9"), "session"),
    "agent": (Filters(agent_id="a3"), "agent_id"),
    "client": (Filters(client="gemini"), "client"),
    "event": (Filters(event="SessionStart"), "event"),
    "usual event": (Filters(event="PreToolUse"), "id"),
    "tool": (Filters(tool="Rare"), "tool"),
    "effect": (Filters(effect="deny"), "effect"),
    "a rule's effect": (Filters(effect="shadow"), "id"),
    "usual effect": (Filters(effect="abstain"), "id"),
    "decision": (Filters(decision="block"), "effect"),
    "usual decision": (Filters(decision="allow"), "id"),
    "outcome": (Filters(outcome="ran_anyway"), "outcome"),
    "agent type": (Filters(agent_type="Explore"), "agent_type"),
    "revision": (Filters(revision="r2"), "revision"),
    "project": (Filters(project="p3"), "project"),
    "overridden": (Filters(overridden=True), "overridden"),
    "not overridden": (Filters(overridden=False), "id"),
    "a day": (Filters(**DAY), "id"),
    "a day of a tool": (Filters(tool="Rare", **DAY), "tool"),
    "own": (Filters(scope=OWN), "user"),
    "own, of a session": (Filters(scope=OWN, session_id="s9"), "session"),
    "a usual tool with a rare outcome": (Filters(tool="Bash", outcome="ran_anyway"), "outcome"),
    "would have been refused": (Filters(effect="shadow"), "rules_effect"),
    "lifted": (Filters(effect="lifted"), "rules_effect"),
    "guided on a day": (Filters(effect="guidance", **DAY), "rules_effect"),
    "own, would have been refused": (Filters(scope=OWN, effect="shadow"), "rules_effect"),
    "a usual tool that would have been refused": (Filters(tool="Bash", effect="shadow"), "rules_effect"),
    "team": (Filters(scope=TEAM), ("team", "user")),
    "team, overridden": (Filters(scope=TEAM, overridden=True), ("overridden", "overridden")),
}
SHADOWED = [(f"p/{name}", effect, "00-7000-8000-000000000000") for name, effect in
            [("x", "shadow"), ("y", "shadow"), ("z", "lifted"), ("w", "guidance")]]  # fmt: skip
"""Rules that matched each 256th decision without an effect, or with a softer one; two of them in shadow."""


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
        await connection.execute(
            text("INSERT INTO decision_rules SELECT 'r' || length(id), id, 'deny' FROM decisions WHERE effect = 'deny'")
        )
        for rule, effect, tail in SHADOWED:
            await connection.execute(
                text("INSERT INTO decision_rules SELECT :rule, id, :effect FROM decisions WHERE id LIKE :ends"),
                {"rule": rule, "effect": effect, "ends": f"%{tail}"},
            )
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


def _name(index):
    return "ix_decision_rules_effect" if index == "rules_effect" else f"ix_decisions_{index}"


async def test_each_list_takes_an_index_in_the_order_of_its_page(filled):
    wrong = {}
    for name, (wanted, indexes) in CASES.items():
        made = [
            lines
            for statement, lines in await plans(filled, decisions.find(filled, "default", wanted))
            if "decisions.command" in statement
        ]
        for index, lines in zip((indexes,) if isinstance(indexes, str) else indexes, made, strict=True):
            told = "\n".join(lines)
            # Of one organisation alone, the primary key is as good as the index that begins with the organisation, and of a
            # team that made a quarter of the rows, nearly.
            named = [f"{_name(index)} ", *(["decisions_pkey "] if index in {"id", "team"} else [])]
            if at_fault(lines) or not any(one in told + " " for one in named):
                wrong[name] = f"wants {_name(index)}\n{told}"
    assert not wrong, listed(wrong)


async def test_what_compares_the_filters_reads_no_rows(filled):
    wanted = Filters(tool="Bash", outcome="ran_anyway", rule="r36", **DAY)
    made = await plans(filled, decisions.find(filled, "default", wanted))
    for _, lines in made:
        assert not at_fault(lines), lines
    if filled.dialect == "sqlite":
        probes = [lines for statement, lines in made if "count(*)" in statement]
        assert len(probes) == 3
        assert all("COVERING INDEX" in "\n".join(lines) for lines in probes)


async def test_a_list_by_rule_begins_with_the_hits_of_the_rule(filled):
    [(_, lines)] = await plans(filled, decisions.find(filled, "default", Filters(rule="none"), limit=5))
    told = "\n".join(lines)
    assert not at_fault(lines), told
    assert "decision_rules" in told
    assert "rule=?" in told or "'none'" in told, told


async def test_analytics_read_columns_and_the_rows_of_hours_that_have_none(filled):
    later = NOON + timedelta(days=2)
    await ColumnWriter(filled, "default", now=lambda: later).catch_up(asyncio.Event())
    since = NOON - timedelta(days=30)
    asked, period = GroupFilter(since=since), Period(since=since, until=later)
    works = {
        "delegation": delegation_share_store.find(filled, "default", TEAM, asked, "user", agent_tools=["Task"]),
        "rule hits": rule_hits_store.hits(filled, "default", RowScope(), period),
        "latencies": latency_store.find(
            filled, "default", RowScope(), latency_store.LatencyFilter(since=since, until=later, user="u7"), "day"
        ),
        "a session": delegation_share_store.find(
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
