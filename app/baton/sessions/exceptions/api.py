"""`/exceptions`: request an exception from a refusal, list, grant and revoke exceptions, propose changes of rules."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, Shown, request_body
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN, EXPENSIVE, WORK
from baton.sessions.exceptions.service import Exceptions, Proposal, RuleException, Scope

router = APIRouter(tags=["exceptions"])
ExceptionsOf = Annotated[Exceptions, Depends(of(Exceptions))]


class ExceptionBody(BaseModel):
    """A stopped call, and the reason why it is needed."""

    model_config = request_body({"decision_id": "019b8d5e-3f00-7000-8000-000000000001", "reason": "a hung test runner"})

    decision_id: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=1_000)


class GrantBody(BaseModel):
    """How far and how long a request is granted."""

    model_config = request_body(
        {"scope": "session", "until": "2030-01-02T18:00:00Z", "reason": "the archive is rewritten"}
    )

    scope: Scope = Field(
        description="`once`: this call. Else calls of its shape: in its session or project, or by its user or team."
    )
    until: datetime = Field(description="End of the exception, at most 90 days from now.")
    reason: str = Field("", max_length=1_000)


ShownException = Annotated[
    RuleException, ApiModel("ExceptionModel", without=("organisation", "team", "layer", "approvers"))
]


class ExceptionPage(BaseModel):
    """A page of exceptions, newest first; `next_cursor` is absent on the last one."""

    items: list[ShownException]
    next_cursor: str | None = None


@router.post("/exceptions", status_code=201, dependencies=[WORK])
async def request_exception(caller: CallerOf, exceptions: ExceptionsOf, body: ExceptionBody) -> ShownException:
    """Ask for an exception from the rule that stopped a call. A locked rule has none."""
    return await exceptions.request(caller.principal, body.decision_id, body.reason)


@router.get("/exceptions", response_model_exclude_none=True)
async def list_exceptions(
    caller: CallerOf,
    users: UsersOf,
    exceptions: ExceptionsOf,
    session_id: Text = "",
    user: Text = "",
    state: Literal["", "requested", "granted", "used"] = "",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> ExceptionPage:
    """List the requests and the exceptions in force."""
    (before_id,) = after(cursor)
    await users.check_known(caller, "user", user)
    found = await exceptions.find(caller.principal, session_id=session_id, user=user, state=state)
    rest = [one for one in found if not before_id or one.id < before_id]
    items, next_cursor = page(rest[: limit + 1], limit, lambda one: (one.id,))
    return ExceptionPage(items=list(items), next_cursor=next_cursor)


@router.get("/exceptions/proposals", dependencies=[EXPENSIVE])
async def propose_rule_changes(caller: CallerOf, exceptions: ExceptionsOf) -> list[Shown[Proposal]]:
    """Propose a change of a rule for each shape of calls granted three times. Leads and admins only."""
    return await exceptions.proposals(caller.principal)


@router.post("/exceptions/{exception_id}/grant", dependencies=[ADMIN])
async def grant_exception(
    caller: CallerOf, exceptions: ExceptionsOf, exception_id: str, body: GrantBody
) -> ShownException:
    """Grant a request. It takes the right to write the rule, or to be an approver named by it; never for locked rules."""
    return await exceptions.grant(caller.principal, exception_id, **body.model_dump())


@router.delete("/exceptions/{exception_id}", status_code=204, dependencies=[ADMIN])
async def revoke_exception(
    caller: CallerOf, exceptions: ExceptionsOf, exception_id: str, reason: Annotated[str, Query(max_length=1_000)] = ""
) -> Response:
    """End an exception before its time, or refuse or withdraw a request."""
    await exceptions.revoke(caller.principal, exception_id, reason)
    return Response(status_code=204)
