"""`GET /sessions/{id}/timeline`: a session's events in one order, also as a file."""

import contextlib
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.paging import PageQuery, after, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.sessions.timeline.bodies import JOB_STEPS, Kind, SortKey, TimelineItem, TimelineItemModel, TimelinePage
from baton.sessions.timeline.export import POLICY, as_html, as_ndjson
from baton.sessions.timeline.service import Timelines

router = APIRouter(tags=["sessions"])
TimelinesOf = Annotated[Timelines, Depends(of(Timelines))]
SessionId = Annotated[str, Path(max_length=1_024)]
_PARTS = 4


class TimelineFilters(BaseModel):
    """The session, and the kinds of items; all kinds for none."""

    user: str = Field("", max_length=1_024, description="Owner of the session, if several users have one with this id.")
    kind: list[Kind] = Field([], max_length=20)


class TimelineQuery(TimelineFilters, PageQuery):
    """The page of a timeline."""


class TimelineExportQuery(TimelineFilters):
    """The exported timeline and its format."""

    format: Literal["ndjson", "html"] = "ndjson"


@router.get("/sessions/{session_id}/timeline", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def get_session_timeline(
    caller: CallerOf, timelines: TimelinesOf, session_id: SessionId, query: Annotated[TimelineQuery, Query()]
) -> TimelinePage:
    """Show prompts (where kept), routes, advisories, decisions with their outcome, spawns, jobs and modes of a session, oldest first."""
    place = _place(query.cursor)
    found = await timelines.page(
        caller.principal, session_id, query.user, query.kind, after=place, limit=query.limit + 1
    )
    items, next_cursor = page(found, query.limit, _key)
    return TimelinePage(items=[TimelineItemModel.build(item) for item in items], next_cursor=next_cursor)


@router.get(
    "/sessions/{session_id}/timeline/export",
    dependencies=[EXPENSIVE],
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "One item per line, or one HTML file without scripts or network access.",
            "content": {
                "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"at":"…","kind":"prompt"}\n'},
                "text/html": {"schema": {"type": "string"}},
            },
        }
    },
)
async def export_session_timeline(
    caller: CallerOf, timelines: TimelinesOf, session_id: SessionId, query: Annotated[TimelineExportQuery, Query()]
) -> StreamingResponse:
    """Export the whole timeline of a session."""
    pages = await timelines.pages(caller.principal, session_id, query.user, query.kind)
    name = quote(f"session-{session_id[:100]}.{query.format}", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "x-content-type-options": "nosniff"}
    if query.format == "html":
        headers["content-security-policy"] = f"{POLICY}; sandbox"
        return StreamingResponse(as_html(session_id, pages), media_type="text/html", headers=headers)
    return StreamingResponse(as_ndjson(pages), media_type="application/x-ndjson", headers=headers)


def _key(item: TimelineItem) -> tuple[str, ...]:
    place = item.place
    return place.at.isoformat(), str(place.source), place.id, str(place.part)


def _place(cursor: str) -> SortKey | None:
    at, source, name, part = after(cursor, _PARTS)
    if not at:
        return None
    with contextlib.suppress(ValueError):
        place = SortKey(datetime.fromisoformat(at), int(source), name, int(part))
        if place.at.tzinfo is not None and (place.source != JOB_STEPS or name.rpartition(" ")[2].isdecimal()):
            return place
    raise Invalid("cursor", "is not a cursor; take `next_cursor` of the page before")
