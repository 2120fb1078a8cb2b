"""The span of time that a replay or a count of rule hits looks at."""

from datetime import datetime

import msgspec


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """A span of time; `since` is included, `until` is not."""

    since: datetime
    until: datetime
