"""The log: one Redis stream of records, outcome reports and events. The drain is its only consumer group."""

import contextlib
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from baton.kernel.redis.client import Redis, RedisRefused
from baton.kernel.redis.group_reader import GroupReader, StreamEntry, stream_entries
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record

LOG = b"{baton}:log"
GROUP = b"store"
WAITS = b"r"
STORED = b"s"
"""The field of an entry: `WAITS` for the drain to store it, `STORED` for one that was stored from elsewhere.

A version with other entries gives `WAITS` a new name, and its drain reads the earlier names too (`Log.READS`).
"""
NEWER = b"{baton}:log:newer"
"""The stream of entries of newer versions, and of reports that may belong to them: an older drain leaves them here."""
LATE = b"{baton}:log:late"
"""The stream of outcome reports whose decision is not stored yet: it came through another server."""
SET_ASIDE = b"{baton}:records:unreadable"
"""The stream of the newest 10,000 entries that cannot be stored, for people to inspect."""
GIVEN_UP = b"{baton}:records:given_up"
"""The number of outcome reports that never found their decision."""
SPOOLS = b"{baton}:records:spools"
"""The hash of the bytes in each machine's spool."""
TROUBLES = b"{baton}:records:troubles"
"""The hash of the drains' present problems with the database, by machine."""
NOTE_S = 60
BATCH = 200
LARGEST_TRIM = 1_000
"""Entries removed at a time when the log is too large."""

Place = tuple[int, int]
"""An entry's id: milliseconds, and a number within them."""
START: Place = (0, 0)


class Emission(msgspec.Struct, frozen=True, array_like=True):
    """One emitted event. `data` is its payload as masked JSON.

    It is packed as an array starting with a string. A record is a map; a report is an array starting with a time.
    """

    topic: str
    id: str
    at_ms: int
    organisation: str
    team: str
    user: str
    data: bytes

    @property
    def time(self) -> str:
        """Return the time of the event in ISO 8601."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="milliseconds")


Content = Record | OutcomeReport | Emission
_emission = msgspec.msgpack.Decoder(Emission).decode
_record = msgspec.msgpack.Decoder(Record).decode
_report = msgspec.msgpack.Decoder(OutcomeReport).decode


def unpacked(content: bytes) -> Content:
    """Decode an entry.

    Raises:
        msgspec.MsgspecError: If it is of no known kind.
    """
    if is_report(content):
        return _report(content)
    return _emission(content) if _is_array(content) else _record(content)


def is_report(content: bytes) -> bool:
    """Return whether an entry is an outcome report, or nothing readable."""
    is_text = content[1:2] and (content[1] & 0xE0 == 0xA0 or content[1] == 0xD9)  # noqa: PLR2004
    return _is_array(content) and not is_text


def _is_array(content: bytes) -> bool:
    return bool(content) and content[0] & 0xF0 == 0x90  # noqa: PLR2004 - packed, of at most 15 elements


class LogEntry(msgspec.Struct, dict=True):
    """One entry for readers. `content` is None if another version of Baton wrote it. Records come without prompts.

    `is_late` marks a repeated entry from the spool. `shown` caches its JSON for the live streams.
    """

    place: Place
    content: Content | None = None
    is_late: bool = False
    shown: bytes = b""

    @cached_property
    def data(self) -> dict[str, Any]:
        """Return the payload of an emission."""
        found: dict[str, Any] = msgspec.json.decode(self.content.data) if isinstance(self.content, Emission) else {}
        return found


class LogPage(msgspec.Struct, frozen=True):
    """The next entries for a reader and the place behind them; `lost` if entries before them were trimmed."""

    entries: list[LogEntry]
    place: Place
    lost: bool = False


class EntrySize:
    """The mean size of an entry in Redis, in bytes."""

    OVERHEAD = 48
    """Bytes of an entry beside its content."""

    def __init__(self) -> None:
        self.mean = 700.0

    def note(self, contents: Sequence[bytes]) -> None:
        """Learn from a batch; one batch changes the mean by a tenth of the difference."""
        if contents:
            mean = sum(map(len, contents)) / len(contents) + self.OVERHEAD
            self.mean += (mean - self.mean) / 10


class Log:
    """The stream as servers, the drain and readers use it. Every method raises `RedisUnavailable`.

    The drain gets each entry at least once, so storing one again must change nothing.
    """

    READS: tuple[bytes, ...] = (WAITS,)

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._reader = GroupReader(redis, LOG, GROUP, batch=BATCH)
        self.take = self._reader.take
        self.look_back = self._reader.look_back

    async def adopt(self) -> None:
        """Move the keys of earlier versions, which had no hash tag, and append their unmoved log to this one."""
        cursor = b""
        while cursor != b"0":
            cursor, keys = await self._redis.call(b"SCAN", cursor or b"0", b"MATCH", b"baton:*", b"COUNT", 1_000)
            for key in keys:
                new, moved = LOG if key == b"baton:records" else b"{baton}" + key.removeprefix(b"baton"), 0
                with contextlib.suppress(RedisRefused):  # in a cluster, it has another slot
                    moved = await self._redis.call(b"RENAMENX", key, new)
                # Servers of this version have begun the log.
                while (
                    new == LOG
                    and not moved
                    and (raw := await self._redis.call(b"XRANGE", key, b"-", b"+", b"COUNT", BATCH))
                ):
                    await self._redis.pipeline([(b"XADD", LOG, b"*", *fields) for _, fields in raw])
                    await self._redis.call(b"XDEL", key, *(name for name, _ in raw))

    async def append(self, contents: Sequence[bytes], field: bytes = WAITS, stream: bytes = LOG) -> None:
        """Append entries in one write. After a failure Redis may have some of them."""
        await self._redis.pipeline([(b"XADD", stream, b"*", field, one) for one in contents])

    def is_newer(self, entry: StreamEntry) -> bool:
        """Return whether a newer version wrote an entry."""
        return bool(entry.fields) and not entry.fields.keys() & {*self.READS, STORED}

    async def leave(self, entries: Sequence[StreamEntry]) -> None:
        """Move taken entries to `NEWER`: pending, they would stall reports."""
        for name, content in (pair for one in entries for pair in one.fields.items()):
            await self.append([content], name, NEWER)
        await self.done(entries, remove=True)

    def waiting(self, entries: Sequence[StreamEntry]) -> list[bytes]:
        """Return the contents to store."""
        return [content for one in entries for name, content in one.fields.items() if name in self.READS]

    async def left(self, stream: bytes = NEWER) -> list[StreamEntry]:
        """Return the oldest entries left by older drains, or in `LATE`."""
        return stream_entries(await self._redis.call(b"XRANGE", stream, b"-", b"+", b"COUNT", BATCH))

    async def remove_left(self, entries: Sequence[StreamEntry], stream: bytes = NEWER) -> None:
        """Delete such entries."""
        await self._redis.call(b"XDEL", stream, *(one.id for one in entries))

    async def done(self, entries: Sequence[StreamEntry], *, remove: bool = False) -> None:
        """Acknowledge stored entries, and `remove` those on disk."""
        ids = [entry.id for entry in entries]
        if ids:
            await self._redis.pipeline([(b"XACK", LOG, GROUP, *ids), *([(b"XDEL", LOG, *ids)] * remove)])

    async def is_oldest(self, entry: StreamEntry) -> bool:
        """Return whether no drain has an older entry that is not stored yet."""
        return not await self._redis.call(b"XPENDING", LOG, GROUP, b"-", b"(" + entry.id, 1)

    async def set_aside(self, content: bytes) -> None:
        """Keep an entry rejected by the database."""
        await self._redis.call(b"XADD", SET_ASIDE, b"MAXLEN", b"~", 10_000, b"*", WAITS, content)

    async def give_up(self, count: int) -> None:
        """Count outcomes without a decision."""
        await self._redis.call(b"INCRBY", GIVEN_UP, count)

    async def length(self) -> int:
        """Return the number of entries, stored or not, with those of newer versions."""
        return sum(await self._redis.pipeline([(b"XLEN", LOG), (b"XLEN", NEWER)]))

    async def lengths(self) -> tuple[int, int, int]:
        """Return how many entries are not stored yet, how many were set aside, and how many outcomes were given up."""
        lengths = [(b"XLEN", one) for one in (LOG, NEWER, SET_ASIDE)]
        every, newer, set_aside, given_up = await self._redis.pipeline([*lengths, (b"GET", GIVEN_UP)])
        group = await self._group()
        # Redis does not know the lag while an undelivered entry was deleted.
        lag = group.get(b"lag")
        return newer + (every if lag is None else lag + group[b"pending"]), set_aside, int(given_up or 0)

    async def unstored(self) -> Place:
        """Return the place of the first entry that may not be stored yet."""
        # Asked in this order: an entry delivered between the two is pending.
        group = await self._group()
        if not group:
            return _behind(START)
        pending = await self._redis.call(b"XPENDING", LOG, GROUP)
        return place_of(pending[1]) if pending[0] else _behind(place_of(group[b"last-delivered-id"]))

    async def after(self, place: Place, until: Place | None = None) -> LogPage:
        """Return at most 200 entries after a place, and before `until`."""
        end = b"+" if until is None else f"({place_text(until)}"
        first, last, raw = await self._redis.pipeline(
            [
                (b"XRANGE", LOG, b"-", b"+", b"COUNT", 1),
                (b"XREVRANGE", LOG, b"+", b"-", b"COUNT", 1),
                (b"XRANGE", LOG, f"({place_text(place)}", end, b"COUNT", BATCH),
            ]
        )
        lost = place != START and not (first and place_of(first[0][0]) <= place <= place_of(last[0][0]))
        found = read_entries(raw)
        if found:
            place = found[-1].place
        elif lost:
            place = min(place, place_of(last[0][0])) if last else START
        return LogPage(found, place, lost)

    async def newest(self) -> Place:
        """Return the place of the newest entry."""
        found = await self._redis.call(b"XREVRANGE", LOG, b"+", b"-", b"COUNT", 1)
        return place_of(found[0][0]) if found else START

    async def remove(self, places: Sequence[Place]) -> int:
        """Delete entries; return how many there were."""
        found: int = await self._redis.call(b"XDEL", LOG, *map(place_text, places)) if places else 0
        return found

    async def trim(self, most: int, age_s: float) -> None:
        """Remove stored entries over the retention, and the oldest beyond `most`. The newest entry always stays."""
        unstored, length = await self.unstored(), await self.length()
        least = (int((time.time() - age_s) * 1000), 0)
        if length > most:
            end, count = f"({place_text(unstored)}", min(length - most, LARGEST_TRIM)
            oldest = await self._redis.call(b"XRANGE", LOG, b"-", end, b"COUNT", count)
            least = max(least, _behind(place_of(oldest[-1][0]))) if oldest else least
        await self._redis.call(b"XTRIM", LOG, b"MINID", place_text(min(least, unstored, await self.newest())))

    async def note_spool(self, size: int, most: int) -> None:
        """Note for a minute how many bytes this machine's spool holds and may hold; remove the note if `size` is 0."""
        machine = socket.gethostname()
        if size:
            await self._redis.pipeline([(b"HSET", SPOOLS, machine, f"{size} {most}"), (b"EXPIRE", SPOOLS, NOTE_S)])
        else:
            await self._redis.call(b"HDEL", SPOOLS, machine)

    async def note_trouble(self, cause: str) -> None:
        """Note for a minute why this machine's drain cannot store entries; remove the note if `cause` is ""."""
        note = (b"HSET", TROUBLES, socket.gethostname(), cause) if cause else (b"HDEL", TROUBLES, socket.gethostname())
        await self._redis.pipeline([note, (b"EXPIRE", TROUBLES, NOTE_S)])

    async def spooled(self) -> tuple[int, int]:
        """Return how many bytes the spools of all machines hold, and may hold."""
        notes = [tuple(map(int, note.split())) for note in await self._redis.call(b"HVALS", SPOOLS)]
        return sum(note[0] for note in notes), sum(note[1] for note in notes)

    async def _group(self) -> dict[bytes, Any]:
        """Return Redis's facts about the group; nothing before the drain has created it."""
        try:
            found = await self._redis.call(b"XINFO", b"GROUPS", LOG)
        except RedisRefused:  # there is no log yet
            return {}
        return dict(zip(found[0][::2], found[0][1::2], strict=True)) if found else {}


def place_text(place: Place) -> str:
    """Return a place as Redis and the ids of streamed events have it."""
    return f"{place[0]}-{place[1]}"


def place_of(name: bytes) -> Place:
    """Read an entry's id."""
    milliseconds, _, number = name.partition(b"-")
    return int(milliseconds), int(number)


def _behind(place: Place) -> Place:
    return place[0], place[1] + 1


def read_entries(raw: Sequence[Any]) -> list[LogEntry]:
    """Decode entries for readers."""
    found = []
    for name, fields in raw:
        entry = LogEntry(place_of(name), is_late=fields[0] == STORED)
        with contextlib.suppress(msgspec.MsgspecError):
            entry.content = unpacked(fields[1])
        if isinstance(entry.content, Record) and entry.content.prompt:
            entry.content = msgspec.structs.replace(entry.content, prompt="")
        found.append(entry)
    return found
