"""Wrong blocks: developers report wrong decisions, leads answer. An answer changes no policy by itself."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import Index, Select, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.kernel.base.errors import Conflict, NotFound
from baton.kernel.base.sql import Database, StoreErrors, equal, insert_into, row_of, table_of
from baton.kernel.changes.announce import Changes
from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown, request_body
from baton.kernel.http.paging import IfMatch, PageQuery, Text, after, check_if_match, etag, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.people.users import RowScope, covers, require, row_scope
from baton.records.review.decisions import Decisions
from baton.rules.call.call import Principal
from baton.rules.call.record import Record
from baton.shared.storable import storable

# The table of wrong blocks, and its queries.

State = Literal["open", "accepted", "declined"]


class WrongBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A decision reported as wrong by a developer, and a lead's answer.

    `rule` is the deciding rule, "" if none had matched; `version` is the report's `ETag`.
    """

    id: str
    team: str
    decision_id: str
    rule: str
    user: str
    comment: str
    at: datetime
    state: State = "open"
    answer: str = ""
    resolved_by: str = ""
    resolved_at: datetime | None = None
    version: int = 1


WRONG_BLOCKS = table_of(
    "reports",
    WrongBlock,
    Index("ix_reports_organisation", "organisation", "id"),
    Index("ux_reports_decision", "organisation", "decision_id", "user", unique=True),
)


async def add(database: Database, organisation: str, report: WrongBlock) -> bool:
    """Store a wrong block; return False and store nothing if this user has reported the decision before."""
    insert = insert_into(database.dialect, WRONG_BLOCKS).values(
        row_of(report, masked=("comment", "answer")) | {"organisation": organisation}
    )
    async with database.transaction() as connection:
        done = await connection.execute(
            insert.on_conflict_do_nothing(index_elements=["organisation", "decision_id", "user"])
        )
    return bool(done.rowcount == 1)


async def find_wrong_blocks(
    database: Database,
    organisation: str,
    scope: RowScope,
    *,
    rule: str = "",
    state: str = "",
    user: str = "",
    before_id: str = "",
    limit: int = 50,
) -> list[WrongBlock]:
    """Return wrong blocks, newest first; `before_id` is the id of the last one of the page before."""
    query = _visible(organisation, scope).order_by(WRONG_BLOCKS.c.id.desc()).limit(limit)
    query = query.where(*equal(WRONG_BLOCKS, rule=rule, state=state, user=user))
    if before_id:
        query = query.where(WRONG_BLOCKS.c.id < before_id)
    return await database.read(query, WrongBlock)


async def get(database: Database, organisation: str, scope: RowScope, report_id: str) -> WrongBlock | None:
    """Return one wrong block, or None if there is none in this scope."""
    query = _visible(organisation, scope).where(WRONG_BLOCKS.c.id == storable(report_id))
    return next(iter(await database.read(query, WrongBlock)), None)


async def replace(connection: AsyncConnection, organisation: str, report: WrongBlock) -> bool:
    """Replace the previous version of a wrong block; return False if another change came first."""
    change = (
        update(WRONG_BLOCKS)
        .where(
            WRONG_BLOCKS.c.organisation == organisation,
            WRONG_BLOCKS.c.id == report.id,
            WRONG_BLOCKS.c.version == report.version - 1,
        )
        .values(row_of(report, masked=("comment", "answer")))
    )
    return (await connection.execute(change)).rowcount == 1


def _visible(organisation: str, scope: RowScope) -> Select[Any]:
    return scope.limit(select(WRONG_BLOCKS).where(WRONG_BLOCKS.c.organisation == organisation), WRONG_BLOCKS)


KIND = "reports"
_AWAY = "reports cannot be read or changed now; nothing was changed, try again"
_RANK = {"deny": 4, "ask": 3, "rewrite": 2, "guidance": 1}


class WrongBlocks:
    """The wrong blocks reported by the organisation's developers."""

    def __init__(self, database: Database, changes: Changes, decisions: Decisions) -> None:
        self._database = database
        self._changes = changes
        self._decisions = decisions

    async def make(self, principal: Principal, decision_id: str, comment: str) -> WrongBlock:
        """Report a decision as wrong, with its deciding rule.

        Raises:
            Conflict: If the principal has reported this decision before.
            Forbidden: If the role may not.
            NotFound: If the decision is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable; nothing was stored.
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
        with StoreErrors(_AWAY):
            added = await add(self._database, principal.organisation, report)
        if not added:
            raise Conflict(
                f"you have reported decision `{decision_id}` already; `baton policy reports` shows the answer"
            )
        return report

    async def search(self, principal: Principal, **wanted: Any) -> list[WrongBlock]:
        """Return the wanted wrong blocks as `find_wrong_blocks`.

        Raises:
            Forbidden: If the role may not.
            StoreUnavailable: If the database is unavailable.
        """
        theirs = row_scope(principal, "reports.read")
        with StoreErrors(_AWAY):
            return await find_wrong_blocks(self._database, principal.organisation, theirs, **wanted)

    async def get(self, principal: Principal, report_id: str) -> WrongBlock:
        """Return one wrong block.

        Raises:
            NotFound: If it is unknown, or hidden from the principal.
            StoreUnavailable: If the database is unavailable.
        """
        with StoreErrors(_AWAY):
            found = await get(self._database, principal.organisation, row_scope(principal, "reports.read"), report_id)
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
            NotFound: If it is unknown, or the principal may not answer it.
            PreconditionFailed: If somebody has answered it since `version`.
            StoreUnavailable: If the database is unavailable; nothing was changed.
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
            if not await replace(change.connection, principal.organisation, after):
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
    """Return the deciding rule: the first of the strongest effect; "" if none matched."""
    hits = sorted(decision.rules, key=lambda hit: -_RANK.get(hit.effect, 0))
    return hits[0].id if hits else ""


# `/reports`: wrong blocks, as developers report them, and the leads' answers.

router = APIRouter(tags=["reports"])
WrongBlocksOf = Annotated[WrongBlocks, Depends(of(WrongBlocks))]


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
    found = await reports.search(caller.principal, before_id=before_id, limit=query.limit + 1, **query.filters())
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
