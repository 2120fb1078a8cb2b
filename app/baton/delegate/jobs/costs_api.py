"""`GET /analytics/jobs`: what delegated tasks cost, and what they would have on the expensive tier. It counts no calls."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from baton.delegate.jobs.costs import JobAnalytics
from baton.delegate.jobs.costs_store import By
from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import Text
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

router = APIRouter(tags=["analytics"])
JobAnalyticsOf = Annotated[JobAnalytics, Depends(of(JobAnalytics))]


class SpentModel(BaseModel):
    """The jobs of one group. `usd` is what agents said, by the tier's prices where they said nothing.

    `expensive_usd` is what the same tokens would have cost on the expensive tier.
    """

    group: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    input_tokens: int
    output_tokens: int
    usd: float
    expensive_usd: float
    saved_usd: float


class SpentsModel(BaseModel):
    """All groups, by name."""

    by: By
    items: list[SpentModel]


@router.get("/analytics/jobs", operation_id="get_job_analytics", dependencies=[EXPENSIVE])
async def get_job_analytics(
    caller: CallerOf,
    analytics: JobAnalyticsOf,
    by: Annotated[By, Query()] = "tier",
    since: Moment | None = None,
    until: Moment | None = None,
    user: Text = "",
) -> SpentsModel:
    """Sum up jobs by tier, provider, user, team, day or agent; the last seven days without `since`."""
    found = await analytics.find(caller.principal, by, since=since, until=until, user=user)
    return SpentsModel(by=by, items=[SpentModel.model_validate(one, from_attributes=True) for one in found])
