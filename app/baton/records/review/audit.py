"""Read the audit log. Entries are written by `Changes.write` alone; nothing changes or removes one before its time."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

import msgspec
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


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for entries, all of which must match. `since` is included, `until` is not."""

    kind: str = ""
    object: str = ""
    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Audit:
    """The log of all changes made by people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self, principal: Principal, wanted: AuditFilter, *, before_id: str, limit: int
    ) -> list[AuditEntry]:
        """Return entries, newest first; `before_id` is the id of the last one of the page before.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is unavailable.
        """
        require(principal, "audit.read")
        with StoreErrors("the audit log cannot be read now; try again"):
            return await store.find_entries(
                self._database,
                principal.organisation,
                **msgspec.structs.asdict(wanted),
                before_id=before_id,
                limit=limit,
            )


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
    found = await audit.search(
        caller.principal, AuditFilter(**query.filters()), before_id=before_id, limit=query.limit + 1
    )
    items, next_cursor = page(found, query.limit, lambda entry: (entry.id,))
    return AuditPage(items=list(items), next_cursor=next_cursor)


@router.get("/audit/export", dependencies=[EXPENSIVE], response_class=StreamingResponse, responses=EXPORTED)
async def export_audit(
    caller: CallerOf, audit: AuditOf, query: Annotated[AuditExportQuery, Query()]
) -> StreamingResponse:
    """Export changes, newest first; all filters given must hold. For admins and auditors."""
    wanted = AuditFilter(**query.model_dump(exclude={"format"}))
    first = await audit.search(caller.principal, wanted, before_id="", limit=_EXPORT_PAGE)

    async def pages() -> AsyncIterator[list[BaseModel]]:
        found = first
        while found:
            yield [struct_model(AuditEntry).model_validate(one) for one in found]
            found = await audit.search(caller.principal, wanted, before_id=found[-1].id, limit=_EXPORT_PAGE)

    return exported("audit", query.format, tuple(AuditEntry.__struct_fields__), pages())
