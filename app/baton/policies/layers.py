"""Upload, activation and rollback of policy layers, with access checks."""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from difflib import unified_diff
from typing import TypeVar

import msgspec

from baton.kernel.base.errors import Conflict, FieldError, Invalid, NotFound, PoliciesRefused
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import SqlChange
from baton.kernel.http.paging import check_if_match, etag
from baton.people.users import Users, reach
from baton.policies import store
from baton.policies.in_force import KIND, ORGANISATION, Policies, as_layer, may_read, require_write
from baton.policies.layer_versions import LayerVersion, StoredLayer
from baton.rules.call.call import Principal
from baton.rules.policy.drafts import UNWRITTEN
from baton.rules.policy.load import Fault, LayerTrial, PolicyProblems, PolicySet, extend, layers_of, load, try_layer
from baton.rules.policy.replay import RuleChange, compare
from baton.rules.policy.rules.files import (
    ALL_UNLOCKED,
    CONFIG,
    TIERS,
    Tier,
    Unlock,
    packs_of,
    shown,
    unknown,
    with_pack,
)
from baton.rules.policy.rules.model import Switch
from baton.shared.storable import project_name, storable

T = TypeVar("T")
_WIDEST = {"organisation": "organisation", "team": "team"}
_AWAY = "the policies cannot be read or changed now; nothing was changed, try again"


class Where(msgspec.Struct, frozen=True):
    """A layer's tier, and its team, project or user; "-" for the organisation."""

    tier: Tier
    name: str

    def __str__(self) -> str:
        return f"{self.tier}/{self.name}"


class LayerDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of two versions, by rule and as a unified diff per file. Version 0 is the empty layer.

    `problems` explain why the rules could not be compared, if a version conflicts with the layers above.
    """

    before: int
    after: int
    rules: list[RuleChange]
    text: dict[str, str]
    problems: list[Fault]


class PolicyLayers:
    """The administration of uploaded layers. Each change is one transaction, audited and announced."""

    def __init__(self, database: Database, policies: Policies, told: Changes, users: Users) -> None:
        self._database = database
        self._policies = policies
        self._changes = told
        self._users = users

    async def list_layers(self, principal: Principal) -> list[LayerVersion]:
        """List the active layers readable by a principal."""
        stored = await self._read(store.active_layers(self._database, principal.organisation))
        return [one for one in stored if may_read(principal, one.tier, one.name)]

    async def get(self, principal: Principal, where: Where, version: int = 0) -> StoredLayer:
        """Return one version with its files, the active one for 0. Raise NotFound, also for an unreadable layer."""
        found = None
        if may_read(principal, where.tier, where.name):
            found = await self._read(
                store.get_layer(self._database, principal.organisation, where.tier, where.name, version)
            )
        if found is None:
            what = f"version {version}" if version else "active version"
            raise NotFound(f"layer `{where}` has no {what}")
        return found

    async def active_version(self, principal: Principal, where: Where) -> int:
        """Return the number of the active version, or 0."""
        found = await self._read(store.get_layer(self._database, principal.organisation, where.tier, where.name))
        return found.version if found else 0

    async def versions(self, principal: Principal, where: Where, *, below: int, limit: int) -> list[LayerVersion]:
        """List a layer's versions below a number, newest first; [] for an unreadable layer."""
        if not may_read(principal, where.tier, where.name):
            return []
        return await self._read(
            store.versions_of_layer(
                self._database, principal.organisation, where.tier, where.name, below=below, limit=limit
            )
        )

    async def validate(self, where: Where, files: Mapping[str, str]) -> PolicySet:
        """Validate a layer on top of the active ones, and return the resulting set. Raise PoliciesRefused."""
        try:
            return await asyncio.to_thread(self.combine, where, dict(files))
        except PolicyProblems as refused:
            raise refusal(refused.problems) from None

    async def test(self, where: Where, files: Mapping[str, str]) -> LayerTrial:
        """Run the tests of a draft layer on top of the active ones. Raise PoliciesRefused if those are invalid."""
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
        """Combine files with the active set at their tier. Raise PolicyProblems."""
        layer = as_layer(where.tier, where.name, files)
        unlocks = self._unlocks(where)
        if where.tier != ORGANISATION[0]:
            return extend(self._policies.active, [layer], unlocks)
        return load([*(one for one in self._policies.base if one.name != layer.name), layer], unlocks)

    def _unlocks(self, where: Where) -> list[Unlock]:
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
        """Store a new version, as a draft or active. Raise PoliciesRefused or PreconditionFailed."""
        self.require_write_of(principal, where)
        await self.validate(where, files)
        if activate:
            _check_written(files)
        organisation, tier, name = principal.organisation, where.tier, where.name

        action = "policies.activate" if activate else "policies.upload"
        async with self._changes.write(KIND, principal, action) as change:
            before = await self._active_version(change, principal, where)
            if activate:
                check_if_match(if_match, before, required=bool(before))
            version = await store.add_layer(
                change.connection, organisation, tier, name, files, by=principal.user, reason=reason
            )
            if activate:
                await store.activate_layer(change.connection, organisation, tier, name, version)
            await change.concerns([storable(str(where))])
            after = {"version": version, "active": version if activate else before}
            await change.audit(str(where), before={"active": before}, after=after, reason=reason)
        return await self.get(principal, where, version)

    async def set_of(self, principal: Principal, where: Where) -> PolicySet:
        """Return the set that a layer makes with what lies above it, as it is active now."""
        return await self.validate(where, (await self._active_files(principal, where))[1])

    async def switch_pack(self, principal: Principal, where: Where, pack: str, switch: Switch, *, reason: str) -> None:
        """Switch a pack in a layer, active at once. `off` is written only where a wider layer has the pack on.

        Raises:
            NotFound: There is no such pack.
            PoliciesRefused: A lock of the organisation holds the pack.
        """
        self.require_write_of(principal, where)
        wider = (
            one
            for one in (*self._policies.base, *self._policies.lower.values())
            if TIERS.index(one.tier) < TIERS.index(where.tier) or one.origin == "folder"
        )
        is_on = any(packs_of(one.files.get(CONFIG, "")).get(pack, "off") != "off" for one in wider)
        version, files = await self.with_pack(principal, where, pack, switch if switch != "off" or is_on else None)
        await self.upload(
            principal,
            where,
            files,
            reason=reason or f"pack {pack}: {switch}",
            activate=True,
            if_match=etag(version) if version else None,
        )

    async def with_pack(
        self, principal: Principal, where: Where, pack: str, switch: Switch | None
    ) -> tuple[int, dict[str, str]]:
        """Return the number of a layer's active version, 0 for none, and its files with a pack switched.

        Raises:
            NotFound: There is no such pack.
        """
        version, files = await self._active_files(principal, where)
        known = (await self.validate(where, files)).parsed.packs
        if pack not in known:
            raise NotFound(unknown("pack", pack, list(known)))
        return version, files | {CONFIG: with_pack(files.get(CONFIG, ""), pack, switch)}

    async def _active_files(self, principal: Principal, where: Where) -> tuple[int, dict[str, str]]:
        """Return the number and the files of a layer's active version; 0 and none without one."""
        try:
            active = await self.get(principal, where)
        except NotFound:
            return 0, {}
        return active.version, active.files

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
        """Activate a valid stored version. Raise NotFound, PoliciesRefused or PreconditionFailed."""
        self.require_write_of(principal, where)
        stored = await self.get(principal, where, version)
        await self.validate(where, stored.files)
        _check_written(stored.files)

        async with self._changes.write(KIND, principal, f"policies.{verb}") as change:
            before = await self._active_version(change, principal, where)
            check_if_match(if_match, before, required=bool(before))
            await store.activate_layer(change.connection, principal.organisation, where.tier, where.name, version)
            await change.concerns([storable(str(where))])
            after = {"version": version, "active": version}
            await change.audit(str(where), before={"active": before}, after=after, reason=reason)
        return await self.get(principal, where, version)

    async def roll_back(self, principal: Principal, where: Where, *, reason: str, if_match: str | None) -> StoredLayer:
        """Activate the previously active version; repeatable. Raise Conflict without one."""
        self.require_write_of(principal, where)
        version = await self._read(store.version_before(self._database, principal.organisation, where.tier, where.name))
        if not version:
            raise Conflict(
                f"layer `{where}` has no previously active version; use `baton policy remove` to deactivate it"
            )
        return await self.activate(principal, where, version, reason=reason, if_match=if_match, verb="rollback")

    async def remove(self, principal: Principal, where: Where, *, reason: str, if_match: str | None) -> None:
        """Deactivate a layer, idempotently. Its versions remain."""
        self.require_write_of(principal, where)
        async with self._changes.write(KIND, principal, "policies.deactivate") as change:
            before = await self._active_version(change, principal, where)
            check_if_match(if_match, before, required=bool(before))
            await store.retire_layer(change.connection, principal.organisation, where.tier, where.name)
            await change.concerns([storable(str(where))])
            await change.audit(str(where), before={"active": before}, after={"active": 0}, reason=reason)

    async def diff(self, principal: Principal, where: Where, before: int, after: int) -> LayerDiff:
        """Compare two versions; 0 is the empty layer. Raise NotFound."""
        old = (await self.get(principal, where, before)).files if before else {}
        new = (await self.get(principal, where, after)).files if after else {}
        text = _unified(old, new, str(before), str(after))
        rules: list[RuleChange] = []
        problems: list[Fault] = []
        try:
            rules = await asyncio.to_thread(
                lambda: compare(self.combine(where, dict(old)), self.combine(where, dict(new)))
            )
        except PolicyProblems as refused:
            problems = list(shown(refused.problems))
        return LayerDiff(before=before, after=after, rules=rules, text=text, problems=problems)

    async def changes(self, principal: Principal, where: Where, files: Mapping[str, str]) -> dict[str, str]:
        """Return a unified diff per file against the active version, if readable."""
        active: StoredLayer | None = None
        with suppress(NotFound):
            active = await self.get(principal, where)
        return _unified(active.files if active else {}, files, "in force", "draft")

    def require_write_of(self, principal: Principal, where: Where) -> None:
        """Raise Forbidden or NotFound without write access to a layer."""
        team = self._users.project_team(where.name) if where.tier == "project" else ""
        require_write(principal, where.tier, where.name, team_of_project=team)

    @staticmethod
    async def _active_version(change: SqlChange, principal: Principal, where: Where) -> int:
        return await store.active_version(change.connection, principal.organisation, where.tier, where.name)

    async def _read(self, reading: Awaitable[T]) -> T:
        with StoreErrors(_AWAY):
            return await reading


def _unified(old: Mapping[str, str], new: Mapping[str, str], before: str, after: str) -> dict[str, str]:
    found = {}
    for path in sorted(old.keys() | new.keys()):
        lines = unified_diff(old.get(path, "").splitlines(), new.get(path, "").splitlines(), before, after, lineterm="")
        if text := "\n".join(lines):
            found[path] = text
    return found


def _check_written(files: Mapping[str, str]) -> None:
    """Raise PoliciesRefused for a rule that still has a new rule's placeholder as its description."""
    text = "`description` is still the placeholder: state what the rule forbids and why"
    found = [
        Fault(path, file[: file.index(UNWRITTEN)].count("\n") + 1, text)
        for path, file in files.items()
        if UNWRITTEN in file
    ]
    if found:
        raise refusal(found)


def refusal(problems: list[Fault]) -> PoliciesRefused:
    """Return the error for a layer's problems, with one field error each."""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return PoliciesRefused(
        f"{count}; the first: {problems[0]}", *(FieldError(f"{one.file}:{one.line}", one.text) for one in problems)
    )


def place(principal: Principal, tier: str, name: str, project: str) -> Where:
    """Return which layer is meant: without a tier the widest that the caller may change, without a name the caller's own.

    Raises:
        Invalid: The tier needs a name, or does not take one.
    """
    match tier or _WIDEST.get(reach(principal, "policies.write") or "", "user"):
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
            return Where("project", project_name(name) or project)
    raise Invalid("tier", f"is `{tier}`", ["organisation", "team", "project", "user"])


async def set_of(texts: Mapping[str, str]) -> PolicySet:
    """Return a revision's set from its files by source, with its locks unchecked. Raise PoliciesRefused."""
    try:
        return await asyncio.to_thread(load, layers_of(texts), ALL_UNLOCKED)
    except PolicyProblems as refused:
        raise refusal(refused.problems) from None
