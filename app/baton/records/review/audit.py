"""Read the audit log. Entries are written by `Changes.write` alone; nothing changes or removes one before its time."""

from datetime import datetime

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import audit_store as store
from baton.kernel.changes.audit_store import AuditEntry
from baton.people.permissions import require


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of entries; all fields that are set must hold. `since` is included, `until` is not."""

    kind: str = ""
    object: str = ""
    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None


class Audit:
    """The log of every change that people made."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, principal: Principal, wanted: AuditFilter, *, before_id: str, limit: int) -> list[AuditEntry]:
        """Return entries, newest first; `before_id` is the id of the last one of the page before.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is away.
        """
        require(principal, "audit.read")
        try:
            return await store.find(
                self._database,
                principal.organisation,
                **msgspec.structs.asdict(wanted),
                before_id=before_id,
                limit=limit,
            )
        except DatabaseUnavailable:
            raise StoreUnavailable("the audit log cannot be read now; try again") from None
