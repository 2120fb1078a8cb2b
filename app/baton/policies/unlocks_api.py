"""`/policies/unlocks`: unlock rules temporarily, list unlocks, end them early."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, request_body
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN
from baton.people.users import require
from baton.policies.layer_versions import StoredUnlock
from baton.policies.unlocks import Unlocks

router = APIRouter(tags=["policies"])
UnlocksOf = Annotated[Unlocks, Depends(of(Unlocks))]


class UnlockBody(BaseModel):
    """A rule or pattern to unlock, without `team` and `user` for everybody."""

    model_config = request_body(
        {"rule": "guardrails/force-push", "team": "payments", "reason": "the history of the archive is rewritten",
        "until": "2030-01-02T18:00:00Z"}
    )  # fmt: skip

    rule: str = Field(min_length=1, max_length=200, description="A rule's id, or a glob: `guardrails/force-*`.")
    team: str = Field("", max_length=500)
    user: str = Field("", max_length=500)
    reason: str = Field(min_length=1, max_length=1_000)
    until: datetime = Field(description="End of the unlock, at most 30 days from now.")


ShownUnlock = Annotated[StoredUnlock, ApiModel("UnlockModel")]


@router.post("/policies/unlocks", status_code=201, dependencies=[ADMIN])
async def unlock_policies(caller: CallerOf, users: UsersOf, unlocks: UnlocksOf, body: UnlockBody) -> ShownUnlock:
    """Unlock rules temporarily: layers of these people may then relax them. Admins only.

    It relaxes nothing by itself. Afterwards dependent files no longer apply.
    """
    require(caller.principal, "policies.unlock")
    await users.check_known(caller, "user", body.user)
    return await unlocks.make(caller.principal, **body.model_dump())


@router.get("/policies/unlocks")
async def list_policy_unlocks(caller: CallerOf, unlocks: UnlocksOf) -> list[ShownUnlock]:
    """List the current unlocks, newest first: yours, or all for admins and auditors."""
    return unlocks.list_unlocks(caller.principal)


@router.delete("/policies/unlocks/{unlock_id:path}", status_code=204, dependencies=[ADMIN])
async def end_policy_unlock(
    caller: CallerOf, unlocks: UnlocksOf, unlock_id: str, reason: Annotated[str, Query(max_length=1_000)] = ""
) -> Response:
    """End an unlock early."""
    await unlocks.end(caller.principal, unlock_id, reason)
    return Response(status_code=204)
