"""The period that a list or a sum covers: seven days where the request names no start."""

from datetime import UTC, datetime, timedelta

WEEK = timedelta(days=7)
_FIRST_WEEK_ENDS = datetime.min.replace(tzinfo=UTC) + WEEK


def start_of(since: datetime | None, until: datetime | None) -> datetime:
    """Return `since`, or seven days before `until`, which is now where it is missing."""
    if since is not None:
        return since
    # There is no date before the year 1.
    return max(until or datetime.now(UTC), _FIRST_WEEK_ENDS) - WEEK
