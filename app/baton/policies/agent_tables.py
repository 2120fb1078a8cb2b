"""The agents tables of the policy set (`policies/agents/*.yaml`), and their overrides in layers."""

from difflib import get_close_matches
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from baton.kernel.base.errors import NotFound
from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, ApiModel, request_body
from baton.kernel.http.paging import check_if_match, etag
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.policies.layer_versions import Tier
from baton.policies.layers import PolicyLayers, Where
from baton.policies.layers_api import KNOWN, LayerChangeOf, WhereOf
from baton.rules.agents.plan import wrong_model
from baton.rules.agents.rosters import Roster, Row, resolve
from baton.rules.call.call import Principal
from baton.rules.policy.rules.files import overrides_of, with_override

CONFIG = "config.yaml"


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One agent. `model` comes from its row (`leave-alone`: none); `overridden` names the keys changed by a layer."""

    agent: str
    model: str
    row: Row
    overridden: list[str]


class OverrideKey(msgspec.Struct, frozen=True):
    """The identity of an override: the layer, and the table and agent of its row."""

    where: Where
    table: str
    agent: str

    @property
    def row(self) -> str:
        """The row's name in a config.yaml."""
        return f"{self.table}/{self.agent}"


class AgentOverride(msgspec.Struct, frozen=True, kw_only=True):
    """A layer's changes to a row. `version` is the layer's active one."""

    key: OverrideKey
    version: int
    change: dict[str, Any]


class AgentTables:
    """Reads the effective tables, and writes overrides of rows as new versions of a layer."""

    def __init__(self, policies: Policies, layers: PolicyLayers) -> None:
        self._policies = policies
        self._layers = layers

    async def find_all(self, principal: Principal, project: str) -> list[Roster]:
        """List a caller's effective tables in search order, unused ones last."""
        require(principal, "policies.read")
        tables = (await self._policies.prepare(principal, project, wait_s=None)).policies.rosters
        unused = [name for name in tables.by_id if name not in tables.order]
        return [tables.by_id[name] for name in (*tables.order, *sorted(unused))]

    async def get(self, principal: Principal, project: str, name: str) -> Roster:
        """Return one of a caller's effective tables. Raise NotFound."""
        tables = {one.id: one for one in await self.find_all(principal, project)}
        if name not in tables:
            near = get_close_matches(name, tables, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise NotFound(f"there is no roster `{name}`{hint}")
        return tables[name]

    async def rows(self, principal: Principal, project: str, name: str) -> tuple[Roster, list[AgentRow]]:
        """Return a table with its rows and a caller's overrides. Raise NotFound."""
        table = await self.get(principal, project, name)
        policies = (await self._policies.prepare(principal, project, wait_s=None)).policies
        rows = []
        for agent, row in table.agents.items():
            change = policies.config.overrides.get(f"{name}/{agent}")
            match = resolve({name: table}, (name,), agent)
            rows.append(
                AgentRow(
                    agent=agent,
                    model=match.full if match else "",
                    row=row or Row(),
                    overridden=sorted(msgspec.to_builtins(change)) if change is not None else [],
                )
            )
        return table, rows

    async def get_override(self, principal: Principal, key: OverrideKey) -> AgentOverride:
        """Return a row's changes in the active version of a layer. Raise NotFound, also for an unreadable layer."""
        layer = await self._layers.get(principal, key.where)
        change = overrides_of(layer.files.get(CONFIG, "")).get(key.row)
        if change is None:
            raise _missing(key)
        return AgentOverride(key=key, version=layer.version, change=change)

    async def put_override(
        self, principal: Principal, key: OverrideKey, change: dict[str, Any], *, reason: str, if_match: str | None
    ) -> AgentOverride:
        """Override a row in a new active version of a layer. Raise PoliciesRefused or PreconditionFailed."""
        files, version = await self._active_files(principal, key.where, if_match)
        files[CONFIG] = with_override(files.get(CONFIG, ""), key.row, change)
        stored = await self._layers.upload(
            principal, key.where, files, reason=reason or f"override of {key.row}", activate=True, if_match=version
        )
        return AgentOverride(key=key, version=stored.version, change=change)

    async def delete_override(
        self, principal: Principal, key: OverrideKey, *, reason: str, if_match: str | None
    ) -> int:
        """Remove an override in a new active version, and return its number. Raise NotFound or PreconditionFailed."""
        files, version = await self._active_files(principal, key.where, if_match)
        text = files.get(CONFIG, "")
        if key.row not in overrides_of(text):
            raise _missing(key)
        files[CONFIG] = with_override(text, key.row, None)
        stored = await self._layers.upload(
            principal, key.where, files, reason=reason or f"no override of {key.row}", activate=True, if_match=version
        )
        return stored.version

    async def _active_files(
        self, principal: Principal, where: Where, if_match: str | None
    ) -> tuple[dict[str, str], str]:
        self._layers.require_write_of(principal, where)
        try:
            active = await self._layers.get(principal, where)
        except NotFound:
            return {}, "0"
        check_if_match(if_match, active.version)
        # `if_match` may be `*`. The files are from this version, so the upload must replace exactly it.
        return dict(active.files), str(active.version)


def _missing(key: OverrideKey) -> NotFound:
    return NotFound(f"layer `{key.where}` does not override `{key.row}`")


router = APIRouter(tags=["policies"])
AgentTablesOf = Annotated[AgentTables, Depends(of(AgentTables))]
Project = Annotated[str, Query(max_length=1_024), PROJECT]
Text = Annotated[str, Field(max_length=20_000)]
_OVERRIDE = "/policies/layers/{tier}/agents/{table}/{agent}"


_ROW = Annotated[dict[str, Any], BeforeValidator(msgspec.to_builtins)]


class AgentTableModel(BaseModel):
    """An agents table without its rows. `agents` is their number."""

    id: str
    description: str
    default_model: str
    agents: int


class AgentTableRowsModel(AgentTableModel):
    """An agents table with its rows."""

    rows: list[Annotated[AgentRow, ApiModel(row=_ROW)]]


def _checked_model(model: str) -> str:
    if wrong := wrong_model(model):
        raise ValueError(wrong)
    return model


class AgentOverrideBody(BaseModel):
    """The keys of a row overridden by a layer. Others are unchanged. A new row needs a description."""

    model_config = request_body({"model": "haiku"}, {"model": "sonnet", "description": "Reviews Terraform plans."})

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
    """An override of a row in a layer. `version` is the layer's active one, and the `ETag`."""

    tier: Tier
    name: str
    version: int
    table: str
    agent: str
    override: dict[str, Any]

    @classmethod
    def build(cls, one: AgentOverride) -> "AgentOverrideModel":
        """Convert an override."""
        key = one.key
        return cls(
            tier=key.where.tier,
            name=key.where.name,
            version=one.version,
            table=key.table,
            agent=key.agent,
            override=one.change,
        )


@router.get("/policies/agents")
async def list_agent_tables(caller: CallerOf, tables: AgentTablesOf, project: Project = "") -> list[AgentTableModel]:
    """List your effective agents tables in search order."""
    return [
        AgentTableModel(id=one.id, description=one.description, default_model=one.default_model, agents=len(one.agents))
        for one in await tables.find_all(caller.principal, project or caller.project)
    ]


@router.get("/policies/agents/{table}")
async def get_agent_table(
    caller: CallerOf, tables: AgentTablesOf, table: str, project: Project = ""
) -> AgentTableRowsModel:
    """Show a table's rows with your overrides."""
    found, rows = await tables.rows(caller.principal, project or caller.project, table)
    return AgentTableRowsModel(
        id=found.id, description=found.description, default_model=found.default_model, agents=len(rows), rows=rows
    )


@router.get(_OVERRIDE)
async def get_agent_override(
    caller: CallerOf, tables: AgentTablesOf, response: Response, where: WhereOf, table: str, agent: str
) -> AgentOverrideModel:
    """Show a layer's changes to a row. The `ETag` is the layer's, for `If-Match`."""
    found = await tables.get_override(caller.principal, OverrideKey(where, table, agent))
    response.headers["ETag"] = etag(found.version)
    return AgentOverrideModel.build(found)


@router.put(_OVERRIDE, dependencies=[ADMIN, KNOWN])
async def put_agent_override(
    tables: AgentTablesOf, response: Response, change: LayerChangeOf, table: str, agent: str, body: AgentOverrideBody
) -> AgentOverrideModel:
    """Override or add a row in a layer: a new version, active at once. `If-Match` names the replaced version."""
    stored = await tables.put_override(
        change.principal,
        OverrideKey(change.where, table, agent),
        body.model_dump(exclude_none=True),
        reason=change.reason,
        if_match=change.if_match,
    )
    response.headers["ETag"] = etag(stored.version)
    return AgentOverrideModel.build(stored)


@router.delete(_OVERRIDE, status_code=204, dependencies=[ADMIN])
async def delete_agent_override(tables: AgentTablesOf, change: LayerChangeOf, table: str, agent: str) -> Response:
    """Remove an override from a layer: a new version, active at once, with its `ETag`."""
    key = OverrideKey(change.where, table, agent)
    version = await tables.delete_override(change.principal, key, reason=change.reason, if_match=change.if_match)
    return Response(status_code=204, headers={"ETag": etag(version)})
