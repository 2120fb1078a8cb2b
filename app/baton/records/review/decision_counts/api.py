"""`GET /decisions/counts`: how many decisions were made in each minute, hour or day, by group."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.decision_counts.service import Bucket, CountedDecisions, CountGroup, DecisionCounts
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import DecisionFilters

router = APIRouter(tags=["decisions"])
CountsOf = Annotated[DecisionCounts, Depends(of(DecisionCounts))]


class CountsQuery(DecisionFilters):
    """The decisions to count, and the grouping."""

    by: Bucket = "hour"
    group: CountGroup = "effect"


@router.get(
    "/decisions/counts",
    dependencies=[EXPENSIVE],
    response_model=Annotated[CountedDecisions, ApiModel("CountsModel")],
    responses=JSON_OR_CSV,
)
async def count_decisions(
    caller: CallerOf, counts: CountsOf, query: Annotated[CountsQuery, Query()], as_table: AsTable
) -> CountedDecisions | Response:
    """Count decisions by time and group; all filters given must hold.

    A period is at most a day of minutes, 31 days of hours or 366 days; without `since` it is the last hour, day or month.
    `Accept: text/csv` gives a table with a column for each group.
    """
    wanted = DecisionFilter(**query.model_dump(exclude={"by", "group"}))
    found = await counts.count(caller.principal, wanted, query.by, query.group)
    if as_table:
        rows = [
            (one.at.isoformat(), *(one.counts.get(name, 0) for name in found.groups), one.others) for one in found.items
        ]
        return csv_response(("at", *found.groups, "others"), rows)
    return found
