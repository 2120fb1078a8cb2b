"""The agents tables of the policy set (`policies/agents/*.yaml`), and overrides of their rows in a layer."""

from difflib import get_close_matches
from typing import Any

import msgspec

from baton.engine.agents.rosters import Roster, Row, resolve
from baton.engine.call.principal import Principal
from baton.engine.policy.row_overrides import overrides_of, with_override
from baton.kernel.base.errors import NotFound
from baton.kernel.http.etags import check_if_match
from baton.people.permissions import require
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers, Where

CONFIG = "config.yaml"


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: its row with every override, the model that it gets, and the names of the keys that were overridden."""

    agent: str
    model: str
    row: Row
    overridden: list[str]


class OverrideKey(msgspec.Struct, frozen=True):
    """Which override: the layer that it stands in, and the table and agent of the row that it changes."""

    where: Where
    table: str
    agent: str

    @property
    def row(self) -> str:
        """The row, as a config.yaml names it."""
        return f"{self.table}/{self.agent}"


class AgentOverride(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a row that a layer changes; `version` is the layer's active one."""

    key: OverrideKey
    version: int
    change: dict[str, Any]


class AgentTables:
    """Reads the tables in force, and writes overrides of rows as new versions of a layer."""

    def __init__(self, policies: Policies, layers: PolicyLayers) -> None:
        self._policies = policies
        self._layers = layers

    async def find_all(self, principal: Principal, project: str) -> list[Roster]:
        """List the tables in force for a caller, in the order of look-up; those that are not in use come last."""
        require(principal, "policies.read")
        tables = (await self._policies.prepare(principal, project, wait_s=None)).policies.rosters
        unused = [name for name in tables.by_id if name not in tables.order]
        return [tables.by_id[name] for name in (*tables.order, *sorted(unused))]

    async def get(self, principal: Principal, project: str, name: str) -> Roster:
        """Return a table in force for a caller.

        Raises:
            NotFound: If there is no such table.
        """
        tables = {one.id: one for one in await self.find_all(principal, project)}
        if name not in tables:
            near = get_close_matches(name, tables, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise NotFound(f"there is no roster `{name}`{hint}")
        return tables[name]

    async def rows(self, principal: Principal, project: str, name: str) -> tuple[Roster, list[AgentRow]]:
        """Return a table and its rows, with every override in force for a caller.

        Raises:
            NotFound: If there is no such table.
        """
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
        """Return what the active version of a layer changes in a row.

        Raises:
            NotFound: If the layer does not override that row, or is not the principal's to read.
        """
        layer = await self._layers.get(principal, key.where)
        change = overrides_of(layer.files.get(CONFIG, "")).get(key.row)
        if change is None:
            raise _missing(key)
        return AgentOverride(key=key, version=layer.version, change=change)

    async def put_override(
        self, principal: Principal, key: OverrideKey, change: dict[str, Any], *, reason: str, if_match: str | None
    ) -> AgentOverride:
        """Override a row in a layer, as the layer's new active version.

        Raises:
            PoliciesRefused: If there is no such row, or a value is not allowed.
            PreconditionFailed: If another version is active than `if_match` names, or none is named.
        """
        files, version = await self._active_files(principal, key.where, if_match)
        files[CONFIG] = with_override(files.get(CONFIG, ""), key.row, change)
        stored = await self._layers.upload(
            principal, key.where, files, reason=reason or f"override of {key.row}", activate=True, if_match=version
        )
        return AgentOverride(key=key, version=stored.version, change=change)

    async def delete_override(
        self, principal: Principal, key: OverrideKey, *, reason: str, if_match: str | None
    ) -> int:
        """Take the override of a row out of a layer, and return the number of the layer's new active version.

        Raises:
            NotFound: If the layer does not override that row.
            PreconditionFailed: If another version is active than `if_match` names, or none is named.
        """
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
        """Return the files of the active version, and its number as the one that an upload replaces."""
        self._layers.require_write_of(principal, where)
        try:
            active = await self._layers.get(principal, where)
        except NotFound:
            return {}, "0"
        check_if_match(if_match, active.version)
        # `if_match` may be `*`. The files were taken from this version, so the upload must replace this one and no later one.
        return dict(active.files), str(active.version)


def _missing(key: OverrideKey) -> NotFound:
    return NotFound(f"layer `{key.where}` does not override `{key.row}`")
