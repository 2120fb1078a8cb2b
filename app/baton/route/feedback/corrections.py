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
_feedback = ROUTE_FEEDBACK


async def proposals(database: Database, organisation: str, team: str, since: datetime) -> list[NewPattern]:
    """Return a proposal for each agent that people often chose instead of another. Raise DatabaseUnavailable."""
    times = func.count()
    query = (
        select(_feedback.c.selected, _feedback.c.right_agent, times)
        .where(
            _feedback.c.organisation == organisation,
            _feedback.c.team == storable(team),
            _feedback.c.at >= since,
            _feedback.c.selected != "",
            _feedback.c.right_agent != "",
            _feedback.c.selected != _feedback.c.right_agent,
        )
        .group_by(_feedback.c.selected, _feedback.c.right_agent)
        .having(times >= LEAST_CORRECTIONS)
        .order_by(times.desc(), _feedback.c.right_agent)
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
