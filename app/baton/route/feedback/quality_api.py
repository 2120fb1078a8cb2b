"""`GET /analytics/routing`: how well prompts are routed, by day."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from msgspec.structs import asdict
from pydantic import BaseModel

from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.kernel.http.moments import PeriodQuery
from baton.kernel.http.paging import Text
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.route.feedback.quality import RouteQuality

router = APIRouter(tags=["analytics"])
RouteQualityOf = Annotated[RouteQuality, Depends(of(RouteQuality))]
_COLUMNS = ("prompts", "confident", "shortlist", "none", "judged", "right", "false_routes", "missed", "accuracy")


class QualityQuery(PeriodQuery):
    """Which prompts are summed up."""

    user: Text = ""
    team: Text = ""


class RoutingQualityModel(BaseModel):
    """Routed prompts: `confident` ones led to one agent, others to a `shortlist` or to `none`; `tiers` is what decided.

    `accuracy` (0 to 1) is `right` of `judged` routes, by the feedback that was given in that time. Of the wrong ones,
    `false_routes` chose an agent, and `missed` ones none although there was a right one.
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


class DayQualityModel(RoutingQualityModel):
    """The prompts and the feedback of the day (UTC) that begins `at`; a day without either is left out."""

    at: datetime


class QualityReportModel(BaseModel):
    """How well prompts are routed: in the whole period, and by day, oldest first."""

    since: datetime
    until: datetime
    total: RoutingQualityModel
    items: list[DayQualityModel]


@router.get(
    "/analytics/routing",
    operation_id="get_route_quality",
    dependencies=[EXPENSIVE],
    response_model=QualityReportModel,
    responses=JSON_OR_CSV,
)
async def get_route_quality(
    caller: CallerOf, quality: RouteQualityOf, query: Annotated[QualityQuery, Query()], as_table: AsTable
) -> QualityReportModel | Response:
    """Sum up how well prompts are routed; the last seven days without `since`. `Accept: text/csv` gives the days as a table."""
    found = await quality.find(caller.principal, **query.model_dump())
    if as_table:
        rows = [(one.at.date().isoformat(), *(getattr(one, name) for name in _COLUMNS)) for one in found.days]
        return csv_response(("day", *_COLUMNS), rows)
    return QualityReportModel(
        since=found.since,
        until=found.until,
        total=RoutingQualityModel(**asdict(found.total)),
        items=[DayQualityModel(**asdict(one)) for one in found.days],
    )
