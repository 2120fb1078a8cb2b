"""Proposes patterns from repeated corrections of routes."""

from datetime import datetime

from sqlalchemy import func, select

from baton.context.patterns.pattern import NewPattern
from baton.kernel.base.sql import Database
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.shared.storable import storable

LEAST_CORRECTIONS = 3  # times that people must have said the same
MOST = 50
_SURENESS, _MOST_SURE, _EACH = 0.7, 0.95, 0.02


async def proposals(database: Database, organisation: str, team: str, since: datetime) -> list[NewPattern]:
    """Return a proposal for each agent that people often chose instead of another. Raise DatabaseUnavailable."""
    times = func.count()
    query = (
        select(ROUTE_FEEDBACK.c.selected, ROUTE_FEEDBACK.c.right_agent, times)
        .where(
            ROUTE_FEEDBACK.c.organisation == organisation,
            ROUTE_FEEDBACK.c.team == storable(team),
            ROUTE_FEEDBACK.c.at >= since,
            ROUTE_FEEDBACK.c.selected != "",
            ROUTE_FEEDBACK.c.right_agent != "",
            ROUTE_FEEDBACK.c.selected != ROUTE_FEEDBACK.c.right_agent,
        )
        .group_by(ROUTE_FEEDBACK.c.selected, ROUTE_FEEDBACK.c.right_agent)
        .having(times >= LEAST_CORRECTIONS)
        .order_by(times.desc(), ROUTE_FEEDBACK.c.right_agent)
        .limit(MOST)
    )
    rows = await database.rows(query)
    return [
        NewPattern(
            signature=f"Consider the agent `{right}` before `{selected}`",
            text=f"People corrected {count} routes so within 30 days.",
            domain="routing",
            confidence=min(_MOST_SURE, _SURENESS + count * _EACH),
            reason="repeated in the team's feedback on routes",
        )
        for selected, right, count in rows
    ]
