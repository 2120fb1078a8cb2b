"""The moment in a UUIDv7: an id that begins with it is found by time without an index on time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_LATEST_MS = 2**48 - 1


def moment_of(uuid7: str) -> datetime:
    """Return when a UUIDv7 was made, to the millisecond, in UTC."""
    return datetime.fromtimestamp(int(uuid7[:8] + uuid7[9:13], 16) / 1000, UTC)


def id_at(moment: datetime, digits: bytes) -> str:
    """Return a UUIDv7 of a timezone-aware moment, of which ten random bytes tell it from others of the same millisecond."""
    ms = (moment - _EPOCH) // _MS
    bits = int.from_bytes(digits)
    return str(UUID(int=ms << 80 | 7 << 76 | (bits >> 68 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1))


def least_id(moment: datetime) -> str:
    """Return a text that is below every UUIDv7 made at a timezone-aware moment or later, and above all earlier ones."""
    # Ids know milliseconds only: one made within the millisecond of `moment` counts as made at its beginning.
    ms = min(max(0, -((_EPOCH - moment) // _MS)), _LATEST_MS)
    digits = f"{ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"
