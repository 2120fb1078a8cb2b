"""`/policies/unlocks`: unlock rules for a time, list what is unlocked, and end it early."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.policies.unlocks import Unlocks

router = APIRouter(tags=["policies"])
UnlocksOf = Annotated[Unlocks, Depends(of(Unlocks))]


class UnlockBody(BaseModel):
    """A rule, or a pattern of rules, to unlock. Without `team` and `user` it is unlocked for everybody."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "rule": "guardrails/force-push",
                    "team": "payments",
                    "reason": "the history of the archive is rewritten",
                    "until": "2030-01-02T18:00:00Z",
                }
            ]
        },
    )

    rule: str = Field(min_length=1, max_length=200, description="A rule's id, or a glob: `guardrails/force-*`.")
    team: str = Field("", max_length=500)
    user: str = Field("", max_length=500)
    reason: str = Field(min_length=1, max_length=1_000)
    until: datetime = Field(description="When the lock holds again; at most 30 days from now.")


class UnlockModel(BaseModel):
    """A rule, or a pattern of rules, that no lock holds until `until`."""

    id: str
    rule: str
    team: str
    user: str
    reason: str
    created_by: str
    created_at: datetime
    until: datetime


@router.post("/policies/unlocks", operation_id="unlock_policies", status_code=201, dependencies=[ADMIN])
async def unlock_policies(caller: CallerOf, unlocks: UnlocksOf, body: UnlockBody) -> UnlockModel:
    """Unlock rules for a time: layers of these people may loosen them until then. Admins only.

    It loosens nothing by itself. Afterwards files that need it are left out of their layers.
    """
    made = await unlocks.make(caller.principal, **body.model_dump())
    return UnlockModel.model_validate(made, from_attributes=True)


@router.get("/policies/unlocks", operation_id="list_policy_unlocks")
async def list_policy_unlocks(caller: CallerOf, unlocks: UnlocksOf) -> list[UnlockModel]:
    """List the unlocks that hold now, newest first: those for you; for admins and auditors all."""
    return [UnlockModel.model_validate(one, from_attributes=True) for one in unlocks.find(caller.principal)]


@router.delete("/policies/unlocks/{unlock_id}", operation_id="end_policy_unlock", status_code=204, dependencies=[ADMIN])
async def end_policy_unlock(
    caller: CallerOf, unlocks: UnlocksOf, unlock_id: str, reason: Annotated[str, Query(max_length=1_000)] = ""
) -> Response:
    """End an unlock before its time."""
    await unlocks.end(caller.principal, unlock_id, reason)
    return Response(status_code=204)
