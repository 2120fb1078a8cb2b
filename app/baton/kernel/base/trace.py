"""The trace of a request (W3C Trace Context). Span ids derive from names, so duplicates are harmless."""

import re
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from uuid import UUID

HEADER = b"traceparent"
SAMPLED = 1
_SHAPE = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)

parent: ContextVar[str] = ContextVar("traceparent", default="")  # the current request's `traceparent`, or ""


def arrived(header: bytes) -> None:
    """Store a request's `traceparent`. Ignore invalid ones and versions other than 00."""
    text = header.decode("latin-1").strip()
    if _SHAPE.fullmatch(text):
        parent.set(text)


def parts(traceparent: str) -> tuple[int, int, bool] | None:
    """Return the ids of trace and span, and the sampled flag; None without a valid `traceparent`."""
    found = _SHAPE.fullmatch(traceparent)
    return None if found is None else (int(found[1], 16), int(found[2], 16), bool(int(found[3], 16) & SAMPLED))


def trace_id(*names: str) -> int:
    """Return the trace id of a session outside any other trace."""
    return int.from_bytes(_digest(16, *names)) or 1


def span_id(*names: str) -> int:
    """Return the span id for some names."""
    return int.from_bytes(_digest(8, *names)) or 1


def traceparent_of(trace: int, span: int, *, sampled: bool = True) -> str:
    """Return the `traceparent` for children of a span."""
    return f"00-{trace:032x}-{span:016x}-{int(sampled):02x}"


def _digest(size: int, *names: str) -> bytes:
    return blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=size).digest()


# UUIDv7 timestamps: ids select a period without an index on time.

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
