"""Queue decided calls while their answers are on their way; build and mask their records, append them to the stream."""

import asyncio
import contextlib
import logging
from collections import deque
from functools import lru_cache
from itertools import islice
from operator import attrgetter

import msgspec

from baton.engine.call.outcome import OutcomeReport
from baton.engine.call.record import LONGEST_ID, LONGEST_PROJECT, LONGEST_PROMPT, MOST_PATHS, Record
from baton.engine.call.verdict import RuleHit
from baton.engine.text.masking import (
    LONGEST,
    WINDOW,
    cut_at_word,
    mask,
    mask_and_cut,
    mask_and_cut_bytes,
    may_hold,
    suspicious,
)
from baton.kernel.base.pause import pause
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.records.pipeline import store as decisions
from baton.records.pipeline.building import DecidedCall, decision_record
from baton.records.pipeline.stream import RecordSize, RecordStream

log = logging.getLogger(__name__)

BATCH = 50
"""Records that are built, masked and appended together; this takes a few milliseconds of the event loop."""
LARGEST_BATCH = 32_768
"""Characters that are masked together, also a few milliseconds; a single record may be larger."""
GATHER_S = 0.002
"""How long records gather before a batch is appended, in seconds."""
TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds. No answer waits for this connection, so it may be slow."""
RETRY_S = 0.1
STOP_S = 5.0
"""Longest time that stopping waits for Redis, in seconds."""
STATS_S = 0.5
"""Longest wait for the length of the stream, in seconds."""

LOOK_S = 1.0
"""How often Redis is asked for the length of the stream while records are dropped, in seconds."""
SHED_FROM = (2.0, 3.0, 4.0)
"""How full the stream must be for each degree of dropping, as a multiple of what may wait in Redis.

The drain moves what is above 1 to disk. So the stream grows to 2 only if the disk is full too, or the drain is down.
"""
_SHEDDING = (
    "nothing is dropped any more",
    "calls that no rule matched and the ends of calls are dropped from now on",
    "everything but refusals, questions and overridden calls is dropped from now on",
    "every record is dropped from now on",
)

_encode = msgspec.msgpack.Encoder().encode
_IDS = (
    "organisation",
    "team",
    "user",
    "client",
    "event",
    "session_id",
    "agent_id",
    "agent_type",
    "tool",
    "tool_use_id",
    "routed_to",
    "started_agent",
)
_ids = attrgetter(*_IDS)
_PASSING = ("session_id", "agent_id", "tool_use_id")
_passing_ids = attrgetter(*_PASSING)
_lasting_ids = attrgetter(*(name for name in _IDS if name not in _PASSING))
_QueueEntry = tuple[Record | OutcomeReport, int]
"""A record, and how many characters of it the client chose."""


class Recorder:
    """A bounded queue before the stream. While Redis is away and the queue is full, records are dropped and counted."""

    def __init__(self, settings: Settings, redis_url: str, database: Database) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)
        self._stream = RecordStream(self._redis, with_events=settings.events == "on")
        self._database = database
        self._limit = settings.records_queue
        self._new: deque[Record | DecidedCall | OutcomeReport] = deque()
        """What has come since the last batch, less than a batch: calls whose record is not built hold their whole input."""
        self._queue: deque[_QueueEntry] = deque()
        self._arrived = asyncio.Event()
        self._stopping = asyncio.Event()
        self._appending: asyncio.Task[None] | None = None
        self._lengths = (0, 0)
        self._spooled = (0, 0)
        self._most_in_redis = settings.records_redis_mb << 20
        self._size = RecordSize()
        self._shedding = 0
        self._shed = 0
        self._appended = 0
        self._dropped = 0

    def put(self, record: Record | DecidedCall) -> None:
        """Queue a record, or what it is built from. Never waits, whatever is away."""
        if self._shedding:
            if isinstance(record, DecidedCall):
                record = decision_record(record)
            if self._shedding >= _worth(record):
                self._shed += 1
                return
        self._put(record)

    def put_outcome(self, report: OutcomeReport) -> None:
        """Queue the end of a call, behind the record of its decision. Never waits, whatever is away."""
        if self._shedding:
            self._shed += 1
            return
        self._put(report)

    def _put(self, one: Record | DecidedCall | OutcomeReport) -> None:
        if self._queued >= self._limit:
            self._dropped += 1
            return
        self._new.append(one)
        if len(self._new) >= BATCH:
            self._build()
        self._arrived.set()

    @property
    def _queued(self) -> int:
        return len(self._new) + len(self._queue)

    def _build(self) -> None:
        """Build the records of what has come."""
        while self._new:
            one = self._new.popleft()
            try:
                self._queue.append(_entry(one))
            except Exception:
                self._dropped += 1
                log.exception("a record cannot be built")

    def counts(self) -> dict[str, int]:
        """Return the counts since the start; `queued` is the present length of the queue.

        `shed` are those of the `dropped` that were left out because Redis holds as much as it may.
        """
        dropped = self._dropped + self._shed
        return {"queued": self._queued, "dropped": dropped, "shed": self._shed, "appended": self._appended}

    async def stats(self) -> dict[str, int]:
        """Return `counts` and, as last known, what waits beside the queue.

        `waiting` and `set_aside` are entries in Redis, `spool_mb` and `spool_most_mb` what waits on the disks of all
        machines and what may wait there; the latter is 0 while nothing does.
        """
        with contextlib.suppress(RedisUnavailable, TimeoutError):
            async with asyncio.timeout(STATS_S):
                self._lengths = await self._stream.lengths()
                self._spooled = await self._stream.spooled()
        # Rounded up: what waits on disk is never shown as nothing.
        spooled, most = (-(-size >> 20) if size else 0 for size in self._spooled)
        waits = {"waiting": self._lengths[0], "set_aside": self._lengths[1]}
        return self.counts() | waits | {"spool_mb": spooled, "spool_most_mb": most}

    async def start(self) -> None:
        """Start to append. Redis may be away."""
        await self._redis.start()
        self._appending = asyncio.get_running_loop().create_task(self._append_all())

    async def stop(self) -> None:
        """Append what is queued, for at most five seconds.

        What does not reach the stream is stored in SQL directly, or is counted as dropped.
        """
        self._stopping.set()
        self._arrived.set()
        if self._appending is not None:
            await asyncio.wait([self._appending], timeout=STOP_S)
            self._appending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._appending
        await self._store_rest()
        await self._redis.close()

    async def _append_all(self) -> None:
        while not self._stopping.is_set() or self._queued:
            await self._wait()
            self._arrived.clear()
            if not self._stopping.is_set():
                await asyncio.sleep(GATHER_S)
            while self._queued:
                self._build()
                # While Redis is away, one record is enough to find out that it is back.
                batch = self._next(BATCH if self._redis.up else 1)
                packed = [content for record, _ in batch if (content := self._pack(record)) is not None]
                try:
                    waiting = await self._stream.append(packed)
                except RedisUnavailable:
                    if self._stopping.is_set():
                        return
                    await pause(self._stopping, RETRY_S)
                    continue
                # Removed only now: after a failed append they are sent again. A timeout may hide that Redis took
                # them, so the stream can hold a record twice; SQL stores it once, by its id.
                for _ in batch:
                    self._queue.popleft()
                self._size.note(packed)
                self._look_at(waiting)
                self._appended += len(packed)
                self._dropped += len(batch) - len(packed)

    async def _wait(self) -> None:
        """Wait for records. While some are dropped, look now and then whether Redis has room again."""
        while self._shedding and not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), LOOK_S)
            with contextlib.suppress(RedisUnavailable):
                self._look_at(await self._stream.length())
            if self._queued:
                return
        await self._arrived.wait()

    def _look_at(self, waiting: int) -> None:
        """Decide which records are dropped while so many wait in Redis."""
        full = waiting * self._size.mean / self._most_in_redis
        # A degree that was reached ends a little below where it begins, or it would come and go.
        shedding = sum(
            full >= (limit if degree > self._shedding else 0.9 * limit) for degree, limit in enumerate(SHED_FROM, 1)
        )
        if shedding != self._shedding:
            self._shedding = shedding
            log.error(
                "%d records wait in Redis, %.1f times what may wait there: %s", waiting, full, _SHEDDING[shedding]
            )

    def _next(self, most: int) -> list[_QueueEntry]:
        """Return the first records of the queue, as many as can be masked without delaying the event loop."""
        batch: list[_QueueEntry] = []
        size = 0
        for entry in islice(self._queue, most):
            size += entry[1]
            if batch and size > LARGEST_BATCH:
                break
            batch.append(entry)
        return batch

    @staticmethod
    def _pack(record: Record | OutcomeReport) -> bytes | None:
        """Mask and encode a record; return None if it cannot be encoded, so that it does not hold up the others."""
        try:
            if isinstance(record, OutcomeReport):
                return _encode(masked_report(record))
            return _encode(record if _may_leave(record) else masked(record))
        except Exception:
            log.exception("a record cannot be packed")
            return None

    async def _store_rest(self) -> None:
        self._build()
        while self._queue:
            batch = [record for record, _ in islice(self._queue, BATCH)]
            records = [masked(one) for one in batch if isinstance(one, Record)]
            reports = [masked_report(one) for one in batch if isinstance(one, OutcomeReport)]
            try:
                await decisions.add(self._database, records, reports)
            except DatabaseUnavailable:
                self._dropped += len(self._queue)
                log.error("%d records are lost: neither redis nor the database took them", len(self._queue))  # noqa: TRY400
                return
            for _ in batch:
                self._queue.popleft()


def _entry(one: Record | DecidedCall | OutcomeReport) -> _QueueEntry:
    """Return a record as it waits: without what is never kept, since ten thousand may have to wait in memory."""
    if isinstance(one, OutcomeReport):
        report = bounded_report(one)
        return report, len(report.tool_use_id) + len(report.session_id)
    record = decision_record(one) if isinstance(one, DecidedCall) else one
    size = _size(record)
    if size > WINDOW:
        record = _bounded(record)
        size = _size(record)
    return record, size


def _worth(record: Record) -> int:
    """Return from which degree of `SHED_FROM` on a record is dropped."""
    if record.decision != "allow" or record.overridden:
        return 3
    return 2 if record.rules or record.effect == "rewrite" else 1


def _size(record: Record) -> int:
    """Return how many characters of a record the client chose."""
    ids = len(record.session_id) + len(record.agent_id) + len(record.agent_type) + len(record.tool_use_id)
    texts = len(record.project) + len(record.command) + len(record.prompt)
    return ids + len(record.tool) + texts + sum(map(len, record.paths))


def _bounded(record: Record) -> Record:
    """Return the record with each text cut to more than is kept of it, so that what is kept is masked whole."""
    texts = {name: getattr(record, name)[:LONGEST_ID] for name in _IDS}
    return msgspec.structs.replace(
        record,
        **texts,
        project=cut_at_word(record.project, WINDOW),
        command=cut_at_word(record.command, WINDOW),
        prompt=cut_at_word(record.prompt, 2 * LONGEST_PROMPT),
        paths=tuple(cut_at_word(path, 2 * LONGEST_PROJECT) for path in record.paths[:MOST_PATHS]),
    )


def _may_leave(record: Record) -> bool:
    """Return whether `masked` would change nothing, which holds for most records and is cheaper to find out."""
    passing, texts = _passing_ids(record), (record.project, record.command, record.model_injected, *record.paths)
    together = "\n".join((*passing, *texts))
    return (
        not record.prompt
        and record.elapsed_us < 2**31
        and len(record.paths) <= MOST_PATHS
        and len(record.command) <= LONGEST
        and len(record.model_injected) <= LONGEST_ID
        and max(map(len, (record.project, *record.paths))) <= LONGEST_PROJECT
        and max(map(len, passing)) <= LONGEST_ID
        and storable(together) == together
        and _fit(*_lasting_ids(record), *[hit.id for hit in record.rules])
        # Not cached: calls share none of these, and 200,000 sessions would leave no room for what all of them share.
        and not may_hold("\n".join(passing))
        and not any(map(suspicious, texts))
    )


@lru_cache(maxsize=4_096)
def _fit(*ids: str) -> bool:
    """Return whether ids are storable as they are. Cached: a person's calls have the same ones."""
    together = "\n".join(ids)
    return max(map(len, ids)) <= LONGEST_ID and storable(together) == together and not suspicious(together)


def masked(record: Record) -> Record:
    """Return the record with secrets masked, and every text storable and of bounded length."""
    ids: tuple[str, ...] = _ids(record)
    together = "".join(ids)
    texts = {}
    if storable(together) != together or max(map(len, ids)) > LONGEST_ID or suspicious("\n".join(ids)):
        texts = {name: mask(storable(text))[:LONGEST_ID] for name, text in zip(_IDS, ids, strict=True)}
    return msgspec.structs.replace(
        record,
        **texts,
        project=mask_and_cut(storable(record.project), LONGEST_PROJECT),
        command=mask_and_cut(storable(record.command)),
        prompt=mask_and_cut_bytes(storable(record.prompt), LONGEST_PROMPT),
        paths=tuple(mask_and_cut(storable(path), LONGEST_PROJECT) for path in record.paths[:MOST_PATHS]),
        rules=tuple(RuleHit(storable(hit.id)[:LONGEST_ID], hit.effect) for hit in record.rules),
        model_injected=mask(storable(record.model_injected))[:LONGEST_ID],
        elapsed_us=min(record.elapsed_us, 2**31 - 1),
    )


_REPORTED_IDS = ("organisation", "team", "user", "session_id", "agent_id", "tool", "tool_use_id")


def bounded_report(report: OutcomeReport) -> OutcomeReport:
    """Return a report without what is never kept of its texts, so that what is kept is masked whole."""
    if max(len(report.usage.model), *(len(getattr(report, name)) for name in _REPORTED_IDS)) <= WINDOW:
        return report
    texts = {name: getattr(report, name)[:WINDOW] for name in _REPORTED_IDS}
    usage = msgspec.structs.replace(report.usage, model=report.usage.model[:WINDOW])
    return msgspec.structs.replace(report, **texts, usage=usage)


def masked_report(report: OutcomeReport) -> OutcomeReport:
    """Return a report with its ids as the record of its decision has them, or it would not find its row."""
    ids = tuple(getattr(report, name) for name in _REPORTED_IDS)
    kept = (*ids, report.usage.model)
    together = "\n".join(kept)
    if storable(together) == together and max(map(len, kept)) <= LONGEST_ID and not suspicious(together):
        return report
    texts = {name: mask(storable(text))[:LONGEST_ID] for name, text in zip(_REPORTED_IDS, ids, strict=True)}
    usage = msgspec.structs.replace(report.usage, model=mask(storable(report.usage.model))[:LONGEST_ID])
    return msgspec.structs.replace(report, **texts, usage=usage)
