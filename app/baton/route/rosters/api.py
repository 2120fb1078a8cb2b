"""`/rosters`: the rosters pushed by teams and the organisation, each under its name."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.paging import IfMatch, etag
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN
from baton.route.rosters.agents import LONGEST_NAME, agents_in
from baton.route.rosters.bodies import RosterBody, ShownPush
from baton.route.rosters.roster import NewVersion, RosterKey, Tier
from baton.route.rosters.service import PushedRosters, key_of

router = APIRouter(tags=["rosters"])
RostersOf = Annotated[PushedRosters, Depends(of(PushedRosters))]
Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]


def _key(
    caller: CallerOf,
    name: Annotated[str, Path(min_length=1, max_length=LONGEST_NAME)],
    tier: Annotated[Tier, Query(description="Whose roster it is.")] = "team",
    team: Annotated[str, Query(max_length=200, description="The team; your own without it.")] = "",
) -> RosterKey:
    return key_of(caller.principal, tier, team, name)


KeyOf = Annotated[RosterKey, Depends(_key)]  # the roster that the path's name and the query's `tier` and `team` mean


@router.get("/rosters", response_model_exclude_none=True)
async def list_rosters(caller: CallerOf, rosters: RostersOf) -> list[ShownPush]:
    """List the pushed rosters: your team's and the organisation's, for admins and auditors all."""
    return rosters.find_all(caller.principal)


@router.get("/rosters/{name}", response_model_exclude_none=True)
async def get_roster(caller: CallerOf, rosters: RostersOf, response: Response, key: KeyOf) -> ShownPush:
    """Show the version in force of a pushed roster. `If-Match` takes its `ETag`."""
    found = rosters.get(caller.principal, key)
    response.headers["ETag"] = etag(found.version)
    return found


@router.put("/rosters/{name}", dependencies=[ADMIN], response_model_exclude_none=True)
async def put_roster(
    caller: CallerOf,
    users: UsersOf,
    rosters: RostersOf,
    response: Response,
    key: KeyOf,
    body: RosterBody,
    if_match: IfMatch = None,
) -> ShownPush:
    """Push a roster: a new version, in force at once on every server. `If-Match` names the replaced one."""
    if key.tier == "team":
        users.check_team(key.owner)
    if bool(body.agents) == bool(body.files):
        raise Invalid("agents", "and `files`: exactly one of them must be given")
    if body.agents:
        agents = [one.agent() for one in body.agents]
    else:
        agents = await asyncio.to_thread(agents_in, body.files)
    new = NewVersion(agents=agents, description=body.description, reason=body.reason)
    stored = await rosters.push(caller.principal, key, new, seen=if_match)
    response.headers["ETag"] = etag(stored.version)
    return stored


@router.delete("/rosters/{name}", status_code=204, dependencies=[ADMIN])
async def delete_roster(
    caller: CallerOf, rosters: RostersOf, key: KeyOf, reason: Reason = "", if_match: IfMatch = None
) -> Response:
    """Take a pushed roster out of force; its versions stay."""
    await rosters.remove(caller.principal, key, reason=reason, seen=if_match)
    return Response(status_code=204)
