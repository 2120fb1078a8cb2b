"""How often people called a tier's choices right, from the tables of feedback and of decisions."""

from datetime import datetime

from sqlalchemy import case, func, select

from baton.kernel.base.sql import Database
from baton.records.tables import DECISIONS
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.route.llm.client import Agreement


async def of_tier(database: Database, organisation: str, tier: str, since: datetime) -> Agreement:
    """Count the feedback on this tier's routes since a timestamp. Raise DatabaseUnavailable."""
    right = case((ROUTE_FEEDBACK.c.right_agent == ROUTE_FEEDBACK.c.selected, 1), else_=0)
    query = (
        select(func.count(), func.coalesce(func.sum(right), 0))
        .select_from(ROUTE_FEEDBACK.join(DECISIONS, DECISIONS.c.id == ROUTE_FEEDBACK.c.route_id))
        .where(
            ROUTE_FEEDBACK.c.organisation == organisation,
            ROUTE_FEEDBACK.c.at >= since,
            DECISIONS.c.organisation == organisation,
            DECISIONS.c.routed_by == tier,
        )
    )
    async with database.transaction() as connection:
        judged, agreed = (await connection.execute(query)).one()
    return Agreement(judged=int(judged), right=int(agreed))
