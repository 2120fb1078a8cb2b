"""Results of external evaluations over Redis: each becomes an advisory once, and none blocks the rest."""

import asyncio
import json

import pytest

from baton.context.compliance import service
from baton.context.compliance.inbox import INBOX, ComplianceInbox
from baton.events.payloads import ComplianceEvaluate
from tests.context.compliance.test_service import Server


@pytest.fixture
def server(database, redis, monkeypatch):
    monkeypatch.setattr(service, "BUDGET_S", 30)  # the budget is another test's matter
    return Server(database, redis, external=True)


@pytest.fixture
async def inboxes(server, valkey_url):
    """Two servers' inboxes, which work until the test ends."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(ComplianceInbox(valkey_url, server.compliance).run(stop)) for _ in range(2)]
    yield
    stop.set()
    await asyncio.gather(*tasks)


async def request(server, session):
    """Send an edit to the evaluator and return the request."""
    await server.edit("x = 1", session=session)
    return [one for one in server.emitted if isinstance(one, ComplianceEvaluate)][-1]


def result(asked, pattern, message="say what it holds"):
    found = {"pattern_id": pattern.id, "violated": True, "message": message, "confidence": 1}
    return {"session_id": "x", "correlation_id": asked.correlation_id, "violations": [found]}


async def put(redis, content):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    await redis.call(b"XADD", INBOX, b"*", b"event", text)


async def emptied(redis):
    async with asyncio.timeout(30):
        while await redis.call(b"XLEN", INBOX):  # noqa: ASYNC110 - Redis tells nobody when it is empty
            await asyncio.sleep(0.01)


async def test_events_and_bare_data_become_advisories_once(server, redis, inboxes):
    pattern = await server.store.add("Name things well")
    for session, wrapped in (("s1", True), ("s2", False)):
        content = result(await request(server, session), pattern)
        for _ in range(3):
            await put(redis, {"type": "compliance.evaluated", "data": content} if wrapped else content)
        await emptied(redis)
        assert "say what it holds" in await server.advised(session)
        assert await server.advised(session) == ""


@pytest.mark.slow
@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        {"data": {"correlation_id": "x"}},
        {"correlation_id": "", "violations": []},
        {"correlation_id": "x" * 101, "violations": []},
        {"correlation_id": "unknown", "violations": []},
        {"correlation_id": "x", "violations": [{"pattern_id": "p", "violated": True}] * 11},
        {"correlation_id": "x", "violations": [], "more": "y" * (64 << 10)},
    ],
)
async def test_an_invalid_result_is_dropped(server, redis, inboxes, content):
    pattern = await server.store.add("Name things well")
    await put(redis, content)
    await redis.call(b"XADD", INBOX, b"*", b"other", b"field")
    await put(redis, result(await request(server, "s"), pattern))
    await emptied(redis)
    assert "say what it holds" in await server.advised("s")


async def test_results_wait_for_a_server(server, redis, valkey_url):
    pattern = await server.store.add("Name things well")
    await put(redis, result(await request(server, "s"), pattern))
    stop = asyncio.Event()
    task = asyncio.create_task(ComplianceInbox(valkey_url, server.compliance).run(stop))
    await emptied(redis)
    stop.set()
    await task
    assert "say what it holds" in await server.advised("s")
