"""Results of external evaluations over Kafka: an evaluator answers on the topic `compliance-evaluated`.

The servers share the topic in one consumer group. Baton's own messages there are skipped.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from baton.context.compliance.inbox import read_result
from baton.context.compliance.service import Compliance
from baton.events.cloud_event import source_of
from baton.events.sinks.kafka import client_settings
from baton.events.sinks.runner import in_daemon_thread
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.pause import pause

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

log = logging.getLogger(__name__)

GROUP = "baton-compliance"
WAIT_S = 0.5
"""Timeout of a wait for a message, in seconds; stopping may take as long."""
RETRY_S = 1.0
_BATCH = 50


class _Envelope(msgspec.Struct, frozen=True):
    source: str = ""


_envelope = msgspec.json.Decoder(_Envelope).decode


class KafkaComplianceInbox:
    """Processes each result at least once; a repetition changes nothing. Unreadable ones are logged and skipped."""

    def __init__(self, url: str, topic: str, compliance: Compliance, *, organisation: str) -> None:
        """Store the connection's parameters; `topic` is the full name of `compliance-evaluated`."""
        self._url = url
        self._topic = topic
        self._compliance = compliance
        self._own = source_of(organisation)

    async def run(self, stop: asyncio.Event) -> None:
        """Process results until stopped. While the brokers or Redis are unavailable, they wait at the brokers."""
        try:
            from confluent_kafka import Consumer  # noqa: PLC0415 - an optional package

            consumer = Consumer(self._settings())
        except ImportError:
            log.error("confluent-kafka is not installed: no evaluations are read from Kafka")  # noqa: TRY400
            return
        except ValueError as error:
            log.error("no evaluations are read from Kafka: %s", error)  # noqa: TRY400
            return
        consumer.subscribe([self._topic])
        try:
            while not stop.is_set():
                messages = await in_daemon_thread(lambda: consumer.consume(_BATCH, WAIT_S))
                if messages and await self._take_all(messages, stop):
                    await in_daemon_thread(lambda: _commit(consumer))
        finally:
            await in_daemon_thread(consumer.close)

    def _settings(self) -> dict[str, Any]:
        return client_settings(self._url) | {
            "client.id": "baton",
            "group.id": GROUP,
            # A result sent before any server knew the group is still needed; old ones answer no waiting request.
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The evaluator's first result creates the topic; until then its absence must not be logged each time.
            "allow.auto.create.topics": True,
            "log_level": 3,
        }

    async def _take_all(self, messages: Sequence["Message"], stop: asyncio.Event) -> bool:
        """Process the messages in order; return False if stopped before the end."""
        for message in messages:
            error = message.error()
            if error is not None:
                log.warning("evaluations cannot be read from Kafka: %s", error.str())
                await pause(stop, RETRY_S)
                continue
            while not await self._take(message.value() or b""):
                await pause(stop, RETRY_S)
                if stop.is_set():
                    return False
        return True

    async def _take(self, content: bytes) -> bool:
        """Process one result; return False if Redis is unavailable."""
        try:
            if _envelope(content).source == self._own:
                return True
            result = read_result(content)
        except msgspec.MsgspecError as error:
            log.warning("a result of an external evaluation cannot be read: %s", error)
            return True
        try:
            await self._compliance.receive(result.correlation_id, result.violations)
        except StoreUnavailable:
            return False
        return True


def _commit(consumer: "Consumer") -> None:
    """Commit the processed messages. If the brokers reject this, the messages are repeated, which changes nothing."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an optional package

    with contextlib.suppress(KafkaException):
        consumer.commit(asynchronous=False)
