"""Results of external evaluations that come over Kafka, on librdkafka's mock cluster over TCP. No real broker is tried."""

import asyncio
import json
import logging

import pytest

from baton.context.compliance import kafka_inbox, service
from baton.context.compliance.kafka_inbox import KafkaComplianceInbox
from baton.events.topics import full_names
from tests.context.compliance.test_inbox import request, result
from tests.context.compliance.test_service import Server

confluent_kafka = pytest.importorskip("confluent_kafka")
TOPIC = full_names("onex", {})["compliance-evaluated"]


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


@pytest.fixture
async def inboxes(server, brokers):
    """Two servers' inboxes, which work until the test ends."""
    stop = asyncio.Event()
    url = f"kafka://{brokers}"
    tasks = [
        asyncio.create_task(KafkaComplianceInbox(url, TOPIC, server.compliance, organisation="default").run(stop))
        for _ in range(2)
    ]
    yield
    stop.set()
    await asyncio.gather(*tasks)


async def send(brokers, *contents):
    """Produce as an evaluator of another language would."""
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers, "log_level": 0})
    for one in contents:
        producer.produce(TOPIC, one if isinstance(one, bytes) else json.dumps(one).encode())
    assert await asyncio.to_thread(producer.flush, 30) == 0


async def advised(server, session):
    async with asyncio.timeout(60):
        while not (found := await server.advised(session)):  # noqa: ASYNC110 - advisories tell nobody when they come
            await asyncio.sleep(0.05)
    return found


async def test_a_result_becomes_an_advisory_once_whatever_came_before_it(server, brokers, inboxes):
    pattern = await server.store.add("Name things well")
    for session, wrapped in (("s1", True), ("s2", False)):
        found = result(await request(server, session), pattern)
        good = {"source": "/acme/judge", "data": found} if wrapped else found
        await send(brokers, b"no json", {"correlation_id": "unknown", "violations": []}, good, good)
        assert "say what it holds" in await advised(server, session)
    # Messages of one partition are taken in their order: with the last one taken, the doubled ones are.
    last = result(await request(server, "s3"), pattern)
    await send(brokers, last)
    await advised(server, "s3")
    assert await server.advised("s1") == await server.advised("s2") == ""


@pytest.mark.slow("waits for what does not come")
async def test_what_baton_itself_sent_there_does_not_answer_the_request(server, brokers, inboxes):
    pattern = await server.store.add("Name things well")
    asked = await request(server, "s")
    own = {"source": "/baton/default", "data": {"correlation_id": asked.correlation_id, "violations": []}}
    await send(brokers, own, result(asked, pattern))
    assert "say what it holds" in await advised(server, "s")


async def test_results_wait_while_redis_is_away(server, monkeypatch):
    monkeypatch.setattr(kafka_inbox, "RETRY_S", 0.01)
    taken, away = [], [True, True, False]

    class Away:
        async def receive(self, correlation_id, violations):
            if away.pop(0):
                raise service.StoreUnavailable("redis is away")
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
