"""The drain: store the records of the stream in SQL, in batches, at least once each."""

import asyncio
import logging

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.kernel.base.driver import Dialect, Driver, DriverUnavailable, RowsRefused
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import RedisUnavailable
from baton.records.pipeline.rows import writes
from baton.records.pipeline.stream import BATCH, Entry, RecordStream
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

WAIT_MS = 250
"""Longest wait for records of an empty stream, in milliseconds; stopping may take as long."""
GATHER_S = 0.05
"""Pause after a batch that was not full, in seconds: fewer and larger transactions."""
LOOK_BACK_S = 60.0
"""Time between searches for entries that a stopped server left unacknowledged, in seconds."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""First and longest pause while Redis or the database is away, in seconds; each is twice the one before."""

_ARRAY = 0x90
"""The upper half of the first byte of a packed array of at most 15 elements; a record is a map."""
LARGEST_FED = 8 << 10
"""Bytes of a decision that the feed takes as it is."""
LONGEST_PATHS = 4_000
"""Characters of paths in the feed, where a decision is larger: the feed lives in memory."""
_encode = msgspec.msgpack.Encoder().encode
_record = msgspec.msgpack.Decoder(Record).decode
_report = msgspec.msgpack.Decoder(OutcomeReport).decode


class Drain:
    """Store records until told to finish.

    A record that cannot be stored because of its content is set aside. While Redis or the database is away, all
    others wait in the stream.
    """

    def __init__(self, stream: RecordStream, driver: Driver, dialect: Dialect) -> None:
        self._stream = stream
        self._driver = driver
        self._dialect = dialect
        self._stopping = asyncio.Event()
        self.stored = 0
        self.set_aside = 0

    def finish(self) -> None:
        """Make `run` return once the stream is empty, or as soon as Redis or the database is away."""
        self._stopping.set()

    async def run(self) -> None:
        """Store batches until told to finish."""
        loop = asyncio.get_running_loop()
        backoff, looked_back = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), loop.time()
        # Whatever a drain before this one took and did not acknowledge comes first, however short ago that was.
        self._stream.look_back(idle_ms=0)
        while True:
            entries: list[Entry] = []
            try:
                entries = await self._stream.take(wait_ms=0 if self._stopping.is_set() else WAIT_MS)
                if entries:
                    await self._settle(entries)
                backoff.reset()
            except Exception as error:
                # Any error: the drain must go on. The entries of this batch are not acknowledged, so
                # looking back takes them again; storing one twice changes nothing.
                if not isinstance(error, RedisUnavailable | DriverUnavailable):
                    log.exception("records cannot be stored")
                if self._stopping.is_set():
                    return
                self._stream.look_back(idle_ms=0)
                await self._rest(backoff.next_s())
                continue
            if self._stopping.is_set() and not entries:
                return
            if len(entries) < BATCH:
                await self._rest(GATHER_S)
            if loop.time() - looked_back > LOOK_BACK_S:
                self._stream.look_back()
                looked_back = loop.time()

    async def _settle(self, entries: list[Entry]) -> None:
        """Store a batch and then acknowledge it; entries that hold no record are set aside first."""
        readable: list[tuple[Entry, Record | OutcomeReport]] = []
        for entry in entries:
            try:
                readable.append((entry, _decode(entry[1])))
            except msgspec.MsgspecError:
                await self._put_aside(entry)
        if not readable:
            return
        # Acknowledge only after the commit: a crash between the two stores the batch again, and loses nothing.
        if await self._add([record for _, record in readable]):
            await self._stream.done([(entry, fed(entry[1], record)) for entry, record in readable])
            return
        # One record spoils the transaction of its whole batch: store them singly to find it.
        for entry, record in readable:
            if await self._add([record]):
                await self._stream.done([(entry, fed(entry[1], record))])
            else:
                await self._put_aside(entry)

    async def _add(self, batch: list[Record | OutcomeReport]) -> bool:
        """Store records and reports, waiting while the database is away; return False if the content of a record is at fault."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        records = [one for one in batch if isinstance(one, Record)]
        reports = [one for one in batch if isinstance(one, OutcomeReport)]
        while True:
            try:
                await self._driver.write(writes(self._dialect, records, reports))
            except DriverUnavailable as error:
                if self._stopping.is_set():
                    raise
                log.warning("records wait in the stream, the database is away: %s", error)
                await self._rest(backoff.next_s())
            except (RowsRefused, ValueError):
                return False
            else:
                self.stored += len(batch)
                return True

    async def _put_aside(self, entry: Entry) -> None:
        await self._stream.set_aside(entry)
        self.set_aside += 1
        log.error("a record that cannot be stored was set aside (%d so far)", self.set_aside)

    async def _rest(self, seconds: float) -> None:
        """Pause, but not while stopping."""
        await pause(self._stopping, seconds)


def fed(content: bytes, record: Record | OutcomeReport) -> bytes:
    """Return what the feed gets of an entry: decisions without their prompts and without very long lists of paths."""
    if isinstance(record, OutcomeReport):
        return b""
    if not record.prompt and len(content) <= LARGEST_FED:
        return content
    paths: tuple[str, ...] = record.paths
    while sum(map(len, paths)) > LONGEST_PATHS:
        paths = paths[:-1]
    return _encode(msgspec.structs.replace(record, prompt="", paths=paths))


def _decode(content: bytes) -> Record | OutcomeReport:
    return _report(content) if content[:1] and content[0] & 0xF0 == _ARRAY else _record(content)
