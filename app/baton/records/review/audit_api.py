"""`GET /audit`: who changed what, when, from what to what, and why."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import PageQuery, Text, after, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.records.review.audit import Audit, AuditFilter

router = APIRouter(tags=["audit"])
AuditOf = Annotated[Audit, Depends(of(Audit))]


class AuditEntryModel(BaseModel):
    """One change. `before` and `after` are empty where there was nothing, or will be nothing."""

    id: str
    at: datetime
    actor: str
    role: str
    action: str
    kind: str
    object: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str


class AuditPage(BaseModel):
    """A page of entries, newest first; `next_cursor` is absent on the last one."""

    items: list[AuditEntryModel]
    next_cursor: str | None = None


class AuditQuery(PageQuery):
    """Which changes to list; all filters given must hold."""

    kind: Text = ""
    object: Text = ""
    actor: Text = ""
    since: Moment | None = None
    until: Moment | None = None


@router.get("/audit", operation_id="list_audit", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_audit(caller: CallerOf, audit: AuditOf, query: Annotated[AuditQuery, Query()]) -> AuditPage:
    """List changes; all filters given must hold. For admins and auditors."""
    (before_id,) = after(query.cursor)
    found = await audit.find(
        caller.principal, AuditFilter(**query.filters()), before_id=before_id, limit=query.limit + 1
    )
    items, next_cursor = page(found, query.limit, lambda entry: (entry.id,))
    return AuditPage(
        items=[AuditEntryModel.model_validate(entry, from_attributes=True) for entry in items], next_cursor=next_cursor
    )
