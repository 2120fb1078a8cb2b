"""Minutes, hours and days (UTC) as SQL groups rows by them and as answers show them."""

from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, String, cast, func

Bucket = Literal["minute", "hour", "day"]
_CUT = {"minute": (16, "YYYY-MM-DD HH24:MI"), "hour": (13, "YYYY-MM-DD HH24"), "day": (10, "YYYY-MM-DD")}
"""How much of SQLite's text of a moment is a bucket's, and Postgres's format of the same."""
_REST = {"minute": "", "hour": ":00", "day": " 00:00"}


def bucket_of(moment: ColumnElement[Any], by: Bucket, dialect: str) -> ColumnElement[str]:
    """Return the name of the bucket that a column's moment lies in."""
    length, form = _CUT[by]
    if dialect == "sqlite":  # moments are texts in UTC
        return func.substr(cast(moment, String), 1, length)
    return func.to_char(func.timezone("UTC", moment), form)


def bucket_name(moment: datetime, by: Bucket) -> str:
    """Return the name of the bucket that a timezone-aware moment lies in."""
    return moment.astimezone(UTC).isoformat(" ")[: _CUT[by][0]]


def start_of_bucket(name: str, by: Bucket) -> datetime:
    """Return the moment at which a bucket begins."""
    return datetime.fromisoformat(f"{name}{_REST[by]}+00:00")
