"""`GET|PUT|DELETE /mode`: the orchestrator mode, at six scopes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from baton.clients.session_projects import SessionProjects
from baton.engine.call.modes import ModeSetting, Scope
from baton.kernel.http.etags import IfMatch, etag
from baton.kernel.http.features import of
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.modes.bodies import ListedModeModel, ModeBody, ModeModel, ModePage, ModeSettingModel
from baton.modes.listing import ModeFilter, ModeList
from baton.modes.request import principal_of, refuse_lock, target
from baton.modes.service import Modes, version_of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.users import Users

router = APIRouter(tags=["mode"])
ModeListOf = Annotated[ModeList, Depends(of(ModeList))]
ModesOf = Annotated[Modes, Depends(of(Modes))]
SessionProjectsOf = Annotated[SessionProjects, Depends(of(SessionProjects))]
UsersOf = Annotated[Users, Depends(of(Users))]


@router.get("/mode", operation_id="get_mode", response_model_exclude_none=True)
async def get_mode(
    caller: CallerOf,
    users: UsersOf,
    modes: ModesOf,
    projects: SessionProjectsOf,
    response: Response,
    session_id: Text = "",
    project: Text = "",
    user: Text = "",
) -> ModeModel:
    """Show the mode in force for a session, a project and a user, and the whole chain of settings that led to it.

    A session stays in the project of its first event, whatever `project` says.
    The `ETag` is that of the setting that decides, the last of the chain; it is `"0"` if nothing is set.
    """
    principal = principal_of(caller, users, user)
    pin = await projects.find(principal, session_id)
    mode = modes.effective(principal, pin.project if pin else project or caller.project, session_id)
    response.headers["ETag"] = etag(version_of(mode.chain[-1] if mode.chain else None))
    return ModeModel.of(mode)


@router.put("/mode", operation_id="put_mode", response_model_exclude_none=True, dependencies=[ADMIN])
async def put_mode(
    caller: CallerOf, users: UsersOf, modes: ModesOf, body: ModeBody, response: Response, if_match: IfMatch = None
) -> ModeSettingModel:
    """Set the mode at one scope. A missing level means guidance; disabling clears the caller's narrower settings.

    `If-Match` may be left out; with the `ETag` of `GET /mode`, or the `etag` of one of `GET /modes`, nobody's change is
    undone unseen.
    """
    refuse_lock(body.scope, locked=body.locked)
    where = target(caller, users, body.scope, body.id, body.user, body.project)
    setting = ModeSetting(
        scope=where.scope,
        id=where.id,
        user=where.user,
        project=where.project,
        enabled=body.enabled,
        level=body.level,
        locked=body.locked,
        reason=body.reason,
        expires_at=body.expires_at,
    )
    stored = await modes.put(caller, setting, if_match)
    response.headers["ETag"] = etag(version_of(stored))
    return ModeSettingModel.of(stored)


@router.delete("/mode", operation_id="delete_mode", status_code=204, dependencies=[ADMIN])
async def delete_mode(
    caller: CallerOf,
    users: UsersOf,
    modes: ModesOf,
    scope: Scope,
    id: Text = "",  # noqa: A002 - the field's name in the API
    user: Text = "",
    project: Text = "",
    reason: Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")] = "",
    if_match: IfMatch = None,
) -> Response:
    """Remove the setting at one scope, so that the wider ones decide again. Removing what is not there is no error."""
    where = target(caller, users, scope, id, user, project)
    await modes.delete(caller, where, if_match, reason)
    return Response(status_code=204)


@router.get("/modes", operation_id="list_modes", response_model_exclude_none=True)
async def list_modes(
    caller: CallerOf,
    mode_list: ModeListOf,
    scope: Scope | None = None,
    id: Text = "",  # noqa: A002 - the field's name in the API
    user: Text = "",
    project: Text = "",
    enabled: bool | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> ModePage:
    """List the settings at every scope; all filters given must hold."""
    wanted = ModeFilter(scope=scope or "", id=id, user=user, project=project, enabled=enabled)
    found = mode_list.find(caller.principal, wanted, after=after(cursor, 3), limit=limit + 1)
    items, next_cursor = page(found, limit, lambda setting: setting.key)
    return ModePage(
        items=[ListedModeModel(**ModeSettingModel.of(one).model_dump(), etag=etag(version_of(one))) for one in items],
        next_cursor=next_cursor,
    )
