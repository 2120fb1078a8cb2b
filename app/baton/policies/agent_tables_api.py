"""`/policies/agents`: the agents tables in force; and overrides of their rows, each a part of a layer."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from baton.engine.agents.models import wrong_model
from baton.kernel.http.etags import etag
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.policies.agent_tables import AgentOverride, AgentTables, OverrideKey
from baton.policies.layers_api import LayerChangeOf, Tier, WhereOf

router = APIRouter(tags=["policies"])
AgentTablesOf = Annotated[AgentTables, Depends(of(AgentTables))]
Project = Annotated[str, Query(max_length=1_024)]
Text = Annotated[str, Field(max_length=20_000)]
_OVERRIDE = "/policies/layers/{tier}/agents/{table}/{agent}"


class AgentTableModel(BaseModel):
    """An agents table, without its rows; `agents` is their number."""

    id: str
    description: str
    default_model: str
    agents: int


class AgentRowModel(BaseModel):
    """One agent; `model` is the one that its row gives it (`leave-alone`: none), `overridden` names the keys that a layer has changed."""

    agent: str
    model: str
    row: dict[str, Any]
    overridden: list[str]


class AgentTableRowsModel(AgentTableModel):
    """An agents table with its rows."""

    rows: list[AgentRowModel]


def _checked_model(model: str) -> str:
    if wrong := wrong_model(model):
        raise ValueError(wrong)
    return model


class AgentOverrideBody(BaseModel):
    """The keys of a row that a layer overrides; the others stay as they are. A new row needs a description."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model": "haiku"}, {"model": "sonnet", "description": "Reviews Terraform plans."}]
        },
    )

    model: Annotated[Text, AfterValidator(_checked_model)] | None = Field(
        None,
        description="`haiku`, `sonnet`, `opus`, `fable`, a model's full id, `inherit` (the roster's default), or `leave-alone`.",
    )
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


class AgentOverrideModel(BaseModel):
    """An override of a row in a layer; `version` is the layer's active one, and the `ETag`."""

    tier: Tier
    name: str
    version: int
    table: str
    agent: str
    override: dict[str, Any]

    @classmethod
    def of(cls, one: AgentOverride) -> "AgentOverrideModel":
        """Show an override as the API does."""
        key = one.key
        return cls(
            tier=key.where.tier,
            name=key.where.name,
            version=one.version,
            table=key.table,
            agent=key.agent,
            override=one.change,
        )


@router.get("/policies/agents", operation_id="list_agent_tables")
async def list_agent_tables(caller: CallerOf, tables: AgentTablesOf, project: Project = "") -> list[AgentTableModel]:
    """List the agents tables that are in force for you, in the order in which an agent is looked up."""
    return [
        AgentTableModel(id=one.id, description=one.description, default_model=one.default_model, agents=len(one.agents))
        for one in await tables.find_all(caller.principal, project or caller.project)
    ]


@router.get("/policies/agents/{table}", operation_id="get_agent_table")
async def get_agent_table(
    caller: CallerOf, tables: AgentTablesOf, table: str, project: Project = ""
) -> AgentTableRowsModel:
    """Show a table's rows, with every override that is in force for you."""
    found, rows = await tables.rows(caller.principal, project or caller.project, table)
    return AgentTableRowsModel(
        id=found.id,
        description=found.description,
        default_model=found.default_model,
        agents=len(rows),
        rows=[
            AgentRowModel(agent=one.agent, model=one.model, row=msgspec.to_builtins(one.row), overridden=one.overridden)
            for one in rows
        ],
    )


@router.get(_OVERRIDE, operation_id="get_agent_override")
async def get_agent_override(
    caller: CallerOf, tables: AgentTablesOf, response: Response, where: WhereOf, table: str, agent: str
) -> AgentOverrideModel:
    """Show what a layer changes in a row. The `ETag` is the layer's, and is what `If-Match` takes."""
    found = await tables.get_override(caller.principal, OverrideKey(where, table, agent))
    response.headers["ETag"] = etag(found.version)
    return AgentOverrideModel.of(found)


@router.put(_OVERRIDE, operation_id="put_agent_override", dependencies=[ADMIN])
async def put_agent_override(
    tables: AgentTablesOf, response: Response, change: LayerChangeOf, table: str, agent: str, body: AgentOverrideBody
) -> AgentOverrideModel:
    """Override a row in a layer, or add one: a new version of the layer, active at once; `If-Match` names the one it replaces."""
    stored = await tables.put_override(
        change.principal,
        OverrideKey(change.where, table, agent),
        body.model_dump(exclude_none=True),
        reason=change.reason,
        if_match=change.if_match,
    )
    response.headers["ETag"] = etag(stored.version)
    return AgentOverrideModel.of(stored)


@router.delete(_OVERRIDE, operation_id="delete_agent_override", status_code=204, dependencies=[ADMIN])
async def delete_agent_override(tables: AgentTablesOf, change: LayerChangeOf, table: str, agent: str) -> Response:
    """Take the override of a row out of a layer: a new version of the layer, active at once; the `ETag` names it."""
    key = OverrideKey(change.where, table, agent)
    version = await tables.delete_override(change.principal, key, reason=change.reason, if_match=change.if_match)
    return Response(status_code=204, headers={"ETag": etag(version)})
