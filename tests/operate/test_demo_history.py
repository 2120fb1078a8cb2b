"""The past of a demonstration: copies of its decisions, in the last week, and of nothing else."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from baton.kernel.changes import audit_store
from baton.operate.demo_history import PAST, NotDemonstrationError, add_past
from baton.records.pipeline import store as decisions
from baton.records.pipeline.search import Filters
from baton.route.feedback import store as feedback_store
from baton.route.feedback.store import Feedback
from baton.rules.call.call import Principal
from baton.rules.call.verdict import RuleHit
from baton.shared.record_ids import moment_of
from tests.support.records import record

ADMIN = Principal(user="root", role="admin")
NOW = datetime.now(UTC)
DEMO = {"user": "demo-ada", "team": "demo-web"}


def chosen():
    """Return what chooses, the same way each time."""
    return Random(1)  # noqa: S311 - no secret


def calls():
    """A session of two calls, one of a sub-agent, and a route that nobody's session asked for."""
    first = record(
        **DEMO, session_id="demo-s", effect="deny", rules=(RuleHit("guardrails/force-push", "deny"),), elapsed_us=700
    )
    second = record(**DEMO, session_id="demo-s", agent_id="demo-s-explore", tool_use_id="toolu_1", model_used="haiku")
    route = record(**DEMO, session_id="", event="UserPromptSubmit", prompt="fix it", routed_to="test-fixer")
    return first, second, route


async def stored(database):
    found, cursor = [], ""
    while True:
        page, cursor = await decisions.find_records(database, "default", Filters(), cursor)
        found += page
        if not cursor:
            return found


async def test_the_demo_stores_copies_of_its_sessions_over_a_week(database):
    first, second, route = calls()
    await decisions.add(database, [first, second, route])
    said = Feedback(
        route_id=route.id, user="demo-ada", team="demo-web", at=route.at, selected="test-fixer", right_agent="docs-writer",
    )  # fmt: skip
    await feedback_store.put(database, "default", said)
    added = await add_past(database, ADMIN, NOW, chosen())
    made = [one for one in await stored(database) if one.id not in {first.id, second.id, route.id}]
    assert len(made) == added > 100
    assert all(NOW - timedelta(days=8) < one.at < NOW for one in made)
    assert all(abs(moment_of(one.id) - one.at) < timedelta(milliseconds=2) for one in made), "found by their moment"
    assert len({one.at.date() for one in made}) >= 5
    of_sessions = [one for one in made if one.event != "UserPromptSubmit"]
    assert all(one.session_id.startswith(PAST) for one in of_sessions)
    assert {(one.effect, one.rules, one.elapsed_us, one.model_used) for one in of_sessions} == {
        (one.effect, one.rules, one.elapsed_us, one.model_used) for one in (first, second)
    }
    assert all(one.agent_id == f"{one.session_id}-explore" for one in of_sessions if one.agent_id)
    assert len({one.tool_use_id for one in of_sessions if one.tool_use_id}) == sum(
        bool(one.tool_use_id) for one in of_sessions
    )
    routes = {one.id: one.at for one in made if one.event == "UserPromptSubmit"}
    judged = [
        one for one in await feedback_store.of_team(database, "default", "demo-web", 1_000) if one.route_id != route.id
    ]
    assert {one.route_id: one.at for one in judged} == routes
    entry = (await audit_store.find_entries(database, "default", kind="demonstration"))[0]
    assert (entry.actor, entry.after["decisions"]) == ("root", added)


async def test_a_second_past_and_a_past_of_nothing_are_refused(database):
    with pytest.raises(NotDemonstrationError, match="no demonstration"):
        await add_past(database, ADMIN, NOW, chosen())
    await decisions.add(database, list(calls()))
    await add_past(database, ADMIN, NOW, chosen())
    before = len(await stored(database))
    with pytest.raises(NotDemonstrationError, match="already"):
        await add_past(database, ADMIN, NOW, chosen())
    assert len(await stored(database)) == before


@pytest.mark.parametrize("age_days", [0, 30], ids=["newest", "oldest"])
async def test_a_store_that_holds_anything_of_others_is_left_as_it_is(database, age_days):
    real = record(user="dora", session_id="s", at=NOW - timedelta(days=age_days))
    await decisions.add(database, [*calls(), real])
    with pytest.raises(NotDemonstrationError, match="not the demonstration's"):
        await add_past(database, ADMIN, NOW, chosen())
    assert len(await stored(database)) == 4
