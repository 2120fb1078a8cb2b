"""`GET|PUT|DELETE /mode`: the orchestrator mode, at six scopes. `/freezes`: stops of all tool calls."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Response

from baton.kernel.base.errors import NotFound
from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT
from baton.kernel.http.paging import Cursor, IfMatch, Limit, Text, after, etag, page
from baton.machines.session_projects import SessionProjects
from baton.modes import bodies
from baton.modes.freezes import Freezes
from baton.modes.listing import ModeFilter, ModeList
from baton.modes.request import ModeTarget, principal_of, refuse_lock, target
from baton.modes.service import Modes, version_of
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN
from baton.people.users import Users, reach
from baton.records.review.decisions import DecisionFilter, Decisions
from baton.rules.call.modes import Freeze, FreezeScope, ModeSetting, Scope
from baton.shared.caller import Caller

router = APIRouter(tags=["mode"])
ModeListOf = Annotated[ModeList, Depends(of(ModeList))]
FreezesOf = Annotated[Freezes, Depends(of(Freezes))]
ModesOf = Annotated[Modes, Depends(of(Modes))]
DecisionsOf = Annotated[Decisions, Depends(of(Decisions))]
SessionProjectsOf = Annotated[SessionProjects, Depends(of(SessionProjects))]


@router.get("/mode", response_model_exclude_none=True)
async def get_mode(
    caller: CallerOf,
    users: UsersOf,
    modes: ModesOf,
    projects: SessionProjectsOf,
    response: Response,
    session_id: Text = "",
    project: Annotated[Text, PROJECT] = "",
    user: Text = "",
) -> bodies.ShownMode:
    """Show the mode in force for a session, a project and a user, with the chain of settings behind it.

    A session stays in the project of its first event, whatever `project` says. The `ETag` belongs to the last setting
    of the chain, the deciding one. It is `"0"` if nothing is set.
    """
    principal = principal_of(caller, users, user)
    pin = await projects.find(principal, session_id)
    mode = modes.effective(principal, pin.project if pin else project or caller.project, session_id)
    response.headers["ETag"] = etag(version_of(mode.chain[-1] if mode.chain else None))
    return mode


@router.put("/mode", response_model_exclude_none=True, dependencies=[ADMIN])
async def put_mode(
    caller: CallerOf,
    users: UsersOf,
    modes: ModesOf,
    body: bodies.ModeBody,
    response: Response,
    if_match: IfMatch = None,
) -> bodies.ShownSetting:
    """Set the mode at one scope. A missing level means guidance; disabling clears the caller's narrower settings.

    `If-Match` may be left out; with the `ETag` of `GET /mode`, or the `etag` of one of `GET /modes`, nobody's change is
    undone unseen.
    """
    refuse_lock(body.scope, locked=body.locked)
    where = target(caller, users, body.scope, body.id, body.user, body.project)
    await _check_known(caller, users, where)
    setting = ModeSetting(**body.model_dump() | msgspec.structs.asdict(where))
    stored = await modes.put(caller, setting, if_match)
    response.headers["ETag"] = etag(version_of(stored))
    return stored


@router.delete("/mode", status_code=204, dependencies=[ADMIN])
async def delete_mode(
    caller: CallerOf,
    users: UsersOf,
    modes: ModesOf,
    scope: Scope,
    id: Text = "",  # noqa: A002 - the field's name in the API
    user: Text = "",
    project: Annotated[Text, PROJECT] = "",
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
    if_match: IfMatch = None,
) -> Response:
    """Remove the setting at one scope, so that the wider ones decide again. Removing an absent setting is no error."""
    await modes.delete(caller, target(caller, users, scope, id, user, project), if_match, reason)
    return Response(status_code=204)


@router.get("/modes", response_model_exclude_none=True)
async def list_modes(
    caller: CallerOf,
    mode_list: ModeListOf,
    scope: Scope | None = None,
    id: Text = "",  # noqa: A002 - the field's name in the API
    user: Text = "",
    project: Annotated[Text, PROJECT] = "",
    enabled: bool | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> bodies.ModePage:
    """List the settings at every scope; all filters given must hold."""
    wanted = ModeFilter(scope=scope or "", id=id, user=user, project=project, enabled=enabled)
    found = mode_list.find(caller.principal, wanted, after=after(cursor, 3), limit=limit + 1)
    items, next_cursor = page(found, limit, lambda setting: setting.key)
    return bodies.ModePage(
        items=[bodies.ListedMode(**msgspec.structs.asdict(one), etag=etag(version_of(one))) for one in items],
        next_cursor=next_cursor,
    )


@router.get("/freezes", response_model_exclude_none=True)
async def list_freezes(caller: CallerOf, freezes: FreezesOf) -> bodies.FreezePage:
    """List the freezes in force visible to the caller."""
    return bodies.FreezePage(items=freezes.visible(caller.principal))


@router.put("/freezes", response_model_exclude_none=True, dependencies=[ADMIN])
async def put_freeze(
    caller: CallerOf, users: UsersOf, freezes: FreezesOf, decisions: DecisionsOf, body: bodies.FreezeBody
) -> bodies.ShownFreeze:
    """Refuse all tool calls at a scope from the next call on, or with `read_only` those able to change something.

    It replaces an earlier freeze of the same scope and id. Whoever has set it ends it, or somebody with as many rights.
    """
    where = target(caller, users, body.scope, body.id, what="freeze")
    await _check_known(caller, users, where)
    if where.scope == "session":
        where = await _with_owner(caller, users, decisions, where)
    freeze = Freeze(**body.model_dump() | {"id": where.id, "user": where.user})
    return await freezes.set(caller, freeze)


@router.delete("/freezes", status_code=204, dependencies=[ADMIN])
async def end_freeze(
    caller: CallerOf,
    users: UsersOf,
    freezes: FreezesOf,
    scope: FreezeScope,
    id: Text = "",  # noqa: A002 - the field's name in the API
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
) -> Response:
    """End a freeze. Ending an absent one is no error."""
    await freezes.end(caller, target(caller, users, scope, id, what="freeze"), reason)
    return Response(status_code=204)


async def _with_owner(caller: Caller, users: Users, decisions: Decisions, where: ModeTarget) -> ModeTarget:
    """Return a session's place with its owner, as recorded. Raise NotFound if a lead names a session of nobody known."""
    found, _ = await decisions.find(caller.principal, DecisionFilter(session_id=where.id), "", 1)
    found = [one for one in found if users.covers(caller.principal, "modes.write", one.user)]
    if not found and reach(caller.principal, "modes.write") == "team":
        raise NotFound(f"there is no session `{where.id}` of your team; a new one may take a second to appear")
    return msgspec.structs.replace(where, user=found[0].user) if found else where


async def _check_known(caller: Caller, users: Users, where: ModeTarget) -> None:
    """Raise Invalid for an unknown user, team or project, with the nearest known name."""
    match where.scope:
        case "user" | "team" | "project":
            await users.check_known(caller, where.scope, where.id, field="id")
        case "session" | "user_project":
            await users.check_known(caller, "user", where.user)
            await users.check_known(caller, "project", where.project)
