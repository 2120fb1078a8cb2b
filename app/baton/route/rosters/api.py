"""`/rosters`: the agents that are known, their models, and overrides of single rows. It resolves no agent itself."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.etags import etag
from baton.kernel.http.features import of
from baton.people.dependencies import CallerOf
from baton.people.rate_limits import ADMIN
from baton.policies.layer_request import RowChangeOf
from baton.policies.layers_api import LayerModel, answer
from baton.route.rosters.rows import RosterRows

router = APIRouter(tags=["rosters"])
RosterRowsOf = Annotated[RosterRows, Depends(of(RosterRows))]
Project = Annotated[str, Query(max_length=1_024)]
Text = Annotated[str, Field(max_length=20_000)]


class RosterModel(BaseModel):
    """A roster, without its rows."""

    id: str
    description: str
    default_model: str
    agents: int
    source: Literal["team", "organisation", "policies"]
    version: int | None = Field(None, description="The version of a roster that was pushed.")


class RosterRowModel(BaseModel):
    """One agent; `model` is what it gets, `overridden` names the keys that a layer has changed."""

    agent: str
    model: str
    row: dict[str, Any]
    overridden: list[str]


class RosterRowsModel(RosterModel):
    """A roster with its rows."""

    rows: list[RosterRowModel]


class RowBody(BaseModel):
    """What changes in a row; what is not given stays."""

    model_config = ConfigDict(extra="forbid")

    model: Literal["", "inherit", "haiku", "sonnet", "opus", "fable"] | None = None
    tier: Text | None = None
    display_model: Text | None = None
    cli_model: Text | None = None
    tools: list[Text] | None = Field(None, max_length=200)
    role: Text | None = None
    prompt: Text | None = None
    delegation_target: Text | None = None
    delegation_call: Text | None = None
    description: Text | None = None
    triggers: list[Text] | None = Field(None, max_length=200)


@router.get("/rosters", operation_id="list_rosters", response_model_exclude_none=True)
async def list_rosters(caller: CallerOf, rows: RosterRowsOf, project: Project = "") -> list[RosterModel]:
    """List the rosters that hold for you, the first to be asked first."""
    return [
        RosterModel(**msgspec.structs.asdict(one) | {"version": one.version or None})
        for one in await rows.listed(caller.principal, project or caller.project)
    ]


@router.get("/rosters/{roster_id}", operation_id="get_roster", response_model_exclude_none=True)
async def get_roster(
    caller: CallerOf, rows: RosterRowsOf, response: Response, roster_id: str, project: Project = ""
) -> RosterRowsModel:
    """Show a roster's rows, with every override that holds for you; a pushed one's `ETag` is what `If-Match` takes."""
    listed, shown = await rows.show(caller.principal, project or caller.project, roster_id)
    if listed.version:
        response.headers["ETag"] = etag(listed.version)
    return RosterRowsModel(
        **msgspec.structs.asdict(listed) | {"version": listed.version or None},
        rows=[
            RosterRowModel(
                agent=one.agent, model=one.model, row=msgspec.to_builtins(one.row), overridden=one.overridden
            )
            for one in shown
        ],
    )


@router.put(
    "/rosters/{roster_id}/rows/{agent}",
    operation_id="put_roster_row",
    dependencies=[ADMIN],
    response_model_exclude_none=True,
)
async def put_roster_row(
    rows: RosterRowsOf, response: Response, change: RowChangeOf, roster_id: str, agent: str, body: RowBody
) -> LayerModel:
    """Override a row in a layer: a new version of the layer, active at once; `If-Match` names the one it replaces."""
    stored = await rows.put(
        change.principal,
        change.where,
        f"{roster_id}/{agent}",
        body.model_dump(exclude_none=True),
        reason=change.reason,
        seen=change.version,
    )
    return answer(response, stored)


@router.delete(
    "/rosters/{roster_id}/rows/{agent}",
    operation_id="delete_roster_row",
    dependencies=[ADMIN],
    response_model_exclude_none=True,
)
async def delete_roster_row(
    rows: RosterRowsOf, response: Response, change: RowChangeOf, roster_id: str, agent: str
) -> LayerModel:
    """Take the override of a row out of a layer, as a new version that is active at once."""
    stored = await rows.delete(
        change.principal, change.where, f"{roster_id}/{agent}", reason=change.reason, seen=change.version
    )
    return answer(response, stored)
