"""Requests of agents that wait for a person: one table for calls of sessions and of jobs' agents."""

from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec
from sqlalchemy import ColumnElement, Index, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.kernel.base.errors import Conflict, Forbidden, NotFound
from baton.kernel.base.sql import row_of, table_of
from baton.kernel.changes import audit_store
from baton.lib.text.masking import mask_json
from baton.lib.text.visible import shown
from baton.people.users import covers, require
from baton.rules.call.call import Principal
from baton.shared.storable import storable, storable_json

_LONGEST_ACT = 4_000
"""Characters of an act that a request shows."""
State = Literal["waiting", "approved", "denied", "used"]


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `approvers` are separated by spaces.

    `shown` is the call's input, secrets masked, and `act` the digest of a session's call. Of a session, `job` and all
    that follows is empty. `reading` is a `CallReading`.
    """

    id: str
    organisation: str
    user: str
    team: str
    project: str
    session_id: str
    client: str
    tool: str
    act: str = ""
    shown: str
    rule: str
    reason: str
    approvers: str
    state: State = "waiting"
    answer_reason: str = ""
    decided_by: str = ""
    created_at: datetime
    expires_at: datetime
    job: str = ""
    job_title: str = ""
    workspace: str = ""
    decision_id: str = ""
    reading: dict[str, Any] = {}


APPROVALS = table_of(
    "approvals",
    Approval,
    Index("ix_approvals_act", "organisation", "user", "session_id", "act"),
    Index("ix_approvals_state", "organisation", "state", "expires_at"),
    Index("ix_approvals_job", "job"),
)
_c = APPROVALS.c


def text_of(tool_input: dict[str, Any]) -> str:
    """Return a call's input as a request shows it."""
    return shown(msgspec.json.encode(mask_json(tool_input)).decode(), _LONGEST_ACT)


async def add(connection: AsyncConnection, request: Approval) -> None:
    """Store a new request."""
    row = row_of(request, masked=("reason", "job_title"))
    await connection.execute(insert(APPROVALS).values(row | {"reading": storable_json(request.reading)}))


async def find_approvals(connection: AsyncConnection, *conditions: ColumnElement[bool]) -> list[Approval]:
    """List the requests that meet all conditions, the oldest first."""
    query = select(APPROVALS).where(*conditions).order_by(_c.created_at, _c.id)
    return [msgspec.convert(row._asdict(), Approval) for row in await connection.execute(query)]


async def get(connection: AsyncConnection, principal: Principal, approval_id: str) -> Approval:
    """Return a request. Raise NotFound if it is unknown, or hidden from the principal."""
    this = (_c.organisation == principal.organisation, _c.id == storable(approval_id))
    for found in await find_approvals(connection, *this):
        if may_see(principal, found):
            return found
    raise NotFound(f"there is no approval request `{approval_id[:100]}`")


async def answer(
    connection: AsyncConnection, principal: Principal, approval_id: str, *, approve: bool, reason: str, now: datetime
) -> tuple[Approval, bool]:
    """Answer and audit a request, and return whether that changed it: the same answer again does not.

    Raises:
        Conflict: It has the other answer, was used, or has expired.
        Forbidden: Its rule names other approvers.
        NotFound: The request is unknown, or hidden from the principal.
        PersonRequired: An agent asks for it.
    """
    require(principal, "approvals.decide")
    found = await get(connection, principal, approval_id)
    state: State = "approved" if approve else "denied"
    if not may_answer(principal, found):
        names = {"self": f"`{found.user}`", "lead": "a lead of the team"}
        whose = f"{' or '.join(names.get(one, f'`{one}`') for one in found.approvers.split())} may answer request `{found.id}`"
        cancel = f"; you may cancel job `{found.job}`" if found.job else ""
        raise Forbidden(f"only {whose}{cancel}")
    if found.state == state:
        return found, False
    if found.state != "waiting" or found.expires_at <= now:
        over = found.state if found.state != "waiting" else "expired; a new call makes another request"
        by = f" by `{found.decided_by}`" if found.decided_by else f": {found.answer_reason}" * bool(found.answer_reason)
        raise Conflict(f"request `{found.id}` is already {over}{by}")
    answered = msgspec.structs.replace(
        found,
        state=state,
        decided_by=principal.user,
        answer_reason=reason,
        expires_at=now + (found.expires_at - found.created_at),
    )
    change = update(APPROVALS).where(_c.id == found.id, _c.state == "waiting")
    if not (await connection.execute(change.values(row_of(answered, masked=("reason", "answer_reason"))))).rowcount:
        raise Conflict(f"request `{found.id}` was answered just now")
    await audit_store.add(
        connection,
        principal,
        action=f"approval.{'approve' if approve else 'deny'}",
        kind="approvals",
        object=found.id,
        after={"user": found.user, "job": found.job, "tool": found.tool, "shown": found.shown, "rule": found.rule},
        reason=reason,
    )
    return answered, True


async def deny_of_job(connection: AsyncConnection, job: str, why: str, *, before: datetime | None = None) -> list[str]:
    """Deny a job's waiting requests, or only those that expired before a time. Return their ids."""
    which = update(APPROVALS).where(_c.job == job, _c.state == "waiting")
    which = which if before is None else which.where(_c.expires_at < before)
    denied = await connection.execute(which.values(state="denied", answer_reason=why).returning(_c.id))
    return sorted(denied.scalars())


async def overdue_jobs(connection: AsyncConnection, organisation: str, now: datetime) -> set[str]:
    """Return the ids of jobs with requests that nobody answered in time."""
    late = (_c.organisation == organisation, _c.state == "waiting", _c.expires_at < now, _c.job != "")
    return {one.job for one in await find_approvals(connection, *late)}


async def waits(connection: AsyncConnection, job: str) -> bool:
    """Return whether a request of a job waits."""
    waiting = select(func.count()).where(_c.job == job, _c.state == "waiting")
    return (await connection.execute(waiting)).scalar_one() > 0


def may_see(principal: Principal, request: Approval) -> bool:
    """Return whether a principal may read a request."""
    return covers(principal, "approvals.read", user=request.user, team=request.team) or may_answer(principal, request)


def may_answer(principal: Principal, request: Approval) -> bool:
    """Return whether a person is one of a request's approvers. Nobody but `self` answers an own request."""
    own = request.user == principal.user
    return (own and "self" in request.approvers.split()) or is_named(principal, request)


class _Asked(Protocol):
    @property
    def user(self) -> str: ...
    @property
    def team(self) -> str: ...
    @property
    def approvers(self) -> str: ...


def is_named(principal: Principal, asked: _Asked) -> bool:
    """Return whether a person is an approver by role or name. Nobody is one for own calls. An admin is a lead as well."""
    if principal.agent or asked.user == principal.user:
        return False
    leads = principal.role == "admin" or (principal.role == "lead" and principal.team == asked.team != "")
    names = {f"user:{principal.user}", f"role:{principal.role}", *(["lead"] if leads else [])}
    return not names.isdisjoint(asked.approvers.split())
