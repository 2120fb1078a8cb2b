"""`GET /decisions` and `/decisions/{id}`: recorded decisions, newest first."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import PageQuery
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.bodies import DecisionModel, DecisionPage
from baton.records.review.decisions import DecisionFilter, Decisions
from baton.records.review.export import as_csv, as_ndjson

router = APIRouter(tags=["decisions"])
DecisionsOf = Annotated[Decisions, Depends(of(Decisions))]
Text = Annotated[str, Field(max_length=4_096)]


class LiveFilters(BaseModel):
    """Which decisions are wanted, of those that are made now; all filters given must hold."""

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
    project: Text = ""
    revision: Text = ""
    q: str = Field("", max_length=200, description="A part of the tool's name, the command or a path.")
    overridden: bool | None = None


class DecisionFilters(LiveFilters):
    """Which decisions are wanted; all filters given must hold."""

    outcome: Literal["", "ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"] = ""
    since: Moment | None = None
    until: Moment | None = None


class DecisionQuery(DecisionFilters, PageQuery):
    """Which decisions to list."""


class ExportQuery(DecisionFilters):
    """Which decisions to export, and how."""

    format: Literal["ndjson", "csv"] = "ndjson"


@router.get("/decisions", operation_id="list_decisions", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_decisions(
    caller: CallerOf, decisions: DecisionsOf, query: Annotated[DecisionQuery, Query()]
) -> DecisionPage:
    """List recorded decisions; all filters given must hold. `cursor` is the `next_cursor` of the page before.

    A page looks through a bounded number of decisions. Where what is wanted is rare among them, it holds fewer than
    `limit`, or none, and still has a `next_cursor`: the search goes on there.
    """
    wanted = DecisionFilter(**query.filters())
    records, next_cursor = await decisions.find(caller.principal, wanted, query.cursor, query.limit)
    return DecisionPage(items=[DecisionModel.of(record) for record in records], next_cursor=next_cursor or None)


@router.get(
    "/decisions/export",
    operation_id="export_decisions",
    dependencies=[EXPENSIVE],
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One decision a line; a CSV begins with the names of its columns.",
            "content": {
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "example": '{"id":"0198f3…","decision":"allow"}\n',
                },
                "text/csv": {"schema": {"type": "string"}},
            },
        }
    },
)
async def export_decisions(
    caller: CallerOf, decisions: DecisionsOf, query: Annotated[ExportQuery, Query()]
) -> StreamingResponse:
    """Export recorded decisions, newest first, as far as the caller may see them. All filters given must hold."""
    pages = await decisions.pages(caller.principal, DecisionFilter(**query.model_dump(exclude={"format"})))
    if query.format == "csv":
        return StreamingResponse(as_csv(pages), media_type="text/csv", headers=_download("csv"))
    return StreamingResponse(as_ndjson(pages), media_type="application/x-ndjson", headers=_download("ndjson"))


def _download(ending: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="decisions.{ending}"'}


@router.get("/decisions/{decision_id}", operation_id="get_decision", response_model_exclude_none=True)
async def get_decision(caller: CallerOf, decisions: DecisionsOf, decision_id: str) -> DecisionModel:
    """Show one recorded decision; another developer's is not found."""
    return DecisionModel.of(await decisions.get(caller.principal, decision_id))
