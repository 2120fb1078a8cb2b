"""How often people called a tier's choices right, from the tables of feedback and of decisions."""

from datetime import datetime

from sqlalchemy import case, func, select

from baton.kernel.base.sql import Database
from baton.records.tables import DECISIONS
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.route.llm.client import Agreement

_decisions = DECISIONS
_feedback = ROUTE_FEEDBACK


async def of_tier(database: Database, organisation: str, tier: str, since: datetime) -> Agreement:
    """Count the feedback on this tier's routes since a timestamp. Raise DatabaseUnavailable."""
    right = case((_feedback.c.right_agent == _feedback.c.selected, 1), else_=0)
    query = (
        select(func.count(), func.coalesce(func.sum(right), 0))
        .select_from(_feedback.join(_decisions, _decisions.c.id == _feedback.c.route_id))
        .where(
            _feedback.c.organisation == organisation,
            _feedback.c.at >= since,
            _decisions.c.organisation == organisation,
            _decisions.c.routed_by == tier,
        )
    )
    async with database.transaction() as connection:
        judged, agreed = (await connection.execute(query)).one()
    return Agreement(judged=int(judged), right=int(agreed))
