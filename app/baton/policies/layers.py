"""Who may upload, activate and roll back which policy layer, and how."""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from difflib import unified_diff
from typing import TypeVar

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.policy.diff import RuleChange, compare
from baton.engine.policy.load import LayerTrial, PolicyProblems, PolicySet, Problem, extend, load, try_layer
from baton.engine.policy.rules.files import shown
from baton.engine.policy.rules.layers import Tier
from baton.engine.policy.rules.locks import Unlock
from baton.kernel.base.errors import Conflict, FieldError, Invalid, NotFound, PoliciesRefused, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.storable import storable
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import Change
from baton.kernel.http.etags import check_if_match
from baton.people.users import Users
from baton.policies.in_force import KIND, ORGANISATION, Policies, as_layer
from baton.policies.layer_rights import may_read, require_write
from baton.policies.layer_versions import LayerVersion, StoredLayer
from baton.policies.stores import layers as layers_store

T = TypeVar("T")
_AWAY = "the policies cannot be read or changed now; nothing was changed, try again"


class Where(msgspec.Struct, frozen=True):
    """A layer's place: its tier and the name of the team, project or user; "-" for the organisation."""

    tier: Tier
    name: str

    def __str__(self) -> str:
        return f"{self.tier}/{self.name}"


class LayerDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changes from one version to another: by rule, and line by line for each file. 0 is the empty layer.

    `problems` says why the rules could not be compared, where a version no longer fits what lies above it.
    """

    before: int
    after: int
    rules: list[RuleChange]
    text: dict[str, str]
    problems: list[Problem]


class PolicyLayers:
    """The administration of uploaded layers. Each change is one transaction, audited and told to every process."""

    def __init__(self, database: Database, policies: Policies, told: Changes, users: Users) -> None:
        self._database = database
        self._policies = policies
        self._changes = told
        self._users = users

    async def find(self, principal: Principal) -> list[LayerVersion]:
        """List the active layers that a principal may read."""
        stored = await self._read(layers_store.active(self._database, principal.organisation))
        return [one for one in stored if may_read(principal, one.tier, one.name)]

    async def get(self, principal: Principal, where: Where, version: int = 0) -> StoredLayer:
        """Return one version with its texts, the active one for 0.

        Raises:
            NotFound: There is none, or none that the principal may read.
        """
        found = None
        if may_read(principal, where.tier, where.name):
            found = await self._read(
                layers_store.get(self._database, principal.organisation, where.tier, where.name, version)
            )
        if found is None:
            what = f"version {version}" if version else "active version"
            raise NotFound(f"layer `{where}` has no {what}")
        return found

    async def active_version(self, principal: Principal, where: Where) -> int:
        """Return the number of the active version, 0 for none."""
        found = await self._read(layers_store.get(self._database, principal.organisation, where.tier, where.name))
        return found.version if found else 0

    async def versions(self, principal: Principal, where: Where, *, below: int, limit: int) -> list[LayerVersion]:
        """List the versions of a layer, newest first, those below a version; nothing of one that may not be read."""
        if not may_read(principal, where.tier, where.name):
            return []
        return await self._read(
            layers_store.versions(
                self._database, principal.organisation, where.tier, where.name, below=below, limit=limit
            )
        )

    async def validate(self, where: Where, files: Mapping[str, str]) -> PolicySet:
        """Check a layer as a whole, over what is active now, and give the set that it makes.

        Raises:
            PoliciesRefused: Naming every problem by file and line.
        """
        try:
            return await asyncio.to_thread(self.combine, where, dict(files))
        except PolicyProblems as refused:
            raise refusal(refused.problems) from None

    async def test(self, where: Where, files: Mapping[str, str]) -> LayerTrial:
        """Run the tests of a layer that is being written, over what is active now. What is wrong is part of the result.

        Raises:
            PoliciesRefused: If what lies above the layer is not accepted itself.
        """
        layer = as_layer(where.tier, where.name, dict(files))
        unlocks = self._unlocks(where)

        def run() -> LayerTrial:
            above = self._policies.active
            if where.tier == ORGANISATION[0]:
                above = load([one for one in self._policies.base if one.name != layer.name], unlocks)
            return try_layer(above, layer, unlocks)

        try:
            return await asyncio.to_thread(run)
        except PolicyProblems as refused:
            raise refusal(refused.problems) from None

    def combine(self, where: Where, files: dict[str, str]) -> PolicySet:
        """Lay texts over the active set at their tier. Raise PolicyProblems."""
        layer = as_layer(where.tier, where.name, files)
        unlocks = self._unlocks(where)
        if where.tier != ORGANISATION[0]:
            return extend(self._policies.active, [layer], unlocks)
        return load([*(one for one in self._policies.base if one.name != layer.name), layer], unlocks)

    def _unlocks(self, where: Where) -> list[Unlock]:
        """Return the unlocks that concern everybody for whom the layer holds."""
        match where.tier:
            case "team":
                return self._policies.unlocks_for(team=where.name, user="")
            case "project":
                return self._policies.unlocks_for(team=self._users.project_team(where.name), user="")
            case "user":
                return self._policies.unlocks_for(team=self._users.team_of(where.name), user=where.name)
        return self._policies.unlocks_for(team="", user="")

    async def upload(
        self,
        principal: Principal,
        where: Where,
        files: Mapping[str, str],
        *,
        reason: str,
        activate: bool,
        if_match: str | None,
    ) -> StoredLayer:
        """Store a new version, as a draft or active at once.

        Raises:
            PoliciesRefused: The layer is not accepted.
            PreconditionFailed: Another version is active than `if_match` names, or none is named.
        """
        self.require_write_of(principal, where)
        await self.validate(where, files)
        organisation, tier, name = principal.organisation, where.tier, where.name

        action = "policies.activate" if activate else "policies.upload"
        async with self._changes.write(KIND, principal, action) as change:
            before = await self._active_version(change, principal, where)
            if activate:
                check_if_match(if_match, before, required=bool(before))
            version = await layers_store.add(
                change.connection, organisation, tier, name, files, by=principal.user, reason=reason
            )
            if activate:
                await layers_store.activate(change.connection, organisation, tier, name, version)
            await change.concerns([storable(str(where))])
            after = {"version": version, "active": version if activate else before}
            await change.audit(str(where), before={"active": before}, after=after, reason=reason)
        return await self.get(principal, where, version)

    async def activate(
        self,
        principal: Principal,
        where: Where,
        version: int,
        *,
        reason: str,
        if_match: str | None,
        verb: str = "activate",
    ) -> StoredLayer:
        """Make a stored version the active one, if it is still accepted.

        Raises:
            NotFound: There is no such version.
            PoliciesRefused: It no longer fits what lies above it.
            PreconditionFailed: Another version is active than `if_match` names, or none is named.
        """
        self.require_write_of(principal, where)
        stored = await self.get(principal, where, version)
        await self.validate(where, stored.files)

        async with self._changes.write(KIND, principal, f"policies.{verb}") as change:
            before = await self._active_version(change, principal, where)
            check_if_match(if_match, before, required=bool(before))
            await layers_store.activate(change.connection, principal.organisation, where.tier, where.name, version)
            await change.concerns([storable(str(where))])
            after = {"version": version, "active": version}
            await change.audit(str(where), before={"active": before}, after=after, reason=reason)
        return await self.get(principal, where, version)

    async def roll_back(self, principal: Principal, where: Where, *, reason: str, if_match: str | None) -> StoredLayer:
        """Make the version active that was so before the active one; doing it again goes one further back.

        Raises:
            Conflict: There is no version before.
        """
        self.require_write_of(principal, where)
        version = await self._read(
            layers_store.version_before(self._database, principal.organisation, where.tier, where.name)
        )
        if not version:
            raise Conflict(
                f"layer `{where}` has no version that was active before; `baton policy remove` takes it out of force"
            )
        return await self.activate(principal, where, version, reason=reason, if_match=if_match, verb="rollback")

    async def remove(self, principal: Principal, where: Where, *, reason: str, if_match: str | None) -> None:
        """Take a layer out of force; its versions stay. One that is not active is no error."""
        self.require_write_of(principal, where)
        async with self._changes.write(KIND, principal, "policies.deactivate") as change:
            before = await self._active_version(change, principal, where)
            check_if_match(if_match, before, required=bool(before))
            await layers_store.retire(change.connection, principal.organisation, where.tier, where.name)
            await change.concerns([storable(str(where))])
            await change.audit(str(where), before={"active": before}, after={"active": 0}, reason=reason)

    async def diff(self, principal: Principal, where: Where, before: int, after: int) -> LayerDiff:
        """Compare two versions; 0 is the empty layer.

        Raises:
            NotFound: One of them does not exist.
        """
        old = (await self.get(principal, where, before)).files if before else {}
        new = (await self.get(principal, where, after)).files if after else {}
        text = _unified(old, new, str(before), str(after))
        rules: list[RuleChange] = []
        problems: list[Problem] = []
        try:
            rules = await asyncio.to_thread(
                lambda: compare(self.combine(where, dict(old)), self.combine(where, dict(new)))
            )
        except PolicyProblems as refused:
            problems = list(shown(refused.problems))
        return LayerDiff(before=before, after=after, rules=rules, text=text, problems=problems)

    async def changes(self, principal: Principal, where: Where, files: Mapping[str, str]) -> dict[str, str]:
        """Return what files change in the active version that a principal may read, as a unified diff of each file."""
        active: StoredLayer | None = None
        with suppress(NotFound):
            active = await self.get(principal, where)
        return _unified(active.files if active else {}, files, "in force", "draft")

    def require_write_of(self, principal: Principal, where: Where) -> None:
        """Raise Forbidden or NotFound for whom a layer is not to change."""
        team = self._users.project_team(where.name) if where.tier == "project" else ""
        require_write(principal, where.tier, where.name, team_of_project=team)

    @staticmethod
    async def _active_version(change: Change, principal: Principal, where: Where) -> int:
        return await layers_store.active_version(change.connection, principal.organisation, where.tier, where.name)

    async def _read(self, reading: Awaitable[T]) -> T:
        try:
            return await reading
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None


def _unified(old: Mapping[str, str], new: Mapping[str, str], before: str, after: str) -> dict[str, str]:
    """Return a unified diff of each file that differs."""
    found = {}
    for path in sorted(old.keys() | new.keys()):
        lines = unified_diff(old.get(path, "").splitlines(), new.get(path, "").splitlines(), before, after, lineterm="")
        if text := "\n".join(lines):
            found[path] = text
    return found


def refusal(problems: list[Problem]) -> PoliciesRefused:
    """Return the error for a layer that has problems, one field error for each."""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return PoliciesRefused(
        f"{count}; the first: {problems[0]}", *(FieldError(f"{one.file}:{one.line}", one.text) for one in problems)
    )


def place(principal: Principal, tier: str, name: str, project: str) -> Where:
    """Return which layer is meant; a missing name is the caller's own.

    Raises:
        Invalid: The tier needs a name, or does not take one.
    """
    match tier:
        case "organisation":
            if name not in {"", "-"}:
                raise Invalid("name", f"is `{name}`; the organisation has one layer", ["-"])
            return Where("organisation", "-")
        case "team":
            return Where("team", name or principal.team)
        case "user":
            return Where("user", name or principal.user)
        case "project":
            if not (name or project):
                raise Invalid("name", "is missing; tier `project` needs the project's name")
            return Where("project", name or project)
    raise Invalid("tier", f"is `{tier}`", ["organisation", "team", "project", "user"])
