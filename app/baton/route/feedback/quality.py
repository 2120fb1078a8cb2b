"""Measures routing quality: prompts led to an agent, a shortlist or none, and the feedback on them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Response

from baton.kernel.base.clock import period_of, start_of_bucket
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.http.features import of
from baton.kernel.http.fields import PeriodQuery, Shown
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, Text, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import row_scope
from baton.route.feedback import quality_store as store
from baton.route.feedback.quality_store import FeedbackCount, QualityFilter, RouteCount
from baton.rules.call.call import Principal


class RoutingQuality(msgspec.Struct, frozen=True, kw_only=True):
    """Routed prompts: `confident` ones led to one agent, others to a `shortlist` or to `none`. `tiers` counts by tier.

    `accuracy` (0 to 1) is `right` of `judged` routes, by feedback given in the period. Of the wrong ones,
    `false_routes` chose an agent, and `missed` ones none although a right one existed.
    """

    prompts: int
    confident: int
    shortlist: int
    none: int
    tiers: dict[str, int]
    judged: int
    right: int
    false_routes: int
    missed: int
    accuracy: float


class DayQuality(RoutingQuality, frozen=True, kw_only=True):
    """The prompts and the feedback of one day (UTC), starting `at`; a day without either is left out."""

    at: datetime


class QualityReport(msgspec.Struct, frozen=True, kw_only=True):
    """How well prompts are routed: in the whole period, and by day with any prompt or feedback, oldest first."""

    since: datetime
    until: datetime
    total: RoutingQuality
    items: list[DayQuality]


class RouteQuality:
    """Sums up how well prompts were routed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def summarize(
        self,
        principal: Principal,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str = "",
        team: str = "",
    ) -> QualityReport:
        """Sum up a period, the last seven days without `since`.

        Raises:
            Forbidden: If the role may not read analytics.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is unavailable or takes too long.
        """
        scope = row_scope(principal, "analytics.read")
        start, end = period_of(since, until)
        wanted = QualityFilter(since=start, until=end, user=user, team=team)
        with StoreErrors("routes cannot be summed up now; try a shorter period, or later"):
            routes = await store.routes(self._database, principal.organisation, scope, wanted)
            said = await store.feedback(self._database, principal.organisation, scope, wanted)
        routes_of: dict[str, list[RouteCount]] = defaultdict(list)
        said_of: dict[str, list[FeedbackCount]] = defaultdict(list)
        for route in routes:
            routes_of[route.day].append(route)
        for feedback in said:
            said_of[feedback.day].append(feedback)
        days = [
            DayQuality(at=start_of_bucket(day, "day"), **msgspec.structs.asdict(_summed(routes_of[day], said_of[day])))
            for day in sorted({*routes_of, *said_of})
        ]
        return QualityReport(since=start, until=end, total=_summed(routes, said), items=days)


def _summed(routes: Sequence[RouteCount], said: Sequence[FeedbackCount]) -> RoutingQuality:
    told: Counter[str] = Counter()
    tiers: Counter[str] = Counter()
    for one in routes:
        told[one.told] += one.count
        tiers[one.tier] += one.count
    judged, right = sum(one.judged for one in said), sum(one.right for one in said)
    return RoutingQuality(
        prompts=told.total(),
        confident=told["agent"],
        shortlist=told["shortlist"],
        none=told["none"],
        tiers=dict(sorted(tiers.items())),
        judged=judged,
        right=right,
        false_routes=sum(one.false_routes for one in said),
        missed=sum(one.missed for one in said),
        accuracy=round(right / judged, 4) if judged else 0.0,
    )


# `GET /analytics/routing`: how well prompts are routed, by day.

router = APIRouter(tags=["analytics"])
RouteQualityOf = Annotated[RouteQuality, Depends(of(RouteQuality))]
_COLUMNS = ("prompts", "confident", "shortlist", "none", "judged", "right", "false_routes", "missed", "accuracy")


class QualityQuery(PeriodQuery):
    """The prompts to sum up."""

    user: Text = ""
    team: Text = ""


@router.get("/analytics/routing", dependencies=[EXPENSIVE], response_model=Shown[QualityReport], responses=JSON_OR_CSV)
async def get_route_quality(
    caller: CallerOf, quality: RouteQualityOf, query: Annotated[QualityQuery, Query()], as_table: AsTable
) -> QualityReport | Response:
    """Sum up how well prompts are routed; the last seven days without `since`. `Accept: text/csv` gives the days as a table."""
    found = await quality.summarize(caller.principal, **query.model_dump())
    if as_table:
        rows = [(one.at.date().isoformat(), *(getattr(one, name) for name in _COLUMNS)) for one in found.items]
        return csv_response(("day", *_COLUMNS), rows)
    return found
