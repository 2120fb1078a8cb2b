"""The Kafka sink on librdkafka's mock cluster: its wire protocol over TCP, read by a second client. No real broker is tried."""

import asyncio
import json

import pytest

from baton.events.sinks.kafka import KafkaSink, client_settings
from baton.events.sinks.runner import SinkEvent, SinkFailed
from tests.support.cases import every

confluent_kafka = pytest.importorskip("confluent_kafka")
NAMES = {"jobs": "baton.jobs.v1", "modes": "baton.modes.v1"}


@pytest.fixture
def brokers():
    """The addresses of a cluster of two brokers, which lives in a producer of the test's own."""
    owner = confluent_kafka.Producer({"test.mock.num.brokers": 2, "log_level": 0})
    found = owner.list_topics(timeout=30).brokers.values()
    return ",".join(f"{one.host}:{one.port}" for one in found), owner


def event(n):
    return SinkEvent("jobs", json.dumps({"id": f"e{n}", "subject": f"s{n % 2}"}).encode())


@pytest.mark.slow
async def test_a_second_client_reads_over_tcp_what_was_sent(brokers):
    servers, _owner = brokers
    sink = KafkaSink(f"kafka://{servers}", NAMES)
    await sink.send([event(n) for n in range(20)])
    await sink.close()
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([NAMES["jobs"]])
    found = []
    for _ in range(120):
        found += [one for one in await asyncio.to_thread(consumer.consume, 20, 0.5) if one.error() is None]
        if len(found) >= 20:
            break
    consumer.close()
    assert sorted(json.loads(one.value())["id"] for one in found) == sorted(f"e{n}" for n in range(20))
    for one in found:
        told = json.loads(one.value())
        assert dict(one.headers()) == {"ce_id": told["id"].encode(), "content-type": b"application/cloudevents+json"}
        assert one.key() == told["subject"].encode()


async def test_brokers_that_are_away_are_a_failure(monkeypatch):
    monkeypatch.setattr("baton.events.sinks.kafka.DELIVERY_S", 1.0)
    sink = KafkaSink("kafka://127.0.0.1:1", NAMES)
    with pytest.raises(SinkFailed):
        await sink.send([event(1)])
    await sink.close()


@every(
    ("url", "settings"),
    [
        ("kafka://a:9092,b:9092", {"bootstrap.servers": "a:9092,b:9092", "security.protocol": "PLAINTEXT"}),
        ("kafkas://a,[::1]:9093", {"bootstrap.servers": "a,[::1]:9093", "security.protocol": "SSL"}),
        (
            "kafkas://u:p%40ss@a:9093",
            {
                "bootstrap.servers": "a:9093",
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "u",
                "sasl.password": "p@ss",
            },
        ),
    ],
)
def test_an_url_names_brokers_encryption_and_credentials(url, settings):
    assert client_settings(url) == settings


@every("url", ["a:9092", "http://a", "kafka://"])
def test_what_is_no_such_url_is_refused(url):
    with pytest.raises(ValueError, match="BATON_KAFKA_URL"):
        client_settings(url)
