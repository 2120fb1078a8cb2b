"""The one way to say a time span: `90d`, `12h`, `30m`, `45s`."""

import re
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(r"([1-9][0-9]{0,5})(s|m|min|h|d)")


def time_span(text: str) -> timedelta:
    """Parse a time span. Raise ValueError, with what is allowed, for anything else."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is no time span; allowed: a number with `s`, `m`, `h` or `d`, as in `90d`")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
