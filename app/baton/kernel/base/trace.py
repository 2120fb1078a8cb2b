"""The trace that a request belongs to, as W3C Trace Context names it: what came in `traceparent`, and names that follow.

A span's name is derived from what it stands for, so every process gives it the same one and sending it twice changes nothing.
"""

import re
from contextvars import ContextVar
from hashlib import blake2b

HEADER = b"traceparent"
SAMPLED = 1
_SHAPE = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)

parent: ContextVar[str] = ContextVar("traceparent", default="")
"""The `traceparent` of the request that is being answered, "" for none."""


def arrived(header: bytes) -> None:
    """Take the `traceparent` of a request; one that is not of version 00 of the standard counts as none."""
    text = header.decode("latin-1").strip()
    if _SHAPE.fullmatch(text):
        parent.set(text)


def parts(traceparent: str) -> tuple[int, int, bool] | None:
    """Return the ids of trace and span, and whether the trace is sampled; None for no `traceparent`."""
    found = _SHAPE.fullmatch(traceparent)
    return None if found is None else (int(found[1], 16), int(found[2], 16), bool(int(found[3], 16) & SAMPLED))


def trace_id(*names: str) -> int:
    """Return the id of the trace of a session that belongs to no other trace."""
    return int.from_bytes(_digest(16, *names)) or 1


def span_id(*names: str) -> int:
    """Return the id of the span of something."""
    return int.from_bytes(_digest(8, *names)) or 1


def traceparent_of(trace: int, span: int, *, sampled: bool = True) -> str:
    """Return the `traceparent` for what happens within a span."""
    return f"00-{trace:032x}-{span:016x}-{int(sampled):02x}"


def _digest(size: int, *names: str) -> bytes:
    return blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=size).digest()
