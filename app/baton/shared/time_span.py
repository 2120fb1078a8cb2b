"""Time spans: `90d`, `12h`, `30m`, `45s`, `500ms`."""

import re
from datetime import timedelta

_UNITS = {
    "ms": timedelta(milliseconds=1), "s": timedelta(seconds=1), "m": timedelta(minutes=1), "min": timedelta(minutes=1),
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1),
}  # fmt: skip
_SPAN = re.compile(rf"([1-9][0-9]{{0,5}})({'|'.join(_UNITS)})")


def time_span(text: str) -> timedelta:
    """Parse a time span. Raise ValueError with the allowed formats."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is not a time span; give a number with `s`, `m`, `h`, `d` or `w`, such as `90d`")
    return int(found[1]) * _UNITS[found[2]]
