"""Learning of patterns: from edits, from repeated commands, from corrected routes."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.context.patterns import store as table
from baton.context.patterns.learning import PatternLearning, learned_confidence
from baton.context.patterns.pattern import PatternFilter
from baton.kernel.base.errors import Forbidden, StoreUnavailable
from baton.kernel.changes.announce import Changes
from baton.records.pipeline import store as decisions
from baton.route.feedback import quality_store
from baton.route.feedback import store as feedback
from baton.route.feedback.store import Feedback
from baton.rules.call.call import Principal
from tests.support.cases import every
from tests.support.patterns import LEAD, Store
from tests.support.records import record

NOW = datetime.now(UTC)
DEVELOPER = Principal(team="web", user="dan")


class InForce:
    """Policies of which the shell tables alone are asked for."""

    def __init__(self, policies):
        self.active = policies


@pytest.fixture
def store(database, redis):
    return Store(database, redis)


@pytest.fixture
def learning(store, database, redis, shipped):
    return PatternLearning(database, Changes(redis, database, "default"), store.patterns, InForce(shipped), "default")


def ran(command, sessions, *, team="web", project="shop", at=NOW, outcome="ran"):
    return [
        record(
            at=at,
            organisation="default",
            team=team,
            user=f"u{number % 3}",
            project=project,
            session_id=f"{team}{project}{number}",
            event="PreToolUse",
            tool="Bash",
            command=command,
            outcome=outcome,
        )
        for number in range(sessions)
    ]


@every(
    ("stated", "followed", "violated", "learned"),
    [(0.8, 0, 0, 0.8), (0.8, 20, 0, 0.9), (0.8, 0, 20, 0.4), (0.9, 10, 10, 0.7), (1.0, 0, 8, 0.7143), (0.7, 1000, 0, 0.9941)],
)  # fmt: skip
def test_edits_change_a_person_s_verdict(stated, followed, violated, learned):
    assert learned_confidence(stated, followed, violated) == learned


async def test_a_violated_pattern_is_retired_and_a_person_restores_it(store, learning, database):
    made = await store.add("Use pathlib", confidence=0.8)
    kept = await store.add("Write tests", confidence=0.8)
    await table.count(
        database, "default", {(made.id, "violated"): 10, (made.id, "followed"): 2, (kept.id, "followed"): 9}
    )
    assert await learning.learn() == 2
    await store.in_force.load()
    after = await store.patterns.get(LEAD, made.id)
    assert (after.confidence, after.stated, after.status, after.in_force) == (0.5625, 0.8, "validated", False)
    assert {one.pattern.id for one in await store.in_force.best("web", None, "", 9)} == {kept.id}
    assert await learning.learn() == 0
    again = await store.patterns.approve(LEAD, made.id, confidence=None, reason="it holds", version=str(after.version))
    assert (again.confidence, again.violated, again.in_force) == (0.8, 0, True)


async def test_checks_that_sessions_repeat_are_proposed_once(store, learning, database):
    await decisions.add(
        database,
        [
            *ran("make test", 7),
            *ran("pytest -q", 5, project="api"),
            *ran("pytest tests/a.py", 4),
            *ran("git status", 9),
            *ran("npm test", 6, outcome="failed"),
            *ran("npm run build", 6, at=NOW - timedelta(days=31)),
            *ran("go test ./...", 8, team="data"),
            *ran("make test && rm -rf build", 8),
        ],
    )
    made = await learning.propose(LEAD)
    assert [(one.signature, one.project, one.source, one.status) for one in made] == [
        ("Check your work with `make test`", "shop", "records", "proposed"),
        ("Check your work with `pytest -q`", "api", "records", "proposed"),
    ]
    assert (made[0].confidence, made[0].text) == (0.77, "7 sessions of 3 people ran it here within 30 days.")
    assert store.in_force.count("web") == 0, "a person approves"
    await store.patterns.retire(LEAD, made[0].id, reason="no", version="1")
    assert await learning.propose(LEAD) == []
    assert len(await store.patterns.find(LEAD, PatternFilter(source="records"), before_id="", limit=9)) == 2


async def test_routes_that_people_correct_alike_are_proposed(learning, database):
    learning.also_from(lambda *asked: quality_store.proposals(database, *asked))
    for number in range(4):
        said = Feedback(
            route_id=f"r{number}", user="ann", team="web", at=NOW, selected="writer",
            right_agent="tester" if number < 3 else "",
        )  # fmt: skip
        await feedback.put(database, "default", said)
    (made,) = await learning.propose(LEAD)
    assert (made.signature, made.domain) == ("Consider the agent `tester` before `writer`", "routing")


async def test_who_may_not_approve_has_nothing_proposed(learning):
    with pytest.raises(Forbidden):
        await learning.propose(DEVELOPER)


async def test_a_missing_database_is_reported(no_database, redis, shipped):
    changes = Changes(redis, no_database, "default")
    learning = PatternLearning(no_database, changes, None, InForce(shipped), "default")
    with pytest.raises(StoreUnavailable):
        await learning.propose(LEAD)
