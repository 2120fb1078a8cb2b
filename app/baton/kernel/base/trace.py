"""The trace of a request (W3C Trace Context). Span ids derive from names, so duplicates are harmless."""

import re
from contextvars import ContextVar
from hashlib import blake2b

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
