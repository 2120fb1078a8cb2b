"""Fitting a team's weights as the server does it, on a real database."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from baton.engine.call.principal import Principal
from baton.engine.routing.features import NAMES
from baton.engine.routing.fit import LEAST, refit
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.route.feedback import fits_store, service, store
from baton.route.feedback.feedback import Feedback
from baton.route.feedback.service import RouteFeedback
from baton.route.feedback.traces import RouteTraces
from tests.support.databases import opened

LEA = Principal(organisation="acme", team="web", user="lea", role="lead")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WIDTH = len(NAMES)


@pytest.fixture
async def database(sqlite_url):
    async with opened(sqlite_url) as database:
        yield database


@pytest.fixture
def feedback(database):
    redis = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    changes = Changes(redis, database, "acme")
    return RouteFeedback(database, changes, RouteTraces(redis), organisation="acme", threshold=0.3)


async def judged(database, features=WIDTH):
    for number in range(LEAST):
        word = Feedback(
            route_id=str(number),
            user="ann",
            team="web",
            at=NOON + timedelta(minutes=number),
            selected="a",
            right_agent="a",
            agents=["a", "b"],
            features=[[1.0] * features, [0.1] * features],
        )
        await store.put(database, "acme", word)


async def test_calls_are_decided_while_weights_are_fitted(feedback, database, monkeypatch):
    await judged(database)
    begun, go_on = threading.Event(), threading.Event()

    def slow(*arguments):
        begun.set()
        assert go_on.wait(60), "the loop stood still meanwhile"
        return refit(*arguments)

    monkeypatch.setattr(service, "refit", slow)
    fitting = asyncio.create_task(feedback.fit(LEA, ""))
    await asyncio.to_thread(begun.wait, 10)
    go_on.set()
    assert (await fitting).report["samples"] == LEAST


async def test_feedback_of_before_the_scorer_had_a_feature_is_fitted_too(feedback, database):
    await judged(database, features=WIDTH - 1)
    assert (await feedback.fit(LEA, "")).report["samples"] == LEAST


async def test_a_reading_that_began_before_a_fit_was_activated_is_not_kept_after_it(feedback, database, monkeypatch):
    await judged(database)
    await feedback.fit(LEA, "")
    usual = feedback.weights(LEA)
    real, begun, go_on = fits_store.active, asyncio.Event(), asyncio.Event()

    async def slow(*arguments):
        found = await real(*arguments)
        if not begun.is_set():
            begun.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(fits_store, "active", slow)
    reading = asyncio.create_task(feedback.load())
    await begun.wait()
    activating = asyncio.create_task(feedback.activate(LEA, "", 1))
    await asyncio.wait({activating}, timeout=0.3)
    go_on.set()
    await asyncio.gather(reading, activating)
    assert feedback.weights(LEA) != usual
