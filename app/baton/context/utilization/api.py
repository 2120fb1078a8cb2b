"""`/analytics/context`: what was put into prompts and what of it was used; `/context/sources`: what is switched off."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.context.utilization.switches import SourceSwitches
from baton.context.utilization.usage import ContextUsage, SourceUsage
from baton.kernel.http.csv_text import JSON_OR_CSV, AsTable, csv_response
from baton.kernel.http.features import of
from baton.kernel.http.moments import PeriodQuery
from baton.kernel.http.paging import Text
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE

router = APIRouter(tags=["context"])
ContextUsageOf = Annotated[ContextUsage, Depends(of(ContextUsage))]
SourceSwitchesOf = Annotated[SourceSwitches, Depends(of(SourceSwitches))]


class ContextQuery(PeriodQuery):
    """The period, and the team; without `since`, the last seven days."""

    team: Text = ""


class SourceUsageModel(BaseModel):
    """What one source added to prompts, and what of it agents used.

    Of `measured` prompts, those whose turn ended and that named something of their own, agents `used` something after so many;
    `utilization` is the share of the identifiers that they used. `proposal` says why to switch the source off, where it is
    hardly used.
    """

    source: str
    prompts: int
    tokens: int
    tokens_per_prompt: float
    measured: int
    used: int
    injected: int
    reused: int
    utilization: float
    proposal: str | None = None

    @classmethod
    def of(cls, one: SourceUsage) -> "SourceUsageModel":
        """Show a source as the API does."""
        return cls(
            source=one.source,
            prompts=one.sums.prompts,
            tokens=one.sums.tokens,
            tokens_per_prompt=one.tokens_per_prompt,
            measured=one.sums.measured,
            used=one.sums.used,
            injected=one.sums.injected,
            reused=one.sums.reused,
            utilization=one.utilization,
            proposal=one.proposal or None,
        )


class SourceModel(BaseModel):
    """A source of context. `off_for_teams` names teams that you may see; `off` says that it is off for everybody."""

    source: str
    off: bool
    off_for_teams: list[str]


class SwitchBody(BaseModel):
    """A switch. Without a team it is for everybody, which only admins may decide."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"enabled": False, "team": "web", "reason": "hardly used"}]}
    )

    enabled: bool
    team: str = Field("", max_length=200)
    reason: str = Field("", max_length=1_000, description="The reason, for the audit log.")


@router.get(
    "/analytics/context",
    operation_id="get_context_usage",
    response_model_exclude_none=True,
    dependencies=[EXPENSIVE],
    response_model=list[SourceUsageModel],
    responses=JSON_OR_CSV,
)
async def get_context_usage(
    caller: CallerOf, usage: ContextUsageOf, query: Annotated[ContextQuery, Query()], as_table: AsTable
) -> list[SourceUsageModel] | Response:
    """Sum up what was put into prompts by its source, and what of it was used: yours, your team's, or everybody's.

    `Accept: text/csv` gives a table.
    """
    found = await usage.find(caller.principal, query.since, query.until, query.team)
    models = [SourceUsageModel.of(one) for one in found]
    if as_table:
        columns = tuple(SourceUsageModel.model_fields)
        return csv_response(columns, [tuple(one.model_dump().values()) for one in models])
    return models


@router.get("/context/sources", operation_id="list_context_sources")
async def list_context_sources(caller: CallerOf, sources: SourceSwitchesOf) -> list[SourceModel]:
    """List what may be put into prompts, and for whom it is switched off."""
    return [SourceModel.model_validate(one, from_attributes=True) for one in sources.find(caller.principal)]


@router.put("/context/sources/{source}", operation_id="put_context_source", dependencies=[ADMIN])
async def put_context_source(
    caller: CallerOf,
    sources: SourceSwitchesOf,
    source: Annotated[str, Path(min_length=1, max_length=100)],
    body: SwitchBody,
) -> SourceModel:
    """Switch a source on or off for a team or for everybody; every server follows at once."""
    switched = await sources.switch(caller.principal, source, enabled=body.enabled, team=body.team, reason=body.reason)
    return SourceModel.model_validate(switched, from_attributes=True)
