"""All sinks of a server: the file and Kafka by its settings, webhooks as they are registered."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from baton.events.sinks.file import FileSink
from baton.events.sinks.runner import SinkRunner
from baton.events.topics import TOPICS, full_names
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable

log = logging.getLogger(__name__)

WEBHOOKS = b"baton:events:webhooks"
"""The registered webhooks as the courier finds them, packed; the server writes them there from SQL, and again every few seconds."""
LOOK_S = 1.0
"""How often it is looked for changed webhooks, in seconds."""


class SinksOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator set about sinks; a path or an URL of "" is none."""

    file: str = ""
    file_bytes: int = 0
    kafka_url: str = ""
    restricted: bool = False
    """Whether Kafka and the file get the restricted topics too. Webhooks never do."""
    internal_hosts: tuple[str, ...] = ()
    """Hosts that webhooks may be at although they are internal."""


class Sinks:
    """Runs every sink until told to finish."""

    def __init__(
        self, redis_url: str, order: SinksOrder, *, prefix: str, names: dict[str, str], without: Sequence[str]
    ) -> None:
        self._url = redis_url
        self._order = order
        self._names = full_names(prefix, names)
        self._without = frozenset(without)
        self._stopping = asyncio.Event()
        self._runners: dict[str, tuple[SinkRunner, asyncio.Task[None]]] = {}
        self._webhooks = b""

    def finish(self) -> None:
        """Make `run` return soon."""
        self._stopping.set()
        for runner, _ in self._runners.values():
            runner.finish()

    async def run(self) -> None:
        """Start the sinks, and follow the registered webhooks."""
        self._start_configured()
        redis = Redis(self._url, timeout_s=5.0)
        await redis.start()
        try:
            while not self._stopping.is_set():
                try:
                    packed = await redis.call(b"GET", WEBHOOKS)
                    if packed is not None and packed != self._webhooks:
                        await self._follow(packed)
                except (RedisUnavailable, msgspec.MsgspecError):
                    log.debug("the webhooks cannot be read")
                await pause(self._stopping, LOOK_S)
        finally:
            for runner, task in self._runners.values():
                runner.finish()
                task.cancel()
            await asyncio.gather(*(task for _, task in self._runners.values()), return_exceptions=True)
            await redis.close()

    def _start_configured(self) -> None:
        topics = [
            topic.name
            for topic in TOPICS
            if topic.name not in self._without and (self._order.restricted or not topic.restricted)
        ]
        if self._order.file:
            sink = FileSink(Path(self._order.file), self._order.file_bytes)
            self._start("file", SinkRunner(self._url, sink, topics))
        if self._order.kafka_url:
            try:
                from baton.events.sinks.kafka import KafkaSink  # noqa: PLC0415 - an optional package

                self._start("kafka", SinkRunner(self._url, KafkaSink(self._order.kafka_url, self._names), topics))
            except ImportError:
                log.error("BATON_KAFKA_URL is set, but confluent-kafka is not installed: nothing is sent to Kafka")  # noqa: TRY400
            except ValueError as error:
                log.error("nothing is sent to Kafka: %s", error)  # noqa: TRY400

    async def _follow(self, packed: bytes) -> None:
        # Imported here: a server without webhooks needs no HTTP client in this process.
        from baton.events.sinks.webhook import Webhook, WebhookSink  # noqa: PLC0415

        wanted = {f"webhook:{one.id}": one for one in msgspec.msgpack.decode(packed, type=list[Webhook])}
        self._webhooks = packed
        for name in [name for name in self._runners if name.startswith("webhook:") and name not in wanted]:
            runner, task = self._runners.pop(name)
            runner.finish()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await runner.forget()
        for name, webhook in wanted.items():
            if name not in self._runners:
                sink = WebhookSink(webhook, self._order.internal_hosts)
                # From now on: a receiver that was registered today did not ask for yesterday's events.
                self._start(name, SinkRunner(self._url, sink, webhook.topics, start=b"$"))

    def _start(self, name: str, runner: SinkRunner) -> None:
        self._runners[name] = (runner, asyncio.create_task(runner.run()))
