"""The drain: store the records of the log in SQL, in batches, at least once each; keep the log within its bounds."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from itertools import takewhile

import msgspec

from baton.events.log import BATCH, LATE, STORED, WAITS, Content, EntrySize, Log, is_report, place_of, unpacked
from baton.kernel.base.driver import Dialect, Driver, DriverUnavailable, RowsRefused
from baton.kernel.base.pause import pause
from baton.kernel.redis.client import RedisUnavailable
from baton.kernel.redis.group_reader import StreamEntry
from baton.records.pipeline.rows import writes
from baton.records.pipeline.spool import Spool, SpoolFull
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

WAIT_MS = 1_000
"""Longest wait for new entries, in milliseconds; stopping may take as long."""
TURN_S = 5.0
_LOOK_S = 0.005
"""Longest wait for another drain's older entries, in seconds, until they are claimed, and the time between two looks."""
GATHER_S = 0.1
"""Pause after a batch that was not full, in seconds: fewer and larger transactions."""
TRIM_S = 5.0
LOOK_BACK_S = 60.0
"""Time between trims, and between searches for entries that a stopped drain left unacknowledged, in seconds."""
LATE_S = 300.0
"""How long a report waits for its decision, in seconds; so do at most 200 of them."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""First and longest pause while Redis or the database is unavailable, in seconds; each is twice the one before."""


class _OtherDrainIsSilent(Exception):
    """Its entries are claimed, and stored in the log's order."""


class Drain:
    """Stores records until `finish`.

    A record with invalid content is set aside. While Redis or the database is unavailable, all others wait in the log.
    Beyond the log's maximum, the oldest move to the spool. They are stored before the log's entries, since an outcome
    must find its decision, and then return to the log for its readers.
    """

    def __init__(
        self,
        entries: Log,
        driver: Driver,
        dialect: Dialect,
        spool: Spool,
        *,
        most_bytes: int,
        most_age_s: float,
        on_stored: Callable[[Sequence[Record]], None] = lambda _: None,
    ) -> None:
        """`most_bytes` is the maximum size of the log in Redis, `most_age_s` the retention of its stored entries."""
        self._on_stored = on_stored
        self._log = entries
        self._driver = driver
        self._dialect = dialect
        self._spool = spool
        self._most_bytes = most_bytes
        self._most_age_s = most_age_s
        self._size = EntrySize()
        self._noted = 0
        self._trouble = "?"  # a note of the drain before this one may be left
        self._trimmed = self._looked_back = 0.0
        self._spool_open = self._adopted = False
        self._stopping = asyncio.Event()
        self.stored = 0
        self.set_aside = self.given_up = 0

    def finish(self) -> None:
        """Make `run` return once the stream is empty, or as soon as Redis or the database is unavailable."""
        self._stopping.set()

    async def run(self) -> None:
        """Store batches until `finish`."""
        backoff, self._looked_back = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), asyncio.get_running_loop().time()
        # An earlier drain's unacknowledged entries come first, however recent.
        self._log.look_back(idle_ms=0)
        while True:
            entries: list[StreamEntry] = []
            try:
                if not self._adopted:
                    await self._log.adopt()
                    self._adopted = True
                    await self._store_left()
                if await self._store_spooled():
                    backoff.reset()
                    continue
                entries = await self._log.take(wait_ms=0 if self._stopping.is_set() else WAIT_MS)
                if entries:
                    self._size.note(self._log.waiting(entries))
                    await self._store_or_leave(entries)
                    # Acknowledge only after the commit: a crash between the two stores the batch again, and loses nothing.
                    await self._log.done(entries)
                    await self._note_trouble("")
                await self._tidy()
                backoff.reset()
            except Exception as error:  # noqa: BLE001 - the drain must survive any error
                # The entries of this batch are not acknowledged, so
                # looking back takes them again; storing one twice changes nothing.
                _tell(error)
                if self._stopping.is_set():
                    return
                self._log.look_back(idle_ms=0)
                if isinstance(error, DriverUnavailable):
                    await self._note_trouble(str(error))
                    await self._make_room()
                await self._rest(backoff.next_s())
                continue
            if self._stopping.is_set() and not entries:
                return
            if 0 < len(entries) < BATCH:
                await self._rest(GATHER_S)

    async def _tidy(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._trimmed > TRIM_S or self._stopping.is_set():
            self._trimmed = now
            await self._trim()
            await self._store_left()
            await self._store_late()
        if now - self._looked_back > LOOK_BACK_S:
            self._looked_back = now
            self._log.look_back()

    async def _store_or_leave(self, entries: Sequence[StreamEntry]) -> None:
        """Store a batch of the log. Leave entries of newer versions, and reports that may belong to them."""
        contents = self._log.waiting(entries)
        newer, reports = any(map(self._log.is_newer, entries)), set(filter(is_report, contents))
        left: list[StreamEntry] = []
        if newer or reports:
            await self._wait_for_older(entries[0])
            if newer or not await self._store_left():
                left = [one for one in entries if self._log.is_newer(one) or reports & {*one.fields.values()}]
        await self._store([one for one in contents if not left or one not in reports])
        await self._log.leave(left)

    async def _store(self, contents: Sequence[bytes]) -> list[bytes]:
        """Store a batch. Unstorable entries are set aside. Return the stored ones."""
        readable: list[tuple[bytes, Content]] = []
        for content in contents:
            try:
                readable.append((content, unpacked(content)))
            except msgspec.MsgspecError:
                await self._put_aside(content)
        if not readable or await self._add([one for _, one in readable]):
            return [content for content, _ in readable]
        # One record spoils the transaction of its whole batch: store them singly to find it.
        stored = []
        for content, one in readable:
            if await self._add([one]):
                stored.append(content)
            else:
                await self._put_aside(content)
        return stored

    async def _wait_for_older(self, first: StreamEntry) -> None:
        """Wait until other drains have stored all older entries: a report must find its decision."""
        ends = asyncio.get_running_loop().time() + TURN_S
        while not await self._log.is_oldest(first):
            if asyncio.get_running_loop().time() > ends:
                raise _OtherDrainIsSilent
            await asyncio.sleep(_LOOK_S)

    async def _add(self, batch: list[Content]) -> bool:
        """Store records and reports. Return False if a record's content is at fault.

        Raises:
            DriverUnavailable: If the database is unavailable.
        """
        records = [one for one in batch if isinstance(one, Record)]
        reports = [one for one in batch if isinstance(one, OutcomeReport)]
        try:
            ended = await self._driver.write(writes(self._dialect, records, reports)) if records or reports else ()
        except (RowsRefused, ValueError):
            return False
        # Without the call's id, a later call could be taken for it.
        late = [one for one, rows in zip(reports, ended, strict=True) if one.tool_use_id and not rows]
        await self._log.append([msgspec.msgpack.encode(one) for one in late], WAITS, LATE)
        self.stored += len(records) + len(reports)
        self._on_stored(records)
        return True

    async def _store_spooled(self) -> bool:
        """Store the oldest records of the spool. Return False if it has none."""
        if not self._spool.bytes and self._spool_open:
            return False
        self._spool_open = await asyncio.to_thread(self._spool.open)  # not while a killed server's drain has it
        contents = await asyncio.to_thread(self._spool.read, BATCH)
        if contents:
            if stored := await self._store(contents):
                await self._log.append(stored, STORED)
            await asyncio.to_thread(self._spool.remove)
            await self._make_room()
        await self._note_spool()
        return bool(contents)

    async def _store_left(self) -> bool:
        """Store what older drains left for this version. Return False if the next entry is of a still newer one."""
        while entries := await self._log.left():
            ours = list(takewhile(lambda one: self._log.waiting([one]), entries))
            if not ours:
                return False
            await self._log.append(await self._store(self._log.waiting(ours)), STORED)
            await self._log.remove_left(ours)
        return True

    async def _store_late(self) -> None:
        """Try again to store reports whose decision was not stored. Give up old ones, and half of too many."""
        while entries := await self._log.left(LATE):
            reports = [one for one in map(unpacked, self._log.waiting(entries)) if isinstance(one, OutcomeReport)]
            ended = await self._driver.write(writes(self._dialect, (), reports))
            least, is_full = (time.time() - LATE_S) * 1_000, len(entries) == BATCH
            left = [one for one, rows in zip(entries, ended, strict=True) if not rows]
            kept = [one for one in left[len(left) // 2 * is_full :] if place_of(one.id)[0] > least]
            if gone := [one for one in entries if one not in kept]:
                await self._log.remove_left(gone, LATE)
            if lost := len(left) - len(kept):
                self.given_up += lost
                await self._log.give_up(lost)
                log.warning("%d outcomes were given up: they have no decision (%d so far)", lost, self.given_up)
            if not is_full:
                return

    async def _trim(self) -> None:
        await self._log.trim(int(self._most_bytes / self._size.mean), self._most_age_s)

    async def _make_room(self) -> None:
        with contextlib.suppress(RedisUnavailable):
            await self._trim()
            await self._move_to_spool()
            await self._note_spool()

    async def _move_to_spool(self) -> None:
        while await self._log.length() * self._size.mean > self._most_bytes:
            entries = await self._log.take()
            if not entries:
                break
            await self._log.leave([entry for entry in entries if self._log.is_newer(entry)])
            waiting = [entry for entry in entries if STORED not in entry.fields]
            contents = self._log.waiting(waiting)
            self._size.note(contents)
            try:
                await asyncio.to_thread(self._spool.append, contents)
            except SpoolFull as error:
                log.error("records fill Redis: the spool in the home folder takes no more (%s)", error)  # noqa: TRY400
                self._log.look_back(idle_ms=0)
                break
            # They are on the disk, so Redis need not hold them.
            await self._log.done(waiting, remove=True)
            await self._log.done([entry for entry in entries if STORED in entry.fields])
            await self._trim()

    async def _note_trouble(self, cause: str) -> None:
        if cause or self._trouble:
            with contextlib.suppress(RedisUnavailable):
                await self._log.note_trouble(cause)
                self._trouble = cause

    async def _note_spool(self) -> None:
        """Record the spool's size for the operator. Log a change of more than a twentieth of its maximum."""
        size = self._spool.bytes
        if size or self._noted:
            await self._log.note_spool(size, self._spool.most)
        if abs(size - self._noted) > self._spool.most // 20 or (size == 0) != (self._noted == 0):
            log.warning("%d of %d MB of records wait on disk for the database", size >> 20, self._spool.most >> 20)
            self._noted = size

    async def _put_aside(self, content: bytes) -> None:
        await self._log.set_aside(content)
        self.set_aside += 1
        log.error("a record that cannot be stored was set aside (%d so far)", self.set_aside)

    async def _rest(self, seconds: float) -> None:
        await pause(self._stopping, seconds)


def _tell(error: Exception) -> None:
    # `operate/health.py` reports outages of Redis and the database.
    if not isinstance(error, (DriverUnavailable, RedisUnavailable, _OtherDrainIsSilent)):
        log.error("records cannot be stored", exc_info=error)
