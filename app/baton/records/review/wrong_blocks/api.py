"""`/reports`: wrong blocks, as developers report them, and the leads' answers."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown, request_body
from baton.kernel.http.paging import IfMatch, PageQuery, Text, after, etag, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.records.review.wrong_blocks.service import WrongBlock, WrongBlockFilter, WrongBlocks

router = APIRouter(tags=["reports"])
WrongBlocksOf = Annotated[WrongBlocks, Depends(of(WrongBlocks))]
State = Literal["open", "accepted", "declined"]


class ReportBody(BaseModel):
    """A wrong decision, and the reason."""

    model_config = request_body(
        {"decision_id": "019b8d5e-3f00-7000-8000-000000000001", "comment": "the folder is a scratch folder"}
    )

    decision_id: str = Field(max_length=200)
    comment: str = Field("", max_length=4_000)


class AnswerBody(BaseModel):
    """A lead's answer to a report."""

    model_config = request_body({"state": "accepted", "answer": "the rule allows scratch folders from now on"})

    state: State
    answer: str = Field("", max_length=4_000)


class ReportPage(BaseModel):
    """A page of reports, newest first; `next_cursor` is absent on the last one."""

    items: list[Shown[WrongBlock]]
    next_cursor: str | None = None


class ReportQuery(PageQuery):
    """The reports to list; all filters must match."""

    rule: Text = ""
    state: Literal["", "open", "accepted", "declined"] = ""
    user: Text = ""


@router.post("/reports", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN])
async def make_report(
    caller: CallerOf, reports: WrongBlocksOf, body: ReportBody, response: Response
) -> Shown[WrongBlock]:
    """Report a decision as wrong; the leads of its team see it with the rule that decided."""
    report = await reports.make(caller.principal, body.decision_id, body.comment)
    response.headers["ETag"] = etag(report.version)
    return report


@router.get("/reports", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_reports(caller: CallerOf, reports: WrongBlocksOf, query: Annotated[ReportQuery, Query()]) -> ReportPage:
    """List reports: a developer's own, a lead's team's, an admin's all."""
    (before_id,) = after(query.cursor)
    found = await reports.search(
        caller.principal, WrongBlockFilter(**query.filters()), before_id=before_id, limit=query.limit + 1
    )
    items, next_cursor = page(found, query.limit, lambda report: (report.id,))
    return ReportPage(items=list(items), next_cursor=next_cursor)


@router.get("/reports/{report_id}", response_model_exclude_none=True)
async def get_report(caller: CallerOf, reports: WrongBlocksOf, report_id: str, response: Response) -> Shown[WrongBlock]:
    """Show one report."""
    report = await reports.get(caller.principal, report_id)
    response.headers["ETag"] = etag(report.version)
    return report


@router.put("/reports/{report_id}", response_model_exclude_none=True, dependencies=[ADMIN])
async def answer_report(
    caller: CallerOf,
    reports: WrongBlocksOf,
    report_id: str,
    body: AnswerBody,
    response: Response,
    if_match: IfMatch = None,
) -> Shown[WrongBlock]:
    """Accept or decline a report, or open it again. `If-Match` must name its present version."""
    report = await reports.resolve(caller.principal, report_id, state=body.state, answer=body.answer, version=if_match)
    response.headers["ETag"] = etag(report.version)
    return report
