"""The audit table and its queries."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Index, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.kernel.base.sql import Database, equal, table_of, within
from baton.lib.text.masking import mask, mask_json
from baton.rules.call.call import Principal
from baton.shared.storable import storable


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `before` and `after` are empty if nothing existed or nothing remains."""

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


AUDIT = table_of("audit", AuditEntry, Index("ix_audit_organisation", "organisation", "id"))


async def add(
    connection: AsyncConnection,
    principal: Principal,
    *,
    action: str,
    object: str,  # noqa: A002 - the column's name
    kind: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
) -> None:
    """Add an entry in the change's own transaction. Secrets are masked. `kind` is by default the action's first word."""
    await connection.execute(
        insert(AUDIT).values(
            id=str(uuid7()),
            at=datetime.now(UTC),
            organisation=principal.organisation,
            actor=storable(principal.user),
            role=principal.role,
            action=action,
            kind=kind or action.partition(".")[0],
            object=mask(storable(object)),
            before=_stored(before),
            after=_stored(after),
            reason=mask(storable(reason)),
        )
    )


def _stored(given: Mapping[str, Any] | None) -> Any:
    return mask_json(
        {key: one for key, one in msgspec.to_builtins(given or {}, str_keys=True).items() if one is not None}
    )


async def find_entries(
    database: Database,
    organisation: str,
    *,
    kind: str = "",
    object: str = "",  # noqa: A002 - the column's name
    actor: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    before_id: str = "",
    limit: int = 50,
) -> list[AuditEntry]:
    """Find entries, newest first, from `since` to before `until`. `before_id` is the previous page's last entry."""
    query = select(AUDIT).where(AUDIT.c.organisation == organisation).order_by(AUDIT.c.id.desc()).limit(limit)
    query = query.where(*equal(AUDIT, kind=kind, object=object, actor=actor), *within(AUDIT.c.at, since, until))
    if before_id:
        query = query.where(AUDIT.c.id < before_id)
    return await database.read(query, AuditEntry)
