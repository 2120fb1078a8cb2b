"""Decision times: percentiles against a hand-counted store, visibility, and undecided calls."""

import asyncio
import csv
import io
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from baton.kernel.base.errors import Forbidden, Invalid
from baton.records.columns.tables import width_us
from baton.records.columns.writer import ColumnWriter
from baton.records.hook_failures import HookFailures
from baton.records.latency import Latencies, percentile
from baton.records.pipeline import store
from baton.rules.call.call import Principal
from tests.support.cases import every
from tests.support.records import record
from tests.support.server import until

ADMIN = Principal(user="root", role="admin")
ANN = Principal(user="ann", team="t")
LEAD = msgspec.structs.replace(ANN, role="lead")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PERIOD = {"since": NOON - timedelta(hours=1), "until": NOON + timedelta(days=2)}
PROMPT = {"event": "UserPromptSubmit", "routed_by": "scorer"}


def at(hours, elapsed_us, **fields):
    return record(at=NOON + timedelta(hours=hours), elapsed_us=elapsed_us, **fields)


RECORDS = [
    *(at(0, 100) for _ in range(89)),
    *(at(0, 900, user="bob") for _ in range(10)),
    at(0, 7_000, degraded=("redis", "history")),
    at(0, 40_000, degraded=("model",), **PROMPT),
    at(1, 205, user="eve", team="other", degraded=("redis",)),
    at(26, 300),
    # Not counted: of another organisation, a prompt that was not routed, before and after the period.
    at(0, 9_999_999, organisation="other"),
    at(0, 9_999_999, event="UserPromptSubmit"),
    at(-2, 9_999_999),
    at(49, 9_999_999),
]
# By what, for whom, filters: each bucket's event, decisions, percentiles in ms, and what decisions lacked.
CASES = [
    ("hour", ADMIN, {}, [
        ("05-04 12", "PreToolUse", 100, (0.1045, 0.9045, 0.9045), 1, {"history": 1, "redis": 1}),
        ("05-04 12", "UserPromptSubmit", 1, (40.4995, 40.4995, 40.4995), 1, {"model": 1}),
        ("05-04 13", "PreToolUse", 1, (0.2045, 0.2045, 0.2045), 1, {"redis": 1}),
        ("05-05 14", "PreToolUse", 1, (0.3045, 0.3045, 0.3045), 0, {}),
    ]),
    ("day", ADMIN, {"event": "PreToolUse"}, [
        ("05-04 00", "PreToolUse", 101, (0.1045, 0.9045, 0.9045), 2, {"history": 1, "redis": 2}),
        ("05-05 00", "PreToolUse", 1, (0.3045, 0.3045, 0.3045), 0, {}),
    ]),
    ("day", LEAD, {"user": "bob"}, [("05-04 00", "PreToolUse", 10, (0.9045, 0.9045, 0.9045), 0, {})]),
    ("day", ANN, {"user": "bob"}, []),
    ("day", ANN, {"event": "PreToolUse"}, [
        ("05-04 00", "PreToolUse", 90, (0.1045, 0.1045, 7.0495), 1, {"history": 1, "redis": 1}),
        ("05-05 00", "PreToolUse", 1, (0.3045, 0.3045, 0.3045), 0, {}),
    ]),
    ("day", ADMIN, {"team": "other"}, [("05-04 00", "PreToolUse", 1, (0.2045, 0.2045, 0.2045), 1, {"redis": 1})]),
]  # fmt: skip


async def summed(database):
    writer = ColumnWriter(database, "default", now=lambda: NOON + timedelta(days=3))
    assert await writer.catch_up(asyncio.Event())


@pytest.mark.matrix(3)
@pytest.mark.parametrize("with_sums", [False, True])
async def test_percentiles_are_those_of_a_hand_counted_store(database, with_sums):
    await store.add(database, RECORDS)
    if with_sums:
        await summed(database)
    latencies = Latencies(database)
    for by, principal, filters, expected in CASES:
        found = await latencies.summarize(principal, by, **PERIOD, **filters)
        shown = [
            (
                f"{one.at:%m-%d %H}",
                one.event,
                one.decisions,
                (one.p50_ms, one.p90_ms, one.p99_ms),
                one.degraded,
                one.lacking,
            )
            for one in found.items
        ]
        assert shown == expected, (by, principal.role, filters)
    (calls, prompts) = (await latencies.summarize(ADMIN, "hour", **PERIOD)).events
    assert (calls.event, calls.decisions, calls.degraded, calls.p90_ms) == ("PreToolUse", 102, 2, 0.9045)
    assert (prompts.event, prompts.decisions) == ("UserPromptSubmit", 1)


@every("us", [1, 42, 99, 100, 109, 999, 1_000, 54_321, 99_999, 250_000, 9_999_999])
def test_a_percentile_is_within_five_percent(us):
    width = next(one for one in (1, 10, 100, 1_000, 10_000, 100_000) if us < 100 * one)
    least = us - us % width
    assert width_us(least) == width
    assert abs(percentile({least: 7}, 0.9) - us) <= 0.05 * us


async def test_an_empty_store_has_no_percentiles(database):
    found = await Latencies(database).summarize(ADMIN, "day")
    assert (found.events, found.items, found.failures) == ([], [], [])
    assert percentile({}, 0.5) == 0


async def test_a_period_and_a_role_are_checked(no_database):
    latencies = Latencies(no_database)
    for by, days in (("hour", 31), ("day", 366)):
        with pytest.raises(Invalid, match=f"more than {days} days"):
            await latencies.summarize(ADMIN, by, since=NOON - timedelta(days=days, seconds=1), until=NOON)
    with pytest.raises(Forbidden):
        await latencies.summarize(msgspec.structs.replace(ANN, role="hook"), "day")


async def test_failures_are_counted_by_hour_and_day_for_everybody(database):
    failures, latencies = HookFailures(database, "default"), Latencies(database)
    for _ in range(2):
        failures.failed("codex", "allow", "unauthenticated")
        await failures.flush()
    failures.failed("codex", "block", "unauthenticated")
    await failures.flush()
    for by in ("hour", "day"):
        found = (await latencies.summarize(ANN, by)).failures
        assert [(one.client, one.answer, one.calls) for one in found] == [("codex", "allow", 2), ("codex", "block", 1)]
        now = datetime.now(UTC)
        assert now - found[0].at < timedelta(days=1, minutes=1)
    assert (await latencies.summarize(ANN, "hour", user="ann")).failures == []
    assert (await latencies.summarize(ADMIN, "day", until=NOON)).failures == []


async def test_failures_are_held_while_the_database_is_away(no_database, database):
    failures = HookFailures(no_database, "default")
    failures.failed("codex", "allow", "unauthenticated")
    await failures.flush()
    failures.failed("codex", "allow", "unauthenticated")
    failures._database = database
    await failures.flush()
    assert [one.calls for one in (await Latencies(database).summarize(ANN, "hour")).failures] == [2]


@pytest.mark.slow
def test_a_hook_that_could_not_be_decided_is_in_the_answer(http):
    wrong = http.post("/hooks/codex", content=b"no json", headers={"Baton-On-Failure": "allow"})
    assert wrong.status_code == 200
    wanted = {"client": "codex", "answer": "allow"}
    until(lambda: any(wanted.items() <= one.items() for one in http.get("/analytics/latency").json()["failures"]))


def test_latencies_are_json_and_a_table(http, session):
    call = session | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    http.post("/hooks/claude-code", json=call)
    found = until(lambda: http.get("/analytics/latency", params={"event": "PreToolUse"}).json()["items"])
    assert found[-1]["decisions"] >= 1
    assert 0 < found[-1]["p50_ms"] <= found[-1]["p99_ms"]
    table = http.get("/analytics/latency", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    assert next(csv.DictReader(io.StringIO(table.text)))["event"] == "PreToolUse"


@every("query", [{"by": "week"}, {"event": "Stop"}, {"since": "2020-01-01T00:00:00Z"}])
def test_a_wrong_question_names_its_field(http, query):
    answer = http.get("/analytics/latency", params=query)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, next(iter(query)))
