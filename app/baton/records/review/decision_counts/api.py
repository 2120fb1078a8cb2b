"""`GET /decisions/counts`: how many decisions were made in each minute, hour or day, by group."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown
from baton.kernel.http.paging import JSON_OR_CSV, AsTable, csv_response
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.decision_counts.service import Bucket, BucketCounts, CountGroup, DecisionCounts
from baton.records.review.decisions import DecisionFilter
from baton.records.review.decisions_api import DecisionFilters

router = APIRouter(tags=["decisions"])
CountsOf = Annotated[DecisionCounts, Depends(of(DecisionCounts))]


class CountsQuery(DecisionFilters):
    """The decisions to count, and the grouping."""

    by: Bucket = "hour"
    group: CountGroup = "effect"


class CountsModel(BaseModel):
    """Counts by time and group.

    `groups` are the 20 most frequent ones, the most frequent first; all other decisions are counted in `others`. By
    `rule`, a decision counts once for each matched rule. A refusal by the rate limit counts with its `repeats`.
    """

    by: Bucket
    group: CountGroup
    since: datetime
    until: datetime
    groups: list[str]
    items: list[Shown[BucketCounts]]


@router.get("/decisions/counts", dependencies=[EXPENSIVE], response_model=CountsModel, responses=JSON_OR_CSV)
async def count_decisions(
    caller: CallerOf, counts: CountsOf, query: Annotated[CountsQuery, Query()], as_table: AsTable
) -> CountsModel | Response:
    """Count decisions by time and group; all filters given must hold.

    A period is at most a day of minutes, 31 days of hours or 366 days; without `since` it is the last hour, day or month.
    `Accept: text/csv` gives a table with a column for each group.
    """
    wanted = DecisionFilter(**query.model_dump(exclude={"by", "group"}))
    found = await counts.count(caller.principal, wanted, query.by, query.group)
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
        items=[Shown[BucketCounts](at=one.at, counts=one.counts, others=one.others) for one in found.buckets],
    )
