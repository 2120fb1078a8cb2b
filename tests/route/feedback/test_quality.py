"""Routing quality: shares and accuracy by day against a hand-counted store, visibility, and a table."""

import csv
import io
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from baton.kernel.base.errors import Forbidden, Invalid
from baton.records.pipeline import store
from baton.route.feedback import store as feedback_store
from baton.route.feedback.quality import RouteQuality
from baton.route.feedback.store import Feedback
from baton.rules.call.call import Principal
from tests.support.records import record
from tests.support.server import until

ADMIN = Principal(user="root", role="admin")
ANN = Principal(user="ann", team="t")
LEAD = msgspec.structs.replace(ANN, role="lead")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PERIOD = {"since": NOON - timedelta(hours=1), "until": NOON + timedelta(days=2)}


def prompt(told, tier, hours=0, **fields):
    return record(event="UserPromptSubmit", at=NOON + timedelta(hours=hours), routed_as=told, routed_by=tier, **fields)


def said(route, selected, right, hours=0, user="ann", team="t"):
    return Feedback(
        route_id=route, user=user, team=team, at=NOON + timedelta(hours=hours), selected=selected, right_agent=right,
    )  # fmt: skip


RECORDS = [
    prompt("agent", "explicit"),
    prompt("agent", "scorer", routed_to="a"),
    prompt("shortlist", "scorer", routed_to="a"),
    prompt("shortlist", "none", user="bob"),
    prompt("none", "none", hours=24, user="eve", team="other"),
    # Not counted: of another organisation, a prompt that was not routed, a call, before the period.
    prompt("agent", "scorer", organisation="other"),
    record(event="UserPromptSubmit", at=NOON),
    record(at=NOON),
    prompt("agent", "scorer", hours=-2),
]
FEEDBACK = [
    said("1", "a", "a"),
    said("2", "a", "b"),
    said("3", "", "a", user="bob"),
    said("4", "", "", hours=24, user="eve", team="other"),
    said("5", "a", "", hours=24, user="eve", team="other"),
    said("6", "a", "a", hours=-2),
]
# For whom, filters: by day the prompts, confident, shortlist, none, judged, right, false routes, missed, accuracy.
CASES = [
    (ADMIN, {}, {"05-04": (4, 2, 2, 0, 3, 1, 1, 1, 0.3333), "05-05": (1, 0, 0, 1, 2, 1, 1, 0, 0.5)}),
    (LEAD, {}, {"05-04": (4, 2, 2, 0, 3, 1, 1, 1, 0.3333)}),
    (ANN, {}, {"05-04": (3, 2, 1, 0, 2, 1, 1, 0, 0.5)}),
    (ANN, {"user": "bob"}, {}),
    (ADMIN, {"user": "bob"}, {"05-04": (1, 0, 1, 0, 1, 0, 0, 1, 0.0)}),
    (ADMIN, {"team": "other"}, {"05-05": (1, 0, 0, 1, 2, 1, 1, 0, 0.5)}),
]
FIELDS = ("prompts", "confident", "shortlist", "none", "judged", "right", "false_routes", "missed", "accuracy")


async def test_shares_and_accuracy_are_those_of_a_hand_counted_store(database):
    await store.add(database, RECORDS)
    for one in FEEDBACK:
        await feedback_store.put(database, "default", one)
    await feedback_store.put(database, "other", said("7", "a", "a"))
    quality = RouteQuality(database)
    for principal, filters, expected in CASES:
        found = await quality.summarize(principal, **PERIOD, **filters)
        shown = {f"{one.at:%m-%d}": tuple(getattr(one, name) for name in FIELDS) for one in found.items}
        assert shown == expected, (principal.role, filters)
    whole = (await quality.summarize(ADMIN, **PERIOD)).total
    assert (whole.prompts, whole.judged, whole.accuracy) == (5, 5, 0.4)
    assert whole.tiers == {"explicit": 1, "none": 2, "scorer": 2}


async def test_an_empty_store_has_an_empty_total(database):
    found = await RouteQuality(database).summarize(ADMIN)
    assert (found.total.prompts, found.total.accuracy, found.items) == (0, 0.0, [])


async def test_a_period_and_a_role_are_checked(no_database):
    quality = RouteQuality(no_database)
    with pytest.raises(Invalid, match="more than 366 days"):
        await quality.summarize(ADMIN, since=NOON - timedelta(days=367), until=NOON)
    with pytest.raises(Forbidden):
        await quality.summarize(msgspec.structs.replace(ANN, role="hook"))


AGENTS = [
    {"name": "test-fixer", "description": "Use when tests fail: runs pytest and mends failing tests."},
    {"name": "sql-writer", "description": "Use to write SQL queries for the warehouse."},
]


def test_feedback_on_a_prompt_is_recorded_and_counted(http):
    route = http.post("/route", json={"prompt": "use the test-fixer agent please", "roster": AGENTS}).json()
    assert route["selected_agent"] == "test-fixer"
    kept = until(lambda: (answer := http.get(f"/decisions/{route['id']}")).status_code == 200 and answer.json())
    assert kept["routed_as"] == "agent"
    http.post(f"/route/{route['id']}/feedback", json={"agent": "sql-writer"})
    total = http.get("/analytics/routing").json()["total"]
    assert total["confident"] >= 1
    assert total["false_routes"] >= 1
    (row,) = csv.DictReader(io.StringIO(http.get("/analytics/routing", headers={"Accept": "text/csv"}).text))
    assert int(row["prompts"]) == total["prompts"]
