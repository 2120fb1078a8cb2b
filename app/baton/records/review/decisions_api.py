"""`GET /decisions` and `/decisions/{id}`: recorded decisions, newest first."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, Moment
from baton.kernel.http.paging import EXPORTED, ExportFormat, PageQuery, exported
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.bodies import DecisionModel, DecisionPage
from baton.records.review.decisions import DecisionFilter, Decisions

COLUMNS = tuple(name for name in DecisionModel.model_fields if name != "prompt")
"""The columns of a CSV export. Prompts are shown with one decision only."""
router = APIRouter(tags=["decisions"])
DecisionsOf = Annotated[Decisions, Depends(of(Decisions))]
Text = Annotated[str, Field(max_length=4_096)]


class LiveFilters(BaseModel):
    """Filters for new decisions; all must match."""

    user: Text = ""
    session_id: Text = ""
    agent_id: Text = ""
    agent_type: Text = ""
    client: Text = ""
    event: Text = ""
    tool: Text = ""
    effect: Literal["", "deny", "ask", "rewrite", "allow", "abstain", "guidance", "shadow", "lifted"] = Field(
        "", description="The decision's effect; the last three find decisions in which a rule had that effect."
    )
    decision: Literal["", "allow", "ask", "block"] = ""
    rule: Text = ""
    project: Annotated[Text, PROJECT] = ""
    revision: Text = ""
    q: str = Field("", max_length=200, description="A part of the tool's name, the command or a path.")
    overridden: bool | None = None


class DecisionFilters(LiveFilters):
    """Filters for decisions; all must match."""

    outcome: Literal["", "ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "changed_by_other", "unknown"] = (
        ""
    )
    since: Moment | None = None
    until: Moment | None = None


class DecisionQuery(DecisionFilters, PageQuery):
    """The decisions to list."""


class ExportQuery(DecisionFilters):
    """The decisions to export, and the format."""

    format: ExportFormat = "ndjson"


@router.get("/decisions", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_decisions(
    caller: CallerOf, decisions: DecisionsOf, query: Annotated[DecisionQuery, Query()]
) -> DecisionPage:
    """List recorded decisions matching all filters. `cursor` is the `next_cursor` of the page before.

    A page scans a bounded number of decisions. If matches are rare among them, it contains fewer than `limit`, or none,
    and still has a `next_cursor`: the search continues there.
    """
    wanted = DecisionFilter(**query.filters())
    records, next_cursor = await decisions.find(caller.principal, wanted, query.cursor, query.limit)
    return DecisionPage(items=[DecisionModel.build(record) for record in records], next_cursor=next_cursor or None)


@router.get("/decisions/export", dependencies=[EXPENSIVE], response_class=StreamingResponse, responses=EXPORTED)
async def export_decisions(
    caller: CallerOf, decisions: DecisionsOf, query: Annotated[ExportQuery, Query()]
) -> StreamingResponse:
    """Export recorded decisions, newest first, as far as the caller may see them. All filters given must hold."""
    pages = await decisions.pages(caller.principal, DecisionFilter(**query.model_dump(exclude={"format"})))
    models = ([DecisionModel.build(record) for record in page] async for page in pages)
    return exported("decisions", query.format, COLUMNS, models)


@router.get("/decisions/{decision_id}", response_model_exclude_none=True)
async def get_decision(caller: CallerOf, decisions: DecisionsOf, decision_id: str) -> DecisionModel:
    """Show one recorded decision; another developer's is not found."""
    return DecisionModel.build(await decisions.get(caller.principal, decision_id))
