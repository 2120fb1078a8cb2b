"""The tables of decisions by column, and of the hours and days stored this way."""

from functools import lru_cache

import msgspec

from baton.kernel.base.sql import table_of
from baton.rules.call.verdict import RuleHit

SUMMED = table_of("summed_hours", {"hour": int, "valid": bool}, keys=("organisation", "hour"), sqlite_with_rowid=False)
"""Hours, counted from 1970 in UTC. The columns of one are read if it is `valid`, else its rows."""
COLUMNS = table_of(
    "decision_columns", {"hour": int, "column": str, "data": bytes}, keys=("organisation", "hour", "column")
)
"""The columns of the hours' decisions; `piece.Piece` reads and writes `data`."""
SUMMED_DAYS = table_of(
    "summed_days", {"day": int, "valid": bool}, keys=("organisation", "day"), sqlite_with_rowid=False
)
"""Days, counted from 1970 in UTC. One is in one piece if it is `valid` and all its hours are."""
DAY_COLUMNS = table_of(
    "day_columns", {"day": int, "column": str, "data": bytes}, keys=("organisation", "day", "column")
)
"""The columns of the days' decisions, like `COLUMNS`."""


# The rule hits of decisions, as the column `rules` holds them.

_decode = msgspec.json.Decoder(tuple[RuleHit, ...]).decode


@lru_cache(maxsize=4_096)
def hits_in(rules: str) -> tuple[RuleHit, ...]:
    """Return the rule hits of a JSON text; the same few texts come again in each hour."""
    return _decode(rules)


# Round latencies, so that any number of decisions has few distinct ones.

_STEPS_US = (1, 10, 100, 1_000, 10_000, 100_000)
"""The times to which others are rounded down, in microseconds: two digits each; the last one stands for all slower ones."""


def rounded_us(us: int) -> int:
    """Return a time rounded down to two digits."""
    return us - us % width_us(us)


def width_us(us: int) -> int:
    """Return the width, in microseconds, of the latency bucket starting at `us`."""
    return next((step for step in _STEPS_US if us < 100 * step), _STEPS_US[-1])
