"""`GET /analytics/latency`: how long decisions took by hour or day, and which could not be made."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from msgspec.structs import asdict
from pydantic import BaseModel

from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.kernel.http.moments import PeriodQuery
from baton.kernel.http.paging import Text
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.analytics.latency import Latencies, LatencyBucket

router = APIRouter(tags=["analytics"])
LatenciesOf = Annotated[Latencies, Depends(of(Latencies))]
_COLUMNS = ("at", "event", "decisions", "p50_ms", "p90_ms", "p99_ms", "degraded")


class LatencyQuery(PeriodQuery):
    """Which decisions are summed up, and by what."""

    by: LatencyBucket = "hour"
    event: Literal["", "PreToolUse", "UserPromptSubmit"] = ""
    user: Text = ""
    team: Text = ""


class EventLatencyModel(BaseModel):
    """The decisions of one event in the whole period: calls (`PreToolUse`) or routed prompts (`UserPromptSubmit`).

    Half of them were made within `p50_ms`, and so on; these are within 5 % of the truth. `degraded` counts those that lacked
    something, `lacking` by what it was.
    """

    event: str
    decisions: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    degraded: int
    lacking: dict[str, int]


class LatencyModel(EventLatencyModel):
    """The decisions of one event in the hour or day (UTC) that begins `at`; one without any is left out."""

    at: datetime


class HookFailureModel(BaseModel):
    """Hook calls of everybody that were answered without a decision, in the hour or day that begins `at`.

    `answer` says whether the client let the call run (`allow`: the hook failed open) or not (`block`), `code` which error it was.
    """

    at: datetime
    client: str
    answer: str
    code: str
    calls: int


class LatencyReportModel(BaseModel):
    """How long decisions took: `events` in the whole period, `items` by hour or day, oldest first."""

    by: LatencyBucket
    since: datetime
    until: datetime
    events: list[EventLatencyModel]
    items: list[LatencyModel]
    failures: list[HookFailureModel]


@router.get(
    "/analytics/latency",
    operation_id="get_latency",
    dependencies=[EXPENSIVE],
    response_model=LatencyReportModel,
    responses=JSON_OR_CSV,
)
async def get_latency(
    caller: CallerOf, latencies: LatenciesOf, query: Annotated[LatencyQuery, Query()], as_table: AsTable
) -> LatencyReportModel | Response:
    """Sum up how long decisions took, and how many lacked something or failed; `Accept: text/csv` gives the items as a table.

    A period is at most 31 days of hours or 366 days; without `since` it is the last day of hours or week of days. Nobody
    knows whose a call was that could not be decided, so `failures` are everybody's, and empty with a filter.
    """
    found = await latencies.find(caller.principal, query.by, **query.model_dump(exclude={"by"}))
    if as_table:
        table = [(one.at.isoformat(), *(getattr(one, name) for name in _COLUMNS[1:])) for one in found.items]
        return csv_response(_COLUMNS, table)
    return LatencyReportModel(
        by=query.by,
        since=found.since,
        until=found.until,
        events=[EventLatencyModel(**asdict(one)) for one in found.events],
        items=[LatencyModel(**asdict(one)) for one in found.items],
        failures=[HookFailureModel(**asdict(one)) for one in found.failures],
    )
