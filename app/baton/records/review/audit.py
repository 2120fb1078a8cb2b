"""Read the audit log. Entries are written by `Changes.write` alone; nothing changes or removes one before its time."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes import audit_store as store
from baton.kernel.changes.audit_store import AuditEntry
from baton.kernel.http.features import of
from baton.kernel.http.fields import Moment, Shown, struct_model
from baton.kernel.http.paging import EXPORTED, ExportFormat, PageQuery, Text, after, exported, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.people.users import require
from baton.rules.call.call import Principal


class Audit:
    """The log of all changes made by people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(self, principal: Principal, **wanted: Any) -> list[AuditEntry]:
        """Return the wanted entries as `audit_store.find_entries`.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is unavailable.
        """
        require(principal, "audit.read")
        with StoreErrors("the audit log cannot be read now; try again"):
            return await store.find_entries(self._database, principal.organisation, **wanted)


# `GET /audit`: changes with author, time, old and new value, and reason.

router = APIRouter(tags=["audit"])
AuditOf = Annotated[Audit, Depends(of(Audit))]
_EXPORT_PAGE = 500


class AuditPage(BaseModel):
    """A page of entries, newest first; `next_cursor` is absent on the last one."""

    items: list[Shown[AuditEntry]]
    next_cursor: str | None = None


class AuditFilters(BaseModel):
    """Filters for changes; all must match."""

    kind: Text = ""
    object: Text = ""
    actor: Text = ""
    since: Moment | None = None
    until: Moment | None = None


class AuditQuery(AuditFilters, PageQuery):
    """The changes to list."""


class AuditExportQuery(AuditFilters):
    """The changes to export, and the format."""

    format: ExportFormat = "ndjson"


@router.get("/audit", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def list_audit(caller: CallerOf, audit: AuditOf, query: Annotated[AuditQuery, Query()]) -> AuditPage:
    """List changes; all filters given must hold. For admins and auditors."""
    (before_id,) = after(query.cursor)
    found = await audit.search(caller.principal, before_id=before_id, limit=query.limit + 1, **query.filters())
    items, next_cursor = page(found, query.limit, lambda entry: (entry.id,))
    return AuditPage(items=list(items), next_cursor=next_cursor)


@router.get("/audit/export", dependencies=[EXPENSIVE], response_class=StreamingResponse, responses=EXPORTED)
async def export_audit(
    caller: CallerOf, audit: AuditOf, query: Annotated[AuditExportQuery, Query()]
) -> StreamingResponse:
    """Export changes, newest first; all filters given must hold. For admins and auditors."""
    wanted = query.model_dump(exclude={"format"}) | {"limit": _EXPORT_PAGE}
    first = await audit.search(caller.principal, **wanted)

    async def pages() -> AsyncIterator[list[BaseModel]]:
        found = first
        while found:
            yield [struct_model(AuditEntry).model_validate(one) for one in found]
            found = await audit.search(caller.principal, before_id=found[-1].id, **wanted)

    return exported("audit", query.format, tuple(AuditEntry.__struct_fields__), pages())
