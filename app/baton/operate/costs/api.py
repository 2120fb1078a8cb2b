"""`GET /analytics/cost`: what agents cost, by user, team, project, agent, model or day."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from msgspec.structs import asdict, fields
from pydantic import BaseModel, Field

from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.kernel.http.moments import PeriodQuery
from baton.operate.costs.service import AgentCosts, CostBy, GroupCost
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

router = APIRouter(tags=["analytics"])
CostsOf = Annotated[AgentCosts, Depends(of(AgentCosts))]
FilterText = Annotated[str, Field(max_length=1_024)]
_COLUMNS = tuple(field.name for field in fields(GroupCost))


class CostQuery(PeriodQuery):
    """Which costs are summed up, and by what."""

    by: CostBy = "day"
    user: FilterText = ""
    team: FilterText = ""
    project: FilterText = ""
    session_id: FilterText = ""


class GroupCostModel(BaseModel):
    """What one group cost.

    `usd` is `calls_usd` (the sub-agents of sessions, as their clients report tokens) + `jobs_usd` (delegated tasks). No token is in
    both. `unpriced_tokens` are those of models without a price; `usd` leaves them out. `saved_usd` is what the same tokens of
    calls that Baton put on another model would have cost more on the expensive tier; calls whose client ignored that
    model, and those without a price, save nothing.
    """

    group: str
    agent_calls: int
    jobs: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float
    calls_usd: float
    jobs_usd: float
    saved_usd: float
    unpriced_tokens: int


class CostListModel(BaseModel):
    """The costs of all groups: days in order, else the dearest first."""

    by: CostBy
    items: list[GroupCostModel]


@router.get(
    "/analytics/cost",
    operation_id="get_cost",
    dependencies=[EXPENSIVE],
    response_model=CostListModel,
    responses=JSON_OR_CSV,
)
async def get_cost(
    caller: CallerOf, costs: CostsOf, query: Annotated[CostQuery, Query()], as_table: AsTable
) -> CostListModel | Response:
    """Sum up what agents cost; the last seven days without `since`. `Accept: text/csv` gives a table."""
    found = await costs.find(caller.principal, query.by, **query.model_dump(exclude={"by"}))
    if as_table:
        return csv_response(_COLUMNS, (tuple(asdict(one).values()) for one in found))
    return CostListModel(by=query.by, items=[GroupCostModel(**asdict(one)) for one in found])
