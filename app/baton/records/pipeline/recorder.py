"""Takes records off the path of an answer: a bounded queue, masked, into the durable stream. It decides nothing."""

import asyncio
import contextlib
import logging
from collections import deque
from functools import lru_cache
from itertools import islice
from operator import attrgetter

import msgspec

from baton.engine.call.record import LONGEST_ID, LONGEST_PROJECT, LONGEST_PROMPT, MOST_PATHS, Record
from baton.engine.call.verdict import RuleHit
from baton.engine.text.masking import LONGEST, WINDOW, mask, mask_and_cut, mask_and_cut_bytes, suspicious
from baton.kernel.base.pause import pause
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable, storable
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.records.pipeline import store as decisions
from baton.records.pipeline.stream import Answer, Outbox

log = logging.getLogger(__name__)

BATCH = 50
"""Records that are masked and appended at once: a few milliseconds of work."""
LARGEST_BATCH = 32_768
"""Characters of records that are masked at once, which is a few milliseconds of work; one record may be larger."""
GATHER_S = 0.002
"""How long records gather before they leave, in seconds."""
TIMEOUT_S = 5.0
"""Longest wait for Redis, in seconds: nobody waits for this connection, so it may be slow."""
MOST_ANSWERS = 500
"""Answers that may wait: while Redis is slow, the memory is for records."""
RETRY_S = 0.1
STOP_S = 5.0
"""Longest that stopping may wait for Redis, in seconds."""
STATS_S = 0.5
"""Longest wait for Redis to count, in seconds."""

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
)
_ids = attrgetter(*_IDS)
_lasting_ids = attrgetter(*(name for name in _IDS if name != "tool_use_id"))
_Waiting = tuple[Record, Answer | None, int]
"""A record, the answer that is to be kept with it, and how many characters of the record a client chose."""


class Recorder:
    """Queue and stream. What the queue must drop, because Redis is away for long, is counted."""

    def __init__(self, settings: Settings, redis_url: str, database: Database) -> None:
        self._redis = Redis(redis_url, timeout_s=TIMEOUT_S)
        self._outbox = Outbox(self._redis)
        self._database = database
        self._limit = settings.records_queue
        self._queue: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._stopping = asyncio.Event()
        self._appending: asyncio.Task[None] | None = None
        self._lengths = (0, 0)
        self._appended = 0
        self._dropped = 0

    def put(self, record: Record, answer: Answer | None = None) -> None:
        """Take a record, and the answer to keep for retries of its call; returns at once, whatever is away."""
        if len(self._queue) >= self._limit:
            self._dropped += 1
            return
        size = _size(record)
        if size > WINDOW:
            record = _bounded(record)
            size = _size(record)
        if len(self._queue) >= MOST_ANSWERS:
            answer = None
        self._queue.append((record, answer, size))
        self._arrived.set()

    def counts(self) -> dict[str, int]:
        """Count since the start; `queued` is as of now."""
        return {"queued": len(self._queue), "dropped": self._dropped, "appended": self._appended}

    async def stats(self) -> dict[str, int]:
        """Give `counts`, and what lies in Redis: `waiting` to be stored and `set_aside`, as last known."""
        with contextlib.suppress(RedisUnavailable, TimeoutError):
            async with asyncio.timeout(STATS_S):
                self._lengths = await self._outbox.lengths()
        return self.counts() | {"waiting": self._lengths[0], "set_aside": self._lengths[1]}

    async def start(self) -> None:
        """Connect and begin; Redis may be away."""
        await self._redis.start()
        self._appending = asyncio.get_running_loop().create_task(self._append_all())

    async def stop(self) -> None:
        """Bring what is queued to the stream, for at most five seconds.

        What never reached the stream goes to SQL directly, or is counted as dropped.
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
        while not self._stopping.is_set() or self._queue:
            await self._arrived.wait()
            self._arrived.clear()
            if not self._stopping.is_set():
                await asyncio.sleep(GATHER_S)
            while self._queue:
                batch = self._next(BATCH if self._redis.up else 1)
                packed = [content for record, _, _ in batch if (content := self._pack(record)) is not None]
                try:
                    await self._outbox.append(packed, [answer for _, answer, _ in batch if answer is not None])
                except RedisUnavailable:
                    if self._stopping.is_set():
                        return
                    await pause(self._stopping, RETRY_S)
                    continue
                for _ in batch:
                    self._queue.popleft()
                self._appended += len(packed)
                self._dropped += len(batch) - len(packed)

    def _next(self, most: int) -> list[_Waiting]:
        """Give the first records, so many that masking them does not hold up the loop."""
        batch: list[_Waiting] = []
        size = 0
        for entry in islice(self._queue, most):
            size += entry[2]
            if batch and size > LARGEST_BATCH:
                break
            batch.append(entry)
        return batch

    @staticmethod
    def _pack(record: Record) -> bytes | None:
        """Mask and encode a record; one that cannot be is None: it must not hold up the others."""
        try:
            return _encode(record if _may_leave(record) else masked(record))
        except Exception:
            log.exception("a record cannot be packed")
            return None

    async def _store_rest(self) -> None:
        while self._queue:
            batch = [masked(record) for record, _, _ in islice(self._queue, BATCH)]
            try:
                await decisions.add(self._database, batch)
            except DatabaseUnavailable:
                self._dropped += len(self._queue)
                log.error("%d records are lost: neither redis nor the database took them", len(self._queue))  # noqa: TRY400
                return
            for _ in batch:
                self._queue.popleft()


def _size(record: Record) -> int:
    """Count the characters that a client chose."""
    ids = len(record.session_id) + len(record.agent_id) + len(record.agent_type) + len(record.tool_use_id)
    texts = len(record.project) + len(record.command) + len(record.prompt)
    return ids + len(record.tool) + texts + sum(map(len, record.paths))


def _bounded(record: Record) -> Record:
    """Keep of each text what masking looks at: ten thousand records may have to wait in memory."""
    texts = {name: getattr(record, name)[:LONGEST_ID] for name in _IDS}
    return msgspec.structs.replace(
        record,
        **texts,
        project=record.project[: WINDOW + 1],
        command=record.command[: WINDOW + 1],
        prompt=record.prompt[: LONGEST_PROMPT + 1],
        paths=tuple(path[: 2 * LONGEST_PROJECT] for path in record.paths[:MOST_PATHS]),
    )


def _may_leave(record: Record) -> bool:
    """Tell whether a record may leave as it is, as most may: `masked` would change nothing."""
    return (
        not record.prompt
        and record.elapsed_us < 2**31
        and len(record.paths) <= MOST_PATHS
        and len(record.command) <= LONGEST
        and len(record.model_injected) <= LONGEST_ID
        and max(map(len, (record.project, *record.paths))) <= LONGEST_PROJECT
        and _fit(*_lasting_ids(record), *[hit.id for hit in record.rules])
        and _fitting(record.tool_use_id)
        and all(map(_harmless, (record.project, record.command, record.model_injected, *record.paths)))
    )


def _fitting(name: str) -> bool:
    return len(name) <= LONGEST_ID and storable(name) == name


@lru_cache(maxsize=4_096)
def _fit(*ids: str) -> bool:
    """Tell whether ids may leave as they are; a session's calls have the same ones but for the call's own."""
    return all(map(_fitting, ids))


@lru_cache(maxsize=4_096)
def _harmless(text: str) -> bool:
    return storable(text) == text and not suspicious(text)


def masked(record: Record) -> Record:
    """Give the record as it may leave the process: secrets masked, every text storable and of bounded length."""
    ids: tuple[str, ...] = _ids(record)
    together = "".join(ids)
    texts = {}
    if storable(together) != together or max(map(len, ids)) > LONGEST_ID:
        texts = {name: storable(text)[:LONGEST_ID] for name, text in zip(_IDS, ids, strict=True)}
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
