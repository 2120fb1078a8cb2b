"""Ids of records: UUIDv7, sorted by time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_LATEST_MS = 2**48 - 1


def moment_of(uuid7: str) -> datetime:
    """Return the creation time of a UUIDv7, in UTC, to the millisecond."""
    return datetime.fromtimestamp(int(uuid7[:8] + uuid7[9:13], 16) / 1000, UTC)


def id_at(moment: datetime, digits: bytes) -> str:
    """Return a UUIDv7 for an aware datetime. Ten random bytes make it unique within a millisecond."""
    ms = (moment - _EPOCH) // _MS
    bits = int.from_bytes(digits)
    return str(UUID(int=ms << 80 | 7 << 76 | (bits >> 68 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1))


def least_id(moment: datetime) -> str:
    """Return the lower bound of all UUIDv7 created at an aware datetime or later."""
    # Ids have millisecond precision: all of the millisecond of `moment` counts as its start.
    ms = min(max(0, -((_EPOCH - moment) // _MS)), _LATEST_MS)
    digits = f"{ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"
