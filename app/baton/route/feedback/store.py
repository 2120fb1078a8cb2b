"""The table of feedback on routes. No prompt is in it."""

from datetime import datetime

import msgspec
from sqlalchemy import Index, select

from baton.kernel.base.sql import Database, row_of, table_of, upsert
from baton.shared.storable import storable


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """One person's feedback on one route; `right_agent` is "" for none of the agents."""

    route_id: str
    user: str
    team: str
    at: datetime
    selected: str
    right_agent: str


ROUTE_FEEDBACK = table_of(
    "route_feedback",
    Feedback,
    Index("ix_route_feedback_team", "organisation", "team", "at"),
    keys=("organisation", "route_id", "user"),
)


async def put(database: Database, organisation: str, feedback: Feedback) -> None:
    """Store feedback; later feedback of the same person on the same route replaces it. Raise DatabaseUnavailable."""
    row = row_of(feedback) | {"organisation": organisation}
    async with database.transaction() as connection:
        await upsert(connection, ROUTE_FEEDBACK, row, "right_agent", "at")


async def of_team(database: Database, organisation: str, team: str, limit: int) -> list[Feedback]:
    """Read a team's newest feedback, at most `limit` pieces. Raise DatabaseUnavailable."""
    query = (
        select(*(column for column in ROUTE_FEEDBACK.c if column.name != "organisation"))
        .where(ROUTE_FEEDBACK.c.organisation == organisation, ROUTE_FEEDBACK.c.team == storable(team))
        .order_by(ROUTE_FEEDBACK.c.at.desc(), ROUTE_FEEDBACK.c.route_id)
        .limit(limit)
    )
    return await database.read(query, Feedback)
