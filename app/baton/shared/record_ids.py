"""Ids of records: UUIDv7, sorted by time."""

import re
from datetime import UTC, datetime, timedelta

_UUID7 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_LATEST_MS = 2**48 - 1


def moment_of(uuid7: str) -> datetime:
    """Return the creation time of a UUIDv7, in UTC, to the millisecond."""
    return datetime.fromtimestamp(int(uuid7[:8] + uuid7[9:13], 16) / 1000, UTC)


def is_recent(text: str) -> bool:
    """Return whether a text is a UUIDv7 of the last or the next ten minutes."""
    return bool(_UUID7.fullmatch(text)) and is_between(text, timedelta(minutes=10), timedelta(minutes=10))


def is_between(uuid7: str, before: timedelta, after: timedelta) -> bool:
    """Return whether a UUIDv7 was created at most `before` ago, or is at most `after` ahead of the clock."""
    now = datetime.now(UTC)
    return least_id(now - before) <= uuid7 <= least_id(now + after)


def id_at(moment: datetime, digits: bytes) -> str:
    """Return a UUIDv7 for an aware datetime. Ten random bytes make it unique within a millisecond."""
    ms = (moment - _EPOCH) // _MS
    bits = int.from_bytes(digits)
    text = f"{ms << 80 | 7 << 76 | (bits >> 68 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def least_id(moment: datetime) -> str:
    """Return the lower bound of all UUIDv7 created at an aware datetime or later."""
    # Ids have millisecond precision: all of the millisecond of `moment` counts as its start.
    ms = min(max(0, -((_EPOCH - moment) // _MS)), _LATEST_MS)
    digits = f"{ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"
