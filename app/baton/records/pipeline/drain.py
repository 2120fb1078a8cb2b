"""Brings records from the stream into SQL, in batches, for as long as it takes. It loses and delays nobody's answer."""

import asyncio
import logging

import msgspec
from sqlalchemy.exc import DBAPIError, StatementError

from baton.engine.call.record import Record
from baton.kernel.base.errors import TooLongToFind
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.client import RedisUnavailable
from baton.records.pipeline import store as decisions
from baton.records.pipeline.stream import BATCH, Entry, Outbox
from baton.shared.backoff import Backoff

log = logging.getLogger(__name__)

WAIT_MS = 250
"""How long one look at an empty stream waits for records, in milliseconds; stopping may have to wait as long."""
GATHER_S = 0.05
"""How long records gather before the next batch, in seconds."""
LOOK_BACK_S = 60.0
"""Pause between looks for what a stopped server left behind, in seconds."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""Pauses while Redis or the database is away double from the one to the other, in seconds."""

_decode = msgspec.msgpack.Decoder(Record).decode
_OF_THE_RECORD = {"22", "23"}
"""Postgres's classes of errors that this record causes and no other, besides its size: data, constraint."""


class Drain:
    """Stream to SQL. What cannot be stored because of what it holds is set aside; everything else waits."""

    def __init__(self, outbox: Outbox, database: Database) -> None:
        self._outbox = outbox
        self._database = database
        self._stopping = asyncio.Event()
        self.stored = 0
        self.set_aside = 0

    def finish(self) -> None:
        """Have `run` return once the stream is empty, or as soon as something is away."""
        self._stopping.set()

    async def run(self) -> None:
        """Store batches until told to finish."""
        loop = asyncio.get_running_loop()
        backoff, looked_back = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), loop.time()
        self._outbox.look_back(idle_ms=0)
        while True:
            entries: list[Entry] = []
            try:
                entries = await self._outbox.take(wait_ms=0 if self._stopping.is_set() else WAIT_MS)
                if entries:
                    await self._settle(entries)
                backoff.reset()
            except Exception as error:
                # Whatever it was, records must go on being stored; what was taken is taken again.
                if not isinstance(error, RedisUnavailable | DatabaseUnavailable):
                    log.exception("records cannot be stored")
                if self._stopping.is_set():
                    return
                self._outbox.look_back(idle_ms=0)
                await self._rest(backoff.next_s())
                continue
            if self._stopping.is_set() and not entries:
                return
            if len(entries) < BATCH:
                await self._rest(GATHER_S)
            if loop.time() - looked_back > LOOK_BACK_S:
                self._outbox.look_back()
                looked_back = loop.time()

    async def _settle(self, entries: list[Entry]) -> None:
        """Store a batch and acknowledge it; entries that hold no record are set aside first."""
        readable: list[tuple[Entry, Record]] = []
        for entry in entries:
            try:
                readable.append((entry, _decode(entry[1])))
            except msgspec.MsgspecError:
                await self._put_aside(entry)
        if not readable:
            return
        if await self._add([record for _, record in readable]):
            await self._outbox.done([entry for entry, _ in readable])
            return
        for entry, record in readable:
            if await self._add([record]):
                await self._outbox.done([entry])
            else:
                await self._put_aside(entry)

    async def _add(self, records: list[Record]) -> bool:
        """Store records; waits while the database is away, and tells False when a record itself is at fault."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            try:
                await decisions.add(self._database, records)
            except DatabaseUnavailable as error:
                if self._stopping.is_set():
                    raise
                log.warning("records wait in the stream, the database is away: %s", error)
                await self._rest(backoff.next_s())
            except TooLongToFind:
                return False
            except StatementError as error:
                state = str(getattr(error.orig, "sqlstate", "")) if isinstance(error, DBAPIError) else "22"
                if state[:2] not in _OF_THE_RECORD and self._database.dialect != "sqlite":
                    raise DatabaseUnavailable(str(error)) from error
                return False
            else:
                self.stored += len(records)
                return True

    async def _put_aside(self, entry: Entry) -> None:
        await self._outbox.set_aside(entry)
        self.set_aside += 1
        log.error("a record that cannot be stored was set aside (%d so far)", self.set_aside)

    async def _rest(self, seconds: float) -> None:
        """Pause, but not while stopping."""
        await pause(self._stopping, seconds)
