"""`GET /analytics/jobs`: what delegated tasks cost, and what they would have cost on the expensive tier."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from baton.delegate.jobs.costs.prices import CostGrouping
from baton.delegate.jobs.costs.service import JobAnalytics
from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.kernel.http.moments import PeriodQuery
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

router = APIRouter(tags=["analytics"])
JobAnalyticsOf = Annotated[JobAnalytics, Depends(of(JobAnalytics))]


class JobCostsQuery(PeriodQuery):
    """Which jobs are summed up, and by what."""

    by: CostGrouping = "tier"
    user: str = Field("", max_length=1_024)


class JobCostsModel(BaseModel):
    """The costs of one group's jobs. `usd` is what the agents said, and the tier's prices where they said nothing.

    `expensive_usd` is what the same tokens would have cost on the expensive tier.
    """

    group: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float
    expensive_usd: float
    saved_usd: float


class JobCostsListModel(BaseModel):
    """The costs of all groups, by name."""

    by: CostGrouping
    items: list[JobCostsModel]


@router.get(
    "/analytics/jobs",
    operation_id="get_job_analytics",
    dependencies=[EXPENSIVE],
    response_model=JobCostsListModel,
    responses=JSON_OR_CSV,
)
async def get_job_analytics(
    caller: CallerOf, analytics: JobAnalyticsOf, query: Annotated[JobCostsQuery, Query()], as_table: AsTable
) -> JobCostsListModel | Response:
    """Sum up jobs by tier, provider, user, team, day or agent; the last seven days without `since`.

    `Accept: text/csv` gives a table.
    """
    found = await analytics.find(caller.principal, query.by, since=query.since, until=query.until, user=query.user)
    if as_table:
        columns = tuple(JobCostsModel.model_fields)
        return csv_response(columns, [tuple(getattr(one, name) for name in columns) for one in found])
    items = [JobCostsModel.model_validate(one, from_attributes=True) for one in found]
    return JobCostsListModel(by=query.by, items=items)
