"""The courier: takes what waits in the outbox and publishes it on the bus, each event once."""

import asyncio
import logging

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.events.cloud_event import enveloped
from baton.events.emitting.from_records import of_record, of_report
from baton.events.emitting.session_tally import SessionTally
from baton.events.redis_streams.bus import Bounds, Bus, Publication
from baton.events.redis_streams.outbox import BATCH, FIELD, Emission, Outbox
from baton.events.sinks.sinks import SinksOrder
from baton.events.topics import BY_NAME, full_names
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.group_reader import Entry
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

WAIT_MS = 250
"""Longest wait for events of an empty outbox, in milliseconds; stopping may take as long."""
GATHER_S = 0.02
"""Pause after a batch that was not full, in seconds: fewer and larger calls to Redis."""
TRIM_S = 60.0
"""Time between looks at what has grown too old, and at what a stopped courier left, in seconds."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0

_emission = msgspec.msgpack.Decoder(Emission).decode
_record = msgspec.msgpack.Decoder(Record).decode
_report = msgspec.msgpack.Decoder(OutcomeReport).decode


class CourierOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator set about events; `without` are the short names of the topics that are switched off."""

    prefix: str
    names: dict[str, str] = {}
    without: tuple[str, ...] = ()
    bounds: Bounds
    sinks: SinksOrder = SinksOrder()


class Courier:
    """Publishes until told to finish. While Redis is away, everything waits in the outbox."""

    def __init__(self, redis: Redis, order: CourierOrder) -> None:
        self._outbox = Outbox(redis)
        self._bus = Bus(redis, order.bounds)
        self._tally = SessionTally(redis)
        self._names = full_names(order.prefix, order.names)
        self._without = frozenset(order.without)
        self._stopping = asyncio.Event()

    def finish(self) -> None:
        """Make `run` return once the outbox is empty, or as soon as Redis is away."""
        self._stopping.set()

    async def run(self) -> None:
        """Publish batches until told to finish."""
        loop = asyncio.get_running_loop()
        backoff, trimmed = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), loop.time()
        # Whatever a courier before this one took and did not publish comes first.
        self._outbox.look_back(idle_ms=0)
        while True:
            entries: list[Entry] = []
            try:
                entries = await self._outbox.take(wait_ms=0 if self._stopping.is_set() else WAIT_MS)
                if entries:
                    await self._publish(entries)
                if loop.time() - trimmed > TRIM_S:
                    trimmed = loop.time()
                    self._outbox.look_back(idle_ms=int(TRIM_S * 1000))
                    await self._bus.trim()
                backoff.reset()
            except Exception as error:
                # Any error: the courier must go on. What it took is not acknowledged, and comes again.
                if not isinstance(error, RedisUnavailable):
                    log.exception("events cannot be published")
                if self._stopping.is_set():
                    return
                self._outbox.look_back(idle_ms=0)
                await pause(self._stopping, backoff.next_s())
                continue
            if self._stopping.is_set() and not entries:
                return
            if len(entries) < BATCH:
                await pause(self._stopping, GATHER_S)

    async def _publish(self, entries: list[Entry]) -> None:
        """Publish a batch and then take it out of the outbox; a crash between the two publishes nothing twice."""
        publications: list[Publication] = []
        for entry in entries:
            publications += await self._made(entry)
        if publications:
            await self._bus.publish(publications)
        await self._outbox.done(entries)

    async def _made(self, entry: Entry) -> list[Publication]:
        """Return what an entry publishes; an end of a session brings its outcome with it."""
        try:
            emission = decoded(entry.fields.get(FIELD, b""))
            if emission is None or emission.topic not in BY_NAME:
                return []
            return [self._publication(one) for one in await self._tally.followed(emission) if self._is_wanted(one)]
        except (msgspec.MsgspecError, ValueError):
            log.exception("an entry of the outbox cannot be read")
            return []

    def _is_wanted(self, emission: Emission) -> bool:
        return emission.topic not in self._without

    def _publication(self, emission: Emission) -> Publication:
        return Publication(
            topic=emission.topic,
            id=emission.id,
            user=emission.user,
            team=emission.team,
            event=enveloped(emission, self._names[emission.topic]),
        )


def decoded(content: bytes) -> Emission | None:
    """Return the event of an entry of the outbox; None for a record that is no event.

    Raises:
        msgspec.MsgspecError: If it is neither.
    """
    if content[:1] and content[0] & 0xF0 == 0x90:  # noqa: PLR2004 - a packed array of at most 15 elements
        # An emission begins with a text, an outcome's report with a time.
        return _emission(content) if content[1] & 0xE0 == 0xA0 or content[1] == 0xD9 else of_report(_report(content))  # noqa: PLR2004
    return of_record(_record(content))
