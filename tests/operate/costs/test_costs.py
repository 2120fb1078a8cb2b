"""Costs of agents: priced calls and jobs, by every grouping, each token once, each reader their own."""

import csv
import io
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from baton.delegate.core.job import Job
from baton.delegate.core.stores import jobs as jobs_store
from baton.delegate.jobs.costs import parse_prices
from baton.kernel.base.errors import Forbidden, Invalid
from baton.operate.costs import AgentCosts
from baton.records.pipeline import store
from baton.rules.call.call import Principal
from tests.support.records import record
from tests.support.server import until

PRICES = parse_prices("CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ADMIN = Principal(user="root", role="admin")
ANN = Principal(user="ann", team="t")
MILLION = 1_000_000


def call(model, input_tokens=MILLION, cached_tokens=0, output_tokens=0, at=NOON, **fields):
    given = {"tool": "Agent", "started_agent": "Explore", "project": "shop"} | fields
    tokens = {"input_tokens": input_tokens, "cached_tokens": cached_tokens, "output_tokens": output_tokens}
    return record(at=at, model_used=model, **tokens, **given)


def job(name, *, at=NOON, **fields):
    given = {"user": "ann", "team": "t", "organisation": "default", "prompt": "p", "state": "completed"} | fields
    required = {
        "timeout_s": 1,
        "inactivity_timeout_s": 0,
        "queue_expiry_s": 0,
        "workspace": "",
        "isolation": "in_place",
    }
    return Job(id=name, created_at=at, **required | given)


CALLS = [
    call("claude-haiku-4-5", output_tokens=MILLION),
    call("claude-sonnet-5", cached_tokens=10 * MILLION, user="bob", started_agent="review"),
    call("gpt-9", 7, 8, 9),
    call("claude-opus-5", at=NOON + timedelta(hours=12), project="mill", user="eve", team="other"),
    # Not counted: within a job, of Baton's own tools, of another organisation, without tokens, before the period.
    call("claude-opus-5", role="delegating-agent"),
    call("claude-opus-5", role="agent"),
    call("claude-opus-5", tool="mcp__baton__delegate_run"),
    call("claude-opus-5", organisation="other"),
    call("", 0),
    call("claude-opus-5", at=NOON - timedelta(days=30)),
]
JOBS_MADE = [
    job("a", tier="CHEAP", provider="codex", input_tokens=MILLION, output_tokens=MILLION, project="shop"),
    job("b", provider="claude_code", agent_type="Explore", model="opus", cost_usd=0.5, input_tokens=MILLION),
    job("c", user="bob", provider="codex", input_tokens=MILLION),
    job("d", organisation="other", cost_usd=9.0),
    job("e", at=NOON - timedelta(days=30), cost_usd=9.0),
]
# By group: agent calls, jobs, USD of calls, USD of jobs.
CASES = [
    ("user", ADMIN, {}, {"ann": (2, 2, 6.0, 6.5), "bob": (1, 1, 6.0, 5.0), "eve": (1, 0, 5.0, 0.0)}),
    ("user", ANN, {}, {"ann": (2, 2, 6.0, 6.5)}),
    ("user", msgspec.structs.replace(ANN, role="lead"), {}, {"ann": (2, 2, 6.0, 6.5), "bob": (1, 1, 6.0, 5.0)}),
    ("team", ADMIN, {}, {"t": (3, 3, 12.0, 11.5), "other": (1, 0, 5.0, 0.0)}),
    ("project", ADMIN, {}, {"shop": (3, 1, 12.0, 6.0), "": (0, 2, 0.0, 5.5), "mill": (1, 0, 5.0, 0.0)}),
    ("agent", ADMIN, {}, {"Explore": (3, 1, 11.0, 0.5), "codex": (0, 2, 0.0, 11.0), "review": (1, 0, 6.0, 0.0)}),
    ("model", ADMIN, {"user": "ann"},
     {"claude-haiku-4-5": (1, 0, 6.0, 0.0), "codex": (0, 1, 0.0, 6.0), "opus": (0, 1, 0.0, 0.5), "gpt-9": (1, 0, 0.0, 0.0)}),
    ("day", ADMIN, {}, {"2026-05-04": (3, 3, 12.0, 11.5), "2026-05-05": (1, 0, 5.0, 0.0)}),
    ("day", ADMIN, {"project": "mill", "team": "other"}, {"2026-05-05": (1, 0, 5.0, 0.0)}),
    ("day", ADMIN, {"session_id": "none"}, {}),
]  # fmt: skip


@pytest.fixture
async def costs(database):
    await store.add(database, CALLS)
    async with database.transaction() as connection:
        for one in JOBS_MADE:
            await jobs_store.add(connection, one)
    return AgentCosts(database, PRICES)


async def test_costs_are_summed_up_by_every_grouping_and_counted_once(costs):
    for by, principal, filters, expected in CASES:
        found = await costs.find(
            principal, by, since=NOON - timedelta(days=1), until=NOON + timedelta(days=2), **filters
        )
        shown = {one.group: (one.agent_calls, one.jobs, one.calls_usd, one.jobs_usd) for one in found}
        assert shown == expected, (by, principal.role, filters)
        assert [one.usd for one in found] == [round(one.calls_usd + one.jobs_usd, 6) for one in found]
        if by != "day":
            assert [one.usd for one in found] == sorted((one.usd for one in found), reverse=True)


async def test_tokens_of_a_model_without_a_price_are_shown_apart(costs):
    found = await costs.find(ADMIN, "model", since=NOON, until=NOON + timedelta(days=2))
    (one,) = [one for one in found if one.group == "gpt-9"]
    assert (one.unpriced_tokens, one.usd) == (24, 0.0)
    assert (one.input_tokens, one.cached_tokens, one.output_tokens) == (7, 8, 9)


async def test_a_period_and_a_role_are_checked(no_database):
    costs = AgentCosts(no_database, PRICES)
    with pytest.raises(Invalid, match="more than 366 days"):
        await costs.find(ADMIN, "day", since=NOON - timedelta(days=400), until=NOON)
    with pytest.raises(Forbidden):
        await costs.find(msgspec.structs.replace(ANN, role="hook"), "day")


AGENT = {"tool_name": "Agent", "tool_input": {"subagent_type": "Explore", "prompt": "p", "description": "d"}}


def test_what_a_client_reports_is_in_the_answer_as_json_and_as_csv(server, session):
    ended = {
        "resolvedModel": "claude-haiku-4-5",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 20},
    }
    with server.client(**{"Baton-User": "cora"}) as http:
        event = session | AGENT | {"tool_use_id": "t1"}
        http.post("/hooks/claude-code", json=event | {"hook_event_name": "PreToolUse"})
        http.post("/hooks/claude-code", json=event | {"hook_event_name": "PostToolUse", "tool_response": ended})
        query = {"by": "agent", "session_id": session["session_id"]}
        (one,) = until(lambda: http.get("/analytics/cost", params=query).json()["items"])
        assert (one["group"], one["agent_calls"], one["usd"]) == ("Explore", 1, 0.000111)
        table = http.get("/analytics/cost", params=query, headers={"Accept": "text/csv"})
        assert table.headers["content-type"].startswith("text/csv")
        (row,) = csv.DictReader(io.StringIO(table.text))
        assert (row["group"], row["input_tokens"], row["cached_tokens"]) == ("Explore", "10", "5")
        wrong = http.get("/analytics/cost", params={"by": "week"})
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "by")
