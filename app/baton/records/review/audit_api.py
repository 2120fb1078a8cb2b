"""`GET /audit`: who changed what, when, from what to what, and why."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
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


@router.get("/audit", operation_id="list_audit", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_audit(
    caller: CallerOf,
    audit: AuditOf,
    kind: Text = "",
    object: Text = "",  # noqa: A002 - the field's name in the API
    actor: Text = "",
    since: Moment | None = None,
    until: Moment | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> AuditPage:
    """List changes; all filters given must hold. For admins and auditors."""
    wanted = AuditFilter(kind=kind, object=object, actor=actor, since=since, until=until)
    (before_id,) = after(cursor)
    found = await audit.find(caller.principal, wanted, before_id=before_id, limit=limit + 1)
    items, next_cursor = page(found, limit, lambda entry: (entry.id,))
    return AuditPage(
        items=[AuditEntryModel.model_validate(entry, from_attributes=True) for entry in items], next_cursor=next_cursor
    )
