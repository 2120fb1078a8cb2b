"""Counts routed prompts and their feedback by day, in SQL, and proposes patterns from repeated corrections."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, Table, and_, case, func, literal_column, select

from baton.context.patterns.pattern import NewPattern
from baton.kernel.base.clock import bucket_of
from baton.kernel.base.sql import Database, equal
from baton.people.users import RowScope
from baton.records.tables import DECISIONS
from baton.route.feedback.store import ROUTE_FEEDBACK
from baton.route.llm.client import Agreement
from baton.shared.record_ids import least_id
from baton.shared.storable import storable


class QualityFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for prompts, all of which must match. `since` is included, `until` is not."""

    since: datetime
    until: datetime
    user: str = ""
    team: str = ""


class RouteCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many prompts of a day one tier led in one way: to an agent, a shortlist or none."""

    day: str
    tier: str
    told: str
    count: int


class FeedbackCount(msgspec.Struct, frozen=True, kw_only=True):
    """One day's feedback: the number of judged routes, and how many of these were `right`.

    A false route led to the wrong agent, or to one although none was right. A missed one led to none although one was.
    """

    day: str
    judged: int
    right: int
    false_routes: int
    missed: int


async def routes(database: Database, organisation: str, scope: RowScope, wanted: QualityFilter) -> list[RouteCount]:
    """Return the counts of routed prompts. Raise DatabaseUnavailable."""
    d = DECISIONS
    query = select(
        bucket_of(d.c.at, "day", database.dialect).label("day"),
        d.c.routed_by.label("tier"),
        d.c.routed_as.label("told"),
        func.count().label("count"),
    ).where(
        d.c.organisation == organisation,
        d.c.event == "UserPromptSubmit",
        d.c.routed_by != "",
        d.c.id >= least_id(wanted.since),
        d.c.id < least_id(wanted.until),
    )
    query = _limited(query, d, scope, wanted).group_by(*map(literal_column, ("1", "2", "3")))
    return await database.read(query, RouteCount, strict=False)


async def feedback(
    database: Database, organisation: str, scope: RowScope, wanted: QualityFilter
) -> list[FeedbackCount]:
    """Return the counts of feedback by its day. Raise DatabaseUnavailable."""
    f = ROUTE_FEEDBACK
    right = f.c.right_agent == f.c.selected
    counts: list[ColumnElement[Any]] = [
        bucket_of(f.c.at, "day", database.dialect).label("day"),
        func.count().label("judged"),
        _count(right).label("right"),
        _count(and_(~right, f.c.selected != "")).label("false_routes"),
        _count(and_(~right, f.c.selected == "")).label("missed"),
    ]
    query = select(*counts).where(f.c.organisation == organisation, f.c.at >= wanted.since, f.c.at < wanted.until)
    query = _limited(query, f, scope, wanted).group_by(literal_column("1"))
    return await database.read(query, FeedbackCount, strict=False)


def _limited(query: Select[Any], table: Table, scope: RowScope, wanted: QualityFilter) -> Select[Any]:
    return scope.limit(query, table).where(*equal(table, user=wanted.user, team=wanted.team))


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


async def of_tier(database: Database, organisation: str, tier: str, since: datetime) -> Agreement:
    """Count how often people called this tier's routes right since a timestamp. Raise DatabaseUnavailable."""
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
