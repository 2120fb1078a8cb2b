"""All sinks of a server: the file, Kafka or ClickHouse by its settings, webhooks as they are registered."""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from baton.events.log import START, Place
from baton.events.sinks.runner import Sink, SinkEvent, SinkFailed, SinkRunner, in_daemon_thread
from baton.events.topics import TOPICS, full_names
from baton.kernel.base.pause import pause, tick
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.shared.record_ids import moment_of

# The file sink: one CloudEvent a line, with rotation.

KEPT = 5
"""Files that are kept beside the one that is written: `events.ndjson.1` is the newest of them."""


class FileSink:
    """Appends to a file. A hanging disk delays only this sink."""

    name = "file"
    attempts = 0

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._path = path
        self._most_bytes = most_bytes

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Append events; see `Sink`."""
        content = b"".join(one.event + b"\n" for one in events)
        try:
            await in_daemon_thread(lambda: self._append(content))
        except OSError as error:
            raise SinkFailed(f"`{self._path}`: {error.strerror or error}") from error

    async def close(self) -> None:
        """Do nothing: the file is open only while it is written."""

    def _append(self, content: bytes) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + len(content) > self._most_bytes:
            self._rotate()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Only its owner reads it: a team's events are in it.
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(content)

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._numbered(number - 1) if number > 1 else self._path
            if older.exists():
                older.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


log = logging.getLogger(__name__)

WEBHOOKS = b"{baton}:events:webhooks"
"""The registered webhooks for the drain, packed; the server writes them from SQL, and again every few seconds."""
FILE_BYTES = 64 << 20
"""Size at which the file of events is renamed."""
BUSY_S, IDLE_S = 1.0, 10.0
"""How often changed webhooks are looked for while entries are stored, and while none are, in seconds."""


class SinksOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings of sinks and topics; a path or URL of "" means none."""

    owner: str
    """Names this drain among those of other machines; a restart keeps the name."""
    prefix: str
    names: dict[str, str] = {}
    without: tuple[str, ...] = ()
    """Short names of the topics that are switched off."""
    file: str = ""
    kafka_url: str = ""
    restricted: bool = False
    """Whether Kafka, ClickHouse and the file get the restricted topics too. Webhooks never do."""
    internal_hosts: tuple[str, ...] = ()
    """Internal hosts allowed for webhooks."""


class Sinks:
    """Runs every sink until `finish`."""

    def __init__(self, redis: Redis, order: SinksOrder) -> None:
        self._redis = redis
        self._order = order
        names = full_names(order.prefix, order.names)
        self._topics = {topic.name: names[topic.name] for topic in TOPICS if topic.name not in order.without}
        self._stopping = asyncio.Event()
        self._stored = asyncio.Event()
        self._runners: dict[str, tuple[SinkRunner, asyncio.Task[None], asyncio.Event]] = {}
        self._webhooks = b""

    def wake(self) -> None:
        """Notify the sinks of newly stored entries."""
        self._stored.set()
        for _, _, stored in self._runners.values():
            stored.set()

    def finish(self) -> None:
        """Make `run` return soon."""
        self._stopping.set()

    async def run(self) -> None:
        """Start the sinks, and follow the registered webhooks."""
        self._start_configured()
        try:
            while not self._stopping.is_set():
                try:
                    packed = await self._redis.call(b"GET", WEBHOOKS)
                    if packed is not None and packed != self._webhooks:
                        await self._follow(packed)
                except (RedisUnavailable, msgspec.MsgspecError):
                    log.debug("the webhooks cannot be read")
                await pause(self._stopping, BUSY_S)
                await tick(IDLE_S, self._stored, self._stopping)
                self._stored.clear()
        finally:
            await asyncio.gather(*(self._end(name) for name in list(self._runners)))

    def _start(self, sink: Sink, topics: Iterable[str], since: Place = START) -> None:
        stored = asyncio.Event()
        names = {name: self._topics[name] for name in topics if name in self._topics}
        runner = SinkRunner(self._redis, sink, names, stored, owner=self._order.owner, since=since)
        self._runners[sink.name] = (runner, asyncio.create_task(runner.run()), stored)

    async def _end(self, name: str) -> SinkRunner:
        runner, task, _ = self._runners.pop(name)
        runner.finish()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return runner

    def _start_configured(self) -> None:
        topics = [topic.name for topic in TOPICS if self._order.restricted or not topic.restricted]
        if self._order.file:
            self._start(FileSink(Path(self._order.file), FILE_BYTES), topics)
        if self._order.kafka_url:
            try:
                self._start(_of_url(self._order.kafka_url, self._topics), topics)
            except ImportError:
                log.error("BATON_KAFKA_URL is set, but confluent-kafka is not installed: nothing is sent to Kafka")  # noqa: TRY400
            except ValueError as error:
                log.error("no event is sent on: %s", error)  # noqa: TRY400

    async def _follow(self, packed: bytes) -> None:
        # Imported here: a server without webhooks needs no HTTP client in this process.
        from baton.events.sinks.webhook import Webhook, WebhookSink  # noqa: PLC0415

        wanted = {f"webhook:{one.id}": one for one in msgspec.msgpack.decode(packed, type=list[Webhook])}
        self._webhooks = packed
        for name in [name for name in self._runners if name.startswith("webhook:") and name not in wanted]:
            await (await self._end(name)).forget()
        for name, webhook in wanted.items():
            if name not in self._runners:
                # A receiver registered today did not ask for yesterday's events.
                since = (int(moment_of(webhook.id).timestamp() * 1_000), 0)
                self._start(WebhookSink(webhook, self._order.internal_hosts), webhook.topics, since)


def _of_url(url: str, names: Mapping[str, str]) -> Sink:
    # Imported here: confluent-kafka is an optional package, and without a sink no HTTP client is needed.
    if url.startswith("clickhouse"):
        from baton.events.sinks.clickhouse import ClickHouseSink  # noqa: PLC0415

        return ClickHouseSink(url)
    from baton.events.sinks.kafka import KafkaSink  # noqa: PLC0415

    return KafkaSink(url, names)
