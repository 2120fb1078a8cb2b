"""Results of external evaluations over Kafka, on librdkafka's mock cluster over TCP, not a real broker.

Two simultaneous consumers are not tested either: if they join their group together, the mock cluster refuses the
follower's later request ("Invalid request"), and the group gets no assignment for the 45 s of a session.
"""

import asyncio
import contextlib
import json
import logging

import pytest

from baton.context.compliance import kafka_inbox, service
from baton.context.compliance.kafka_inbox import KafkaComplianceInbox
from baton.events.sinks.kafka import client_settings
from baton.events.topics import PREFIX, full_names
from baton.kernel.base.errors import StoreUnavailable
from tests.context.compliance.test_inbox import request, result
from tests.context.compliance.test_service import Server

pytestmark = pytest.mark.slow("waits for a consumer")

confluent_kafka = pytest.importorskip("confluent_kafka")
TOPIC = full_names(PREFIX, {})["compliance-evaluated"]


@pytest.fixture
def server(database, redis, monkeypatch):
    monkeypatch.setattr(service, "BUDGET_S", 30)  # the budget is another test's matter
    return Server(database, redis, external=True)


@pytest.fixture
def brokers():
    """The addresses of a cluster, which lives in a producer of the test's own."""
    owner = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    found = owner.list_topics(timeout=30).brokers.values()
    yield ",".join(f"{one.host}:{one.port}" for one in found)
    del owner


@contextlib.asynccontextmanager
async def inbox(server, brokers):
    """A server's inbox, at work."""
    stop = asyncio.Event()
    inbox = KafkaComplianceInbox(f"kafka://{brokers}", TOPIC, server.compliance, organisation="default")
    task = asyncio.create_task(inbox.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def send(brokers, *contents):
    """Produce as an evaluator of another language would; one partition, since only there messages keep their order."""
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers, "log_level": 0})
    for one in contents:
        producer.produce(TOPIC, one if isinstance(one, bytes) else json.dumps(one).encode(), partition=0)
    assert await asyncio.to_thread(producer.flush, 30) == 0


async def advised(server, session):
    async with asyncio.timeout(60):
        while not (found := await server.advised(session)):  # noqa: ASYNC110 - advisories tell nobody when they come
            await asyncio.sleep(0.05)
    return found


async def test_a_result_becomes_an_advisory_once(server, brokers):
    pattern = await server.store.add("Name things well")
    async with inbox(server, brokers):
        for session, wrapped in (("s1", True), ("s2", False)):
            found = result(await request(server, session), pattern)
            good = {"source": "/acme/judge", "data": found} if wrapped else found
            await send(brokers, b"no json", {"correlation_id": "unknown", "violations": []}, good, good)
            assert "say what it holds" in await advised(server, session)
        # Messages of one partition are taken in their order: with the last one taken, the doubled ones are.
        await send(brokers, result(await request(server, "s3"), pattern))
        await advised(server, "s3")
    assert await server.advised("s1") == await server.advised("s2") == ""


@pytest.mark.slow("each consumer waits three seconds for others of its group")
async def test_a_server_continues_at_another_s_offset(server, brokers, caplog, monkeypatch):
    # The mock cluster takes no goodbye: it waits until the session of the first consumer is over.
    quick = client_settings(f"kafka://{brokers}") | {"session.timeout.ms": 3000, "heartbeat.interval.ms": 1000}
    monkeypatch.setattr(kafka_inbox, "client_settings", lambda url: quick)
    pattern = await server.store.add("Name things well")
    for session in ("s1", "s2"):
        found = result(await request(server, session), pattern)
        async with inbox(server, brokers):
            await send(brokers, session.encode(), found)
            assert "say what it holds" in await advised(server, session)
    unread = [one for one in caplog.messages if "cannot be read: JSON" in one]
    assert len(unread) == 2, unread


@pytest.mark.slow("waits for what does not come")
async def test_baton_s_own_messages_answer_no_request(server, brokers):
    pattern = await server.store.add("Name things well")
    asked = await request(server, "s")
    own = {"source": "/baton/default", "data": {"correlation_id": asked.correlation_id, "violations": []}}
    async with inbox(server, brokers):
        await send(brokers, own, result(asked, pattern))
        assert "say what it holds" in await advised(server, "s")


async def test_results_wait_while_redis_is_unavailable(server, monkeypatch):
    monkeypatch.setattr(kafka_inbox, "RETRY_S", 0.01)
    taken, away = [], [True, True, False]

    class Away:
        async def receive(self, correlation_id, violations):
            if away.pop(0):
                raise StoreUnavailable("redis is unavailable")
            taken.append(correlation_id)

    class Message:
        def error(self):
            return None

        def value(self):
            return b'{"correlation_id": "c", "violations": []}'

    inbox = KafkaComplianceInbox("kafka://a:1", TOPIC, Away(), organisation="default")
    assert await inbox._take_all([Message()], asyncio.Event())
    assert taken == ["c"]


async def test_an_url_that_is_none_is_logged_and_nothing_else_suffers(server, caplog):
    caplog.set_level(logging.ERROR)
    await KafkaComplianceInbox("http://a", TOPIC, server.compliance, organisation="default").run(asyncio.Event())
    assert "BATON_KAFKA_URL must be" in caplog.text
