"""Wrong blocks: developers report decisions that were wrong, leads answer. An answer changes no policy by itself."""

from datetime import UTC, datetime

import msgspec
from uuid_utils import uuid7

from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.kernel.base.errors import Conflict, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.kernel.http.etags import check_if_match
from baton.people.permissions import covers, require
from baton.people.row_scope import row_scope
from baton.records.review.decisions import Decisions
from baton.records.review.wrong_blocks import store
from baton.records.review.wrong_blocks.store import State, WrongBlock

KIND = "reports"
_AWAY = "reports cannot be read or changed now; nothing was changed, try again"
_RANK = {"deny": 4, "ask": 3, "rewrite": 2, "guidance": 1}


class WrongBlockFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of wrong blocks; all fields that are set must hold."""

    rule: str = ""
    state: str = ""
    user: str = ""


class WrongBlocks:
    """The wrong blocks that the organisation's developers reported."""

    def __init__(self, database: Database, changes: Changes, decisions: Decisions) -> None:
        self._database = database
        self._changes = changes
        self._decisions = decisions

    async def make(self, principal: Principal, decision_id: str, comment: str) -> WrongBlock:
        """Report a decision as wrong, with the rule that decided it.

        Raises:
            Conflict: If the principal has reported this decision before.
            Forbidden: If the role may not.
            NotFound: If there is no such decision that the principal may see.
            StoreUnavailable: If the database is away; nothing was stored.
        """
        require(principal, "reports.write")
        decision = await self._decisions.get(principal, decision_id)
        if not covers(principal, "reports.write", user=decision.user, team=decision.team):
            raise NotFound(f"there is no decision `{decision_id}`")
        report = WrongBlock(
            id=str(uuid7()),
            team=decision.team,
            decision_id=decision.id,
            rule=_deciding(decision),
            user=principal.user,
            comment=comment,
            at=datetime.now(UTC),
        )
        try:
            added = await store.add(self._database, principal.organisation, report)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if not added:
            raise Conflict(f"you have reported decision `{decision_id}` already; `baton reports` shows the answer")
        return report

    async def find(
        self, principal: Principal, wanted: WrongBlockFilter, *, before_id: str, limit: int
    ) -> list[WrongBlock]:
        """Return wrong blocks, newest first; `before_id` is the id of the last one of the page before.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is away.
        """
        theirs = row_scope(principal, "reports.read")
        try:
            return await store.find(
                self._database,
                principal.organisation,
                theirs,
                **msgspec.structs.asdict(wanted),
                before_id=before_id,
                limit=limit,
            )
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def get(self, principal: Principal, report_id: str) -> WrongBlock:
        """Return one wrong block.

        Raises:
            NotFound: If there is none that the principal may see.
            StoreUnavailable: If the database is away.
        """
        try:
            found = await store.get(
                self._database, principal.organisation, row_scope(principal, "reports.read"), report_id
            )
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if found is None:
            raise NotFound(f"there is no report `{report_id}`")
        return found

    async def resolve(
        self, principal: Principal, report_id: str, *, state: State, answer: str, version: str | None
    ) -> WrongBlock:
        """Answer a wrong block, or open it again.

        Raises:
            Forbidden: If the role may not.
            Conflict: If it is changed at the same time.
            NotFound: If there is none that the principal may answer.
            PreconditionFailed: If somebody has answered it since `version`.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "reports.resolve")
        before = await self.get(principal, report_id)
        check_if_match(version, before.version)
        after = msgspec.structs.replace(
            before,
            state=state,
            answer=answer,
            resolved_by="" if state == "open" else principal.user,
            resolved_at=None if state == "open" else datetime.now(UTC),
            version=before.version + 1,
        )
        async with self._changes.write(KIND, principal, "report.resolve") as change:
            if not await store.replace(change.connection, principal.organisation, after):
                # Somebody was faster between our reading and writing: name their version, if they have committed it.
                check_if_match(version, (await self.get(principal, report_id)).version)
                raise Conflict(f"report `{report_id}` was changed at the same time; read it again")
            await change.audit(
                report_id,
                before={"state": before.state, "answer": before.answer},
                after={"state": after.state, "answer": after.answer},
                reason=answer,
            )
        return after


def _deciding(decision: Record) -> str:
    """Return the rule that decided, which is the first of the strongest effect; "" if none matched."""
    hits = sorted(decision.rules, key=lambda hit: -_RANK.get(hit.effect, 0))
    return hits[0].id if hits else ""
