"""Stores and finds decisions; `baton.records.review.decisions` checks the access rights."""

import base64
import binascii
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select

from baton.kernel.base.driver import DriverUnavailable, driver
from baton.kernel.base.sql import Database, DatabaseUnavailable, driver_target
from baton.people.users import RowScope
from baton.records.pipeline.rows import writes
from baton.records.pipeline.search import Filters, matches, page
from baton.records.tables import DECISIONS, TOTALS
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.shared.record_ids import moment_of
from baton.shared.storable import storable

__all__ = [
    "LARGEST_PAGE", "BadCursorError", "Filters", "add", "find_records", "get", "matches",
    "totals",
]  # fmt: skip

LARGEST_PAGE = 200


class BadCursorError(ValueError):
    """The cursor was not made by this server."""


async def add(database: Database, records: Sequence[Record], reports: Sequence[OutcomeReport] = ()) -> None:
    """Store at most 200 records and reports in one transaction. Of a stored record only `repeats` may grow.

    Raises:
        DatabaseUnavailable: If the database is unavailable; nothing was stored.
    """
    target = driver_target(database.engine.url)
    writer = driver(target)
    try:
        await writer.write(writes(target.dialect, records, reports))
    except DriverUnavailable as error:
        raise DatabaseUnavailable(str(error), database.place) from error
    finally:
        await writer.close()


async def find_records(
    database: Database, organisation: str, wanted: Filters, cursor: str = "", limit: int = 50
) -> tuple[list[Record], str]:
    """Return decisions without their prompts, newest first, and the cursor of the next page ("" on the last).

    At most `limit` decisions are returned, and never more than 200. There may be fewer, or none, and still a next page:
    a page scans a limited part, and matches may be rare.

    Raises:
        BadCursorError: If the cursor was not made by this server.
        DatabaseUnavailable: If the database is unavailable.
    """
    limit = max(1, min(limit, LARGEST_PAGE))
    before = _before(cursor) if cursor else ""
    async with database.transaction() as connection:
        rows, last = await page(connection, organisation, wanted, before, limit)
    return rows, base64.urlsafe_b64encode(UUID(last).bytes).decode() if last else ""


async def get(database: Database, organisation: str, decision_id: str) -> Record | None:
    """Return one decision with its prompt, or None if the organisation has no such id."""
    query = select(DECISIONS).where(DECISIONS.c.id == storable(decision_id), DECISIONS.c.organisation == organisation)
    return next(iter(await database.read(query, Record)), None)


async def totals(database: Database, organisation: str, scope: RowScope) -> dict[str, int]:
    """Return how many tool calls are stored of each effect, from kept sums."""
    query = select(TOTALS.c.effect, func.sum(TOTALS.c.decisions)).where(TOTALS.c.organisation == organisation)
    query = scope.limit(query, TOTALS).group_by(TOTALS.c.effect)
    rows = await database.rows(query)
    return dict(sorted((row[0], int(row[1])) for row in rows if row[1]))


def _before(cursor: str) -> str:
    try:
        found = str(UUID(bytes=base64.urlsafe_b64decode(cursor.encode())))
        moment_of(found)
    except (binascii.Error, ValueError, OverflowError) as error:
        raise BadCursorError(f"`{cursor}` is not a cursor; take `next_cursor` of the page before") from error
    return found
