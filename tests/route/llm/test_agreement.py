"""A model often contradicted by people is suspended: the duration, and its next chance."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.records.pipeline import store as decisions
from baton.route.feedback import store as route_feedback
from baton.route.feedback.store import Feedback
from tests.support.breakers import ADMIN, Server
from tests.support.records import record


@pytest.fixture
def server(database, redis):
    return Server(database, redis)


@pytest.mark.parametrize(
    ("tier", "right", "wrong", "days", "allows"),
    [
        ("model", 11, 8, 0, True),
        ("model", 11, 9, 0, False),
        ("model", 12, 8, 0, True),
        ("model", 0, 20, 0, False),
        ("model", 0, 20, 4, True),
        ("scorer", 0, 20, 0, True),
    ],
)
async def test_disagreement_disables_a_model_while_it_counts(database, server, tier, right, wrong, days, allows):
    await feedback(database, tier, right, wrong, datetime.now(UTC) - timedelta(days=days))
    await server.breakers.count_agreement(server.breaker)
    assert server.breaker.allows == allows
    seen = server.breaker.status().agreement
    assert (seen.judged, seen.right) == ((right + wrong, right) if tier == "model" and not days else (0, 0))


async def test_a_reset_gives_a_model_that_was_held_back_another_chance(database, server):
    await server.breakers.load()
    await feedback(database, "model", 0, 20, datetime.now(UTC))
    await server.breakers.count_agreement(server.breaker)
    assert not server.breaker.allows
    await server.breakers.set(ADMIN, "model", "reset", "it is a new model")
    assert server.breaker.allows
    await server.breakers.count_agreement(server.breaker)
    assert server.breaker.allows


@pytest.mark.parametrize("action", ["open", "close"])
async def test_feedback_counts_while_a_breaker_is_held(database, server, action):
    await feedback(database, "model", 0, 20, datetime.now(UTC))
    await server.breakers.set(ADMIN, "model", action, "")
    await server.breakers.count_agreement(server.breaker)
    assert server.breaker.status().agreement.judged == 20


async def test_a_model_that_people_disagree_with_is_asked_where_a_person_holds_it_closed(database, server):
    await feedback(database, "model", 0, 20, datetime.now(UTC))
    await server.breakers.count_agreement(server.breaker)
    await server.breakers.set(ADMIN, "model", "close", "")
    assert server.breaker.allows


@pytest.mark.parametrize(("decided_in", "said_in"), [("acme", "other"), ("other", "acme")])
async def test_feedback_of_another_organisation_does_not_count(database, server, decided_in, said_in):
    await feedback(database, "model", 0, 20, datetime.now(UTC), decided_in=decided_in, said_in=said_in)
    await server.breakers.count_agreement(server.breaker)
    assert server.breaker.status().agreement.judged == 0


async def feedback(database, tier, right, wrong, at, *, decided_in="acme", said_in="acme"):
    """Store routes that a tier decided, and what people said of them."""
    for number in range(right + wrong):
        decided = record(organisation=decided_in, routed_by=tier, routed_to="a")
        await decisions.add(database, [decided])
        await route_feedback.put(
            database,
            said_in,
            Feedback(
                route_id=decided.id,
                user="ann",
                team="web",
                at=at,
                selected="a",
                right_agent="a" if number < right else "b",
            ),
        )
