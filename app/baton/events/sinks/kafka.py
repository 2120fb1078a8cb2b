"""The Kafka sink: each topic of Baton is one of Kafka's, by its full name."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from baton.events.sinks.runner import SinkEvent, SinkFailed, in_daemon_thread
from baton.events.sinks.webhook import CONTENT_TYPE
from baton.lib.text.urls import split_hosts

DELIVERY_S = 20.0
"""Longest that a batch may take to be delivered, in seconds."""


class _Head(msgspec.Struct, frozen=True):
    id: str
    subject: str


_head = msgspec.json.Decoder(_Head).decode


def client_settings(url: str) -> dict[str, Any]:
    """Return librdkafka's settings for an URL.

    `kafka://host:9092,other:9092` is without TLS, `kafkas://` with it; `user:password@` before the hosts is for SASL
    (SCRAM-SHA-512 over TLS, PLAIN without).

    Raises:
        ValueError: If it is no such URL.
    """
    parts = split_hosts(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    if parts.scheme not in {"kafka", "kafkas"} or not hosts:
        raise ValueError(
            "BATON_KAFKA_URL must be `kafka://host:port[,host:port]`, or `kafkas://` for TLS; for ClickHouse"
            " `clickhouse://[user:password@]host:8123/database/table`"
        )
    tls = parts.scheme == "kafkas"
    found = {"bootstrap.servers": hosts, "security.protocol": "SSL" if tls else "PLAINTEXT"}
    if credentials:
        user, _, password = credentials.partition(":")
        found |= {
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512" if tls else "PLAIN",
            "sasl.username": unquote(user),
            "sasl.password": unquote(password),
        }
    return found


class KafkaSink:
    """Produces and waits for the delivery reports. The key is the session, so a session's events keep their order."""

    name = "kafka"
    attempts = 0

    def __init__(self, url: str, names: Mapping[str, str]) -> None:
        """Make the producer, which connects by itself; `names` are the topics' full names.

        Raises:
            ImportError: If confluent-kafka is not installed.
            ValueError: If the URL is invalid.
        """
        from confluent_kafka import Producer  # noqa: PLC0415 - an optional package

        self._names = names
        self._producer = Producer(
            client_settings(url)
            | {
                "client.id": "baton",
                "acks": "all",
                "enable.idempotence": True,
                "delivery.timeout.ms": int(DELIVERY_S * 1000),
                "log_level": 3,
            }
        )

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Produce events; see `Sink`."""
        failed = await in_daemon_thread(lambda: self._produce(events))
        if failed:
            raise SinkFailed(failed)

    async def close(self) -> None:
        """Drop undelivered events. They are unacknowledged on the bus, too."""
        self._producer.purge()

    def _produce(self, events: Sequence[SinkEvent]) -> str:
        from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional package

        errors: list[str] = []

        def report(error: object, _: object) -> None:
            if error is not None:
                errors.append(str(error))

        try:
            for one in events:
                head = _head(one.event)
                headers: list[tuple[str, str | bytes | None]] = [
                    ("ce_id", head.id.encode()),
                    ("content-type", CONTENT_TYPE.encode()),
                ]
                self._producer.produce(
                    self._names[one.topic], one.event, key=head.subject, headers=headers, on_delivery=report
                )
            late = self._producer.flush(DELIVERY_S + 5)
        except (BufferError, KafkaException) as error:
            late, errors = 1, [str(error)]
        if late:
            # Queued messages would be delivered in addition to the next attempt.
            self._producer.purge()
            self._producer.flush(1)
        return errors[0] if errors else "the brokers did not answer in time" if late else ""
