"""The period of a replay or a count of rule hits."""

from datetime import datetime

import msgspec


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    """A span of time; `since` is included, `until` is not."""

    since: datetime
    until: datetime
