"""`/overrides`: lifts rules for one session for a limited time, lists what is lifted, and ends it early."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.features import of
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.sessions.overrides.service import LONGEST_MINUTES, Overrides

router = APIRouter(tags=["overrides"])
OverridesOf = Annotated[Overrides, Depends(of(Overrides))]


class OverrideBody(BaseModel):
    """A rule to lift for a session."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "session_id": "5b1f0c9e",
                    "user": "ada",
                    "rule": "options/pkill",
                    "reason": "a hung test runner",
                    "minutes": 60,
                }
            ]
        },
    )

    session_id: str = Field(min_length=1, max_length=1_024)
    user: str = Field(
        "", max_length=1_024, description="The session's user. When absent, the one whose calls of it are recorded."
    )
    rule: str = Field(
        min_length=1, max_length=200, description="A rule's id; `*` is every rule that the mode switches."
    )
    reason: str = Field(min_length=1, max_length=1_000)
    minutes: int = Field(60, ge=1, le=LONGEST_MINUTES)


class OverrideModel(BaseModel):
    """A rule that has no effect on a session until `expires_at`."""

    id: str
    session_id: str
    user: str
    rule: str
    reason: str
    created_by: str
    created_at: datetime
    expires_at: datetime


class OverridePage(BaseModel):
    """A page of overrides, newest first; `next_cursor` is absent on the last one."""

    items: list[OverrideModel]
    next_cursor: str | None = None


@router.post("/overrides", operation_id="make_override", status_code=201, dependencies=[ADMIN])
async def make_override(caller: CallerOf, overrides: OverridesOf, body: OverrideBody) -> OverrideModel:
    """Lift a rule for a session. Whoever may write a rule may lift it; nobody may lift a locked rule.

    An admin may lift any other rule. A lead may lift, for sessions of the team, the rules of the team's layer and of
    its projects' layers, and those that the mode switches.
    """
    made = await overrides.make(caller.principal, **body.model_dump())
    return OverrideModel.model_validate(made, from_attributes=True)


@router.get("/overrides", operation_id="list_overrides", response_model_exclude_none=True)
async def list_overrides(
    caller: CallerOf,
    overrides: OverridesOf,
    session_id: Text = "",
    user: Text = "",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> OverridePage:
    """List the overrides that have not ended."""
    (before_id,) = after(cursor)
    found = overrides.find(caller.principal, session_id=session_id, user=user)
    rest = [one for one in found if not before_id or one.id < before_id]
    items, next_cursor = page(rest[: limit + 1], limit, lambda one: (one.id,))
    return OverridePage(
        items=[OverrideModel.model_validate(one, from_attributes=True) for one in items], next_cursor=next_cursor
    )


@router.delete("/overrides/{override_id}", operation_id="end_override", status_code=204, dependencies=[ADMIN])
async def end_override(
    caller: CallerOf,
    overrides: OverridesOf,
    override_id: str,
    reason: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """End an override before its time."""
    await overrides.end(caller.principal, override_id, reason)
    return Response(status_code=204)
