"""Hours stored by column, and the changes making their columns stale.

The drain imports this file, so it imports no SQLAlchemy (docs/decisions/0044).
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from baton.kernel.base.driver import Dialect, Statements
from baton.shared.record_ids import least_id, moment_of

HOUR_S = 3_600
DAY_HOURS = 24
SETTLED_S = 300.0
"""How long after its end the columns of an hour are written, in seconds: most outcomes have come by then."""
LATE_S = 120.0
"""From when after its end an hour's rows may not change unnoticed, in seconds.

What is stored earlier was committed before the columns are written, as long as the clocks of servers differ by less than
the three minutes between.
"""

_SQL = (
    "INSERT INTO summed_hours (organisation, hour, valid) VALUES ({marks})"
    " ON CONFLICT (organisation, hour) DO UPDATE SET valid = excluded.valid"
)
# Always a write, so that it and a server writing the same hour wait for each other.
_MARK: dict[Dialect, str] = {
    "sqlite": _SQL.format(marks="?, ?, false"),
    "postgresql": _SQL.format(marks="$1, $2, false"),
}


def hour_of(moment: datetime) -> int:
    """Return a timestamp's hour, counted from 1970 in UTC."""
    return int(moment.timestamp() // HOUR_S)


def start_of_hour(hour: int) -> datetime:
    """Return the start of an hour."""
    return datetime.fromtimestamp(hour * HOUR_S, UTC)


def marks_of_stale(dialect: Dialect, changed: Iterable[tuple[str, str]], now: float) -> Statements:
    """Return the statement to mark the hours of changed decisions as stale.

    It runs in the transaction of the change.

    Args:
        dialect: The database.
        changed: The organisation and the id of each stored, changed or removed decision.
        now: Seconds since 1970.
    """
    # The id alone identifies unwritten hours: nearly all decisions are of the present one.
    fresh = least_id(start_of_hour(int((now - LATE_S) // HOUR_S)))
    # In one order everywhere, or two servers marking the same hours would deadlock.
    rows = sorted({(organisation, hour_of(moment_of(key))) for organisation, key in changed if key < fresh})
    return [(_MARK[dialect], rows)] if rows else []
