"""The drain: store the records of the stream in SQL, in batches, at least once each."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import Record
from baton.kernel.base.driver import Dialect, Driver, DriverUnavailable, RowsRefused
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import RedisUnavailable
from baton.records.pipeline.rows import writes
from baton.records.pipeline.spool import Spool, SpoolFull
from baton.records.pipeline.stream import BATCH, Entry, RecordSize, RecordStream
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
    others wait in the stream. What the stream may not hold then moves to the spool, the oldest first, and is stored
    before what the stream holds: an outcome must find its decision.
    """

    def __init__(
        self,
        stream: RecordStream,
        driver: Driver,
        dialect: Dialect,
        spool: Spool,
        *,
        most_in_stream: int,
        on_stored: Callable[[Sequence[Record]], None] = lambda _: None,
    ) -> None:
        """`most_in_stream` is how many bytes of records may wait in Redis while the database is away."""
        self._on_stored = on_stored
        self._stream = stream
        self._driver = driver
        self._dialect = dialect
        self._spool = spool
        self._most_in_stream = most_in_stream
        self._size = RecordSize()
        self._noted = 0
        self._spool_open = False
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
                if await self._store_spooled():
                    backoff.reset()
                    continue
                entries = await self._stream.take(wait_ms=0 if self._stopping.is_set() else WAIT_MS)
                if entries:
                    self._size.note([content for _, content in entries])
                    await self._settle(entries)
                backoff.reset()
            except Exception as error:  # noqa: BLE001 - whatever it is, the drain must go on
                # The entries of this batch are not acknowledged, so
                # looking back takes them again; storing one twice changes nothing.
                _tell(error)
                if self._stopping.is_set():
                    return
                self._stream.look_back(idle_ms=0)
                if isinstance(error, DriverUnavailable):
                    await self._make_room()
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
        """Store records and reports; return False if the content of a record is at fault.

        Raises:
            DriverUnavailable: If the database is away.
        """
        records = [one for one in batch if isinstance(one, Record)]
        reports = [one for one in batch if isinstance(one, OutcomeReport)]
        try:
            await self._driver.write(writes(self._dialect, records, reports))
        except (RowsRefused, ValueError):
            return False
        self.stored += len(batch)
        self._on_stored(records)
        return True

    async def _store_spooled(self) -> bool:
        """Store the oldest records of the spool; return False if it has none."""
        if not self._spool.bytes and self._spool_open:
            return False
        self._spool_open = await asyncio.to_thread(self._spool.open)  # not while a killed server's drain has it
        contents = await asyncio.to_thread(self._spool.read, BATCH)
        if contents:
            await self._settle([(b"", content) for content in contents])
            await asyncio.to_thread(self._spool.remove)
        await self._note_spool()
        return bool(contents)

    async def _make_room(self) -> None:
        """Move records from the stream to the spool while the stream holds more than it may."""
        with contextlib.suppress(RedisUnavailable):
            await self._move_to_spool()
            await self._note_spool()

    async def _move_to_spool(self) -> None:
        while await self._stream.length() * self._size.mean > self._most_in_stream:
            entries = await self._stream.take()
            if not entries:
                break
            contents = [content for _, content in entries]
            self._size.note(contents)
            try:
                await asyncio.to_thread(self._spool.append, contents)
            except SpoolFull as error:
                log.error("records fill Redis: the spool in the home folder takes no more (%s)", error)  # noqa: TRY400
                self._stream.look_back(idle_ms=0)
                break
            # They are on the disk, so Redis need not hold them.
            await self._stream.done([(entry, b"") for entry in entries])

    async def _note_spool(self) -> None:
        """Note what the spool holds, for the operator; log a change of more than a twentieth of what it may hold."""
        size = self._spool.bytes
        if size or self._noted:
            await self._stream.note_spool(size, self._spool.most)
        if abs(size - self._noted) > self._spool.most // 20 or (size == 0) != (self._noted == 0):
            log.warning("%d of %d MB of records wait on disk for the database", size >> 20, self._spool.most >> 20)
            self._noted = size

    async def _put_aside(self, entry: Entry) -> None:
        await self._stream.set_aside(entry)
        self.set_aside += 1
        log.error("a record that cannot be stored was set aside (%d so far)", self.set_aside)

    async def _rest(self, seconds: float) -> None:
        """Pause, but not while stopping."""
        await pause(self._stopping, seconds)


def _tell(error: Exception) -> None:
    """Log why records are not stored now."""
    if isinstance(error, DriverUnavailable):
        log.warning("records wait, the database is away: %s", error)
    elif not isinstance(error, RedisUnavailable):  # the connection tells of that itself
        log.error("records cannot be stored", exc_info=error)


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
