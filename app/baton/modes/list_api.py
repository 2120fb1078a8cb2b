"""`GET /modes`: every mode setting that the caller may see. It resolves none: `GET /mode` does."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from baton.engine.call.modes import Scope
from baton.kernel.http.bodies_to_split import ModeSettingModel
from baton.kernel.http.etags import etag
from baton.kernel.http.features import of
from baton.kernel.http.paging import Cursor, Limit, Text, after, page
from baton.modes.listing import ModeFilter, ModeList
from baton.modes.service import version_of
from baton.people.dependencies import CallerOf

router = APIRouter(tags=["mode"])
ModeListOf = Annotated[ModeList, Depends(of(ModeList))]


class ListedModeModel(ModeSettingModel):
    """One setting, and what `PUT /mode` takes in `If-Match`."""

    etag: str


class ModePage(BaseModel):
    """A page of settings by scope and name; `next_cursor` is absent on the last one."""

    items: list[ListedModeModel]
    next_cursor: str | None = None


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
