"""`GET /decisions/counts`: how many decisions were made in each minute, hour or day, by group."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.decision_counts.service import Bucket, CountGroup, DecisionCounts
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import DecisionFilters

router = APIRouter(tags=["decisions"])
CountsOf = Annotated[DecisionCounts, Depends(of(DecisionCounts))]


class CountsQuery(DecisionFilters):
    """Which decisions are counted, and by what."""

    by: Bucket = "hour"
    group: CountGroup = "effect"


class BucketModel(BaseModel):
    """The decisions of one minute, hour or day (UTC) that begins `at`; one without any is left out."""

    at: datetime
    counts: dict[str, int]
    others: int


class CountsModel(BaseModel):
    """Counts by time and group.

    `groups` are the 20 most frequent ones, the most frequent first; what belongs to no group of them is counted in `others`.
    By `rule`, a decision counts once for each rule that matched it.
    """

    by: Bucket
    group: CountGroup
    since: datetime
    until: datetime
    groups: list[str]
    items: list[BucketModel]


@router.get(
    "/decisions/counts",
    operation_id="count_decisions",
    dependencies=[EXPENSIVE],
    response_model=CountsModel,
    responses=JSON_OR_CSV,
)
async def count_decisions(
    caller: CallerOf, counts: CountsOf, query: Annotated[CountsQuery, Query()], as_table: AsTable
) -> CountsModel | Response:
    """Count decisions by time and group; all filters given must hold.

    A period is at most a day of minutes, 31 days of hours or 366 days; without `since` it is the last hour, day or month.
    `Accept: text/csv` gives a table with a column for each group.
    """
    wanted = DecisionFilter(**query.model_dump(exclude={"by", "group"}))
    found = await counts.find(caller.principal, wanted, query.by, query.group)
    if as_table:
        rows = [
            (one.at.isoformat(), *(one.counts.get(name, 0) for name in found.groups), one.others)
            for one in found.buckets
        ]
        return csv_response(("at", *found.groups, "others"), rows)
    return CountsModel(
        by=query.by,
        group=query.group,
        since=found.since,
        until=found.until,
        groups=found.groups,
        items=[BucketModel(at=one.at, counts=one.counts, others=one.others) for one in found.buckets],
    )
