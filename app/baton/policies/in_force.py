"""The effective policies: loads and watches them, swaps whole states, keeps the last valid one."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from watchfiles import awatch

from baton.kernel.base.errors import Forbidden, NotFound
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors
from baton.lib.text import masking
from baton.people.users import reach, require
from baton.policies import file_changes, store
from baton.policies.layer_versions import Revision, StoredLayer, StoredUnlock
from baton.rules.call.call import Principal
from baton.rules.policy.load import Fault, PolicyProblems, PolicySet, fitting, load
from baton.rules.policy.matching.wording import place_of
from baton.rules.policy.replay import loosened
from baton.rules.policy.rules.files import Layer, Tier, Unlock, shown
from baton.shared import policy_folders as policy_files

# Each principal's policy set: the organisation's plus team, project and user layers. Immutable.

KEPT = 1_024  # maximum number of cached combinations. The oldest is dropped.

Key = tuple[str, str]  # tier and name of a lower layer; or `UNLOCK` and the id of an unlock
Keys = tuple[Key, ...]
UNLOCK = "unlock"


class InForce(msgspec.Struct, frozen=True):
    """A caller's effective policies, and the reasons for degraded decisions."""

    policies: PolicySet
    degraded: tuple[str, ...] = ()


class Combinations:
    """The organisation's set, the layers below it, and all requested combinations.

    `everywhere` are the unlocks for everybody, already part of `whole`. `unlocks` are those for a team or a user: each
    has its own combination, so that calls need not check unlocks.
    """

    def __init__(
        self,
        whole: InForce,
        lower: Mapping[Key, Layer],
        before: "Combinations | None" = None,
        *,
        everywhere: Sequence[Unlock] = (),
        unlocks: Sequence[StoredUnlock] = (),
    ) -> None:
        self.whole = whole
        self.lower = dict(lower)
        self.problems: dict[Keys, tuple[Fault, ...]] = {}
        self._everywhere = tuple(everywhere)
        self._unlocks = {(UNLOCK, one.id): one for one in unlocks}
        self._before = before
        self._sets: dict[Keys, InForce] = {}
        if before is not None:
            self._take_over(before)

    def get(self, principal: Principal, project: str) -> InForce | None:
        """Return a caller's set, or None if it must be built. Without lower layers this is one comparison."""
        if not self.lower and not self._unlocks:
            return self.whole
        keys = self.keys(principal, project)
        return self._sets.get(keys) if keys else self.whole

    def keys(self, principal: Principal, project: str) -> Keys:
        """Return the lower layers of a caller, wide to narrow, and the unlocks."""
        named = (("team", principal.team), ("project", project), ("user", principal.user))
        keys = tuple(key for key in named if key in self.lower)
        if not self._unlocks:
            return keys
        mine = (key for key, one in self._unlocks.items() if one.concerns(team=principal.team, user=principal.user))
        return (*keys, *mine)

    def build(self, keys: Keys) -> InForce:
        """Combine layers, without files in conflict with the layers above, so that no older set outlives a lock."""
        found = self._sets.get(keys)
        if found is not None:
            return found
        unlocks = [*self._everywhere, *(self._unlocks[key].for_engine() for key in keys if key[0] == UNLOCK)]
        policies, problems = fitting(
            self.whole.policies, [self.lower[key] for key in keys if key in self.lower], unlocks
        )
        if problems:
            self.problems[keys] = problems
        built = InForce(policies, ("policies",) if problems else self.whole.degraded)
        self._keep(keys, built)
        return built

    def build_again(self) -> None:
        """Rebuild the previous combinations, and each team's and project's layer, to find problems."""
        used = tuple(self._before._sets) if self._before is not None else ()  # noqa: SLF001 - its own kind
        shared = tuple((key,) for key in self.lower if key[0] != "user")[:KEPT]
        for keys in dict.fromkeys((*used, *shared)):
            if self._has(keys):
                self.build(keys)
        self._before = None

    def revisions(self) -> dict[str, PolicySet]:
        """Return all combined sets by revision."""
        return {one.policies.revision: one.policies for one in list(self._sets.values())}

    def _take_over(self, before: "Combinations") -> None:
        if before.whole.policies is not self.whole.policies:
            return
        for keys, built in before._sets.items():  # noqa: SLF001 - its own kind
            same = self._has(keys) and all(self.lower.get(key) is before.lower.get(key) for key in keys)
            if same and keys not in before.problems:
                self._keep(keys, InForce(built.policies, self.whole.degraded))

    def _has(self, keys: Keys) -> bool:
        return all(key in self.lower or key in self._unlocks for key in keys)

    def _keep(self, keys: Keys, built: InForce) -> None:
        self._sets[keys] = built
        if len(self._sets) > KEPT:
            self._sets.pop(next(iter(self._sets)))


# Read and write access to policy layers. Write access also permits lifting their rules for a session.


def may_read(principal: Principal, tier: str, name: str) -> bool:
    """Return whether a principal may read a layer: the organisation's, projects', and their own team's and user's."""
    if principal.role in {"admin", "auditor"}:
        return True
    match tier:
        case "team":
            return name == principal.team
        case "user":
            return name == principal.user
    return reach(principal, "policies.read") is not None


def may_write(principal: Principal, tier: str, name: str, *, team_of_project: str) -> bool:
    """Return whether a principal may change a layer, and so may lift its rules for a session.

    Developers change their own layer, leads also their team's and its projects', admins every one.
    """
    reach_of_role = reach(principal, "policies.write")
    if reach_of_role == "organisation":
        return True
    if tier == "user":
        return reach_of_role is not None and name == principal.user
    team = {"team": name, "project": team_of_project}.get(tier, "")
    return reach_of_role == "team" and team != "" and team == principal.team


def require_write(principal: Principal, tier: str, name: str, *, team_of_project: str) -> None:
    """Refuse a principal without write access. Raise Forbidden, or NotFound for an invisible layer."""
    found = require(principal, "policies.write")
    if may_write(principal, tier, name, team_of_project=team_of_project):
        return
    if not may_read(principal, tier, name):
        raise NotFound(f"there is no layer `{tier}/{name}` that you may change")
    allowed = "`user` (your own)" + (", `team` (your own), `project` (your team's)" if found == "team" else "")
    raise Forbidden(f"role `{principal.role}` may not change `{tier}/{name}`; allowed tiers: {allowed}")


__all__ = ["InForce", "Policies", "PoliciesStatus"]

log = logging.getLogger(__name__)

KIND = "policies"  # the change kind that makes every process reload the uploaded layers
ORGANISATION: Key = ("organisation", "-")
PREPARE_S = 0.1  # timeout of a call for combining its layers, in seconds
UPLOADED = "uploaded"  # name of the organisation's uploaded layer in problems: `organisation/uploaded:config.yaml`


class PoliciesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The active revision, its load time, the problems of a newer one, and disabled guardrails."""

    revision: str
    rules: int
    loaded_at: datetime
    problems: tuple[Fault, ...] = ()
    loosened: tuple[str, ...] = ()


class Policies:
    """The effective policies. A reload is one assignment, so decisions see a consistent state."""

    def __init__(
        self,
        shipped: Path,
        folder: Path,
        database: Database,
        organisation: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._now = now
        self._unlocks: tuple[StoredUnlock, ...] = ()
        self._in_state: tuple[StoredUnlock, ...] = ()
        self._shipped = shipped
        self._folder = folder
        self._database = database
        self._organisation = organisation
        self._uploaded: dict[Key, StoredLayer] = {}
        self._layers: dict[Key, Layer] = {}
        self._base = [Layer(tier="shipped", files=policy_files.read(shipped))]
        self._loaded_at = datetime.now(UTC)
        self._own_problems: tuple[Fault, ...] = ()
        self._state = Combinations(InForce(load(self._base)), {})
        self._loading = asyncio.Lock()
        self._noted: set[str] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self.reload()
        masking.learn(self.active.tables.secrets)

    @property
    def active(self) -> PolicySet:
        """The organisation's policy set, for callers without lower layers."""
        return self._state.whole.policies

    @property
    def problems(self) -> tuple[Fault, ...]:
        """The problems of newer policies, including all layers'."""
        return self._problems(lambda _: True)

    def problems_for(self, principal: Principal | None) -> tuple[Fault, ...]:
        """Return the problems of the layers readable by a principal; without one, the organisation's."""
        return self._problems(lambda key: principal is not None and may_read(principal, *key))

    def _problems(self, visible: Callable[[Key], bool]) -> tuple[Fault, ...]:
        lower = (
            one
            for keys, found in list(self._state.problems.items())
            if all(visible(key) for key in keys if key[0] != UNLOCK)
            for one in found
        )
        return shown(self._own_problems + tuple(dict.fromkeys(lower)))

    @property
    def degraded(self) -> tuple[str, ...]:
        """Reasons for degraded decisions: a newer policy set was refused."""
        return self._state.whole.degraded

    @property
    def status(self) -> PoliciesStatus:
        """The active revision, and the problems of a newer one."""
        return PoliciesStatus(
            revision=self.active.revision,
            rules=len(self.active.rules),
            loaded_at=self._loaded_at,
            problems=self.problems,
            loosened=tuple(one for one in loosened(self.active) if one.startswith("guardrails/")),
        )

    @property
    def unlocks(self) -> tuple[StoredUnlock, ...]:
        """The current unlocks, oldest first."""
        now = self._now()
        return tuple(one for one in self._unlocks if one.until > now)

    def unlocks_for(self, *, team: str, user: str) -> list[Unlock]:
        """Return the current unlocks of a user and team; "" matches only unlocks for everybody."""
        return [one.for_engine() for one in self.unlocks if one.concerns(team=team, user=user)]

    @property
    def base(self) -> list[Layer]:
        """The layers of the organisation's set, wide to narrow."""
        return list(self._base)

    @property
    def lower(self) -> Mapping[Key, Layer]:
        """The active layers below the organisation."""
        return self._state.lower

    def combinations(self) -> Combinations:
        """Return fresh combinations of the effective sets, for questions about other people's calls."""
        return _combined(InForce(self.active), self.lower, self.unlocks)

    def find(self, principal: Principal, project: str) -> InForce | None:
        """Return a caller's cached set; `prepare` builds a missing one."""
        return self._state.get(principal, project)

    async def prepare(self, principal: Principal, project: str, wait_s: float | None = PREPARE_S) -> InForce:
        """Build a caller's set in a thread, within `wait_s`.

        After the timeout, this call uses the organisation's set, marked as degraded, and later calls use the built set.
        `wait_s=None` waits without a limit.
        """
        found = self.find(principal, project)
        if found is not None:
            return found
        building = asyncio.create_task(self._build(principal, project))
        self._beside.add(building)
        building.add_done_callback(self._beside.discard)
        done, _ = await asyncio.wait({building}, timeout=wait_s)
        return building.result() if done else InForce(self.active, ("policies",))

    async def _build(self, principal: Principal, project: str) -> InForce:
        async with self._loading:
            state = self._state
            keys = state.keys(principal, project)
            found = state.get(principal, project)
            if found is not None:
                return found
            built = await asyncio.to_thread(state.build, keys)
        noting = asyncio.create_task(self._note_combinations())
        self._beside.add(noting)
        noting.add_done_callback(self._beside.discard)
        return built

    async def visible(self, reader: Principal, principal: Principal, project: str) -> InForce:
        """Return a principal's set, without the layers unreadable by the reader."""
        keys = self._state.keys(principal, project)
        shown_keys = tuple(key for key in keys if key[0] == UNLOCK or may_read(reader, *key))
        if shown_keys == keys:
            return await self.prepare(principal, project, wait_s=None)
        return await asyncio.to_thread(self.combinations().build, shown_keys) if shown_keys else InForce(self.active)

    def reload(self) -> bool:
        """Load the current folders and uploads. Return whether all were valid.

        On a problem in the folders the last valid set remains. Of the organisation's upload, the valid files apply.
        """
        before, unlocks = self._state, self.unlocks
        everywhere = [one.for_engine() for one in unlocks if one.for_everybody]
        try:
            base = self._read_base()
            same = (base, unlocks) == (self._base, self._in_state) and not self._own_problems
            fresh, problems = (before.whole.policies, ()) if same else self._load(base, everywhere)
        except PolicyProblems as refused:
            problems, base = tuple(refused.problems), self._base
            fresh = self._last_good(unlocks, everywhere)
        except OSError as error:
            problems = (Fault(file=str(error.filename), line=0, text=error.strerror or str(error)),)
            base, fresh = self._base, self._last_good(unlocks, everywhere)
        for problem in problems:
            log.warning("policies refused, revision %s is in force without them: %s", fresh.revision, problem)
        if fresh.revision == before.whole.policies.revision and fresh.locks == before.whole.policies.locks:
            fresh = before.whole.policies
        whole = InForce(fresh, ("policies",) if problems else ())
        lower = {key: self._layers[key] for key in self._layers if key != ORGANISATION}
        state = _combined(whole, lower, unlocks, before)
        state.build_again()
        self._own_problems = problems
        self._state = state
        self._base, self._in_state = base, unlocks
        if fresh is not before.whole.policies:
            if fresh.tables.secrets is not before.whole.policies.tables.secrets:
                masking.learn(fresh.tables.secrets)
            log.info("policy revision %s is active instead of %s", fresh.revision, before.whole.policies.revision)
            self._loaded_at = datetime.now(UTC)
        return not problems

    def _last_good(self, unlocks: tuple[StoredUnlock, ...], everywhere: list[Unlock]) -> PolicySet:
        """Return the last valid set, rebuilt if unlocks have changed, so that none outlives its time."""
        if unlocks == self._in_state:
            return self._state.whole.policies
        return self._load(self._base, everywhere)[0]

    def _load(self, base: list[Layer], unlocks: list[Unlock]) -> tuple[PolicySet, tuple[Fault, ...]]:
        """Build the organisation's set. Return it and the upload's problems.

        The operator's files are accepted or rejected as a whole. The upload may depend on an unlocked rule, so its
        valid files apply.
        """
        files = load([one for one in base if not one.bound], unlocks)
        return fitting(files, [one for one in base[1:] if one.bound], unlocks)

    async def load_layers(self) -> None:
        """Reload and apply the uploaded layers. Raise DatabaseUnavailable; the old ones then remain."""
        async with self._loading:
            stored = await store.active_layers(self._database, self._organisation)
            unlocks = tuple(await store.load_unlocks(self._database, self._organisation, self._now()))
            uploaded: dict[Key, StoredLayer] = {(one.tier, one.name): one for one in stored}
            same = {key for key, one in uploaded.items() if _is_known(one, self._uploaded.get(key))}
            self._layers = {
                key: self._layers[key] if key in same else as_layer(one.tier, one.name, one.files)
                for key, one in uploaded.items()
            }
            changed = len(same) != len(uploaded) or uploaded.keys() != self._uploaded.keys()
            changed = changed or unlocks != self._in_state
            self._uploaded, self._unlocks = uploaded, unlocks
            if changed:
                await asyncio.to_thread(self.reload)
        await self.note_active()

    async def load_some(self, places: list[str]) -> None:
        """Reload and apply some uploaded layers, such as `team/web`, and no others. Raise DatabaseUnavailable."""
        keys: list[Key] = [(tier, name) for tier, _, name in (place.partition("/") for place in places)]
        async with self._loading:
            stored = await store.active_layers_of(self._database, self._organisation, keys)
            changed = [key for key in keys if not _is_known(stored.get(key), self._uploaded.get(key))]
            for key in changed:
                self._uploaded.pop(key, None)
                self._layers.pop(key, None)
                if one := stored.get(key):
                    self._uploaded[key] = one
                    self._layers[key] = as_layer(one.tier, one.name, one.files)
            if ORGANISATION in changed or (changed and self.unlocks != self._in_state):
                await asyncio.to_thread(self.reload)
            elif changed:
                await asyncio.to_thread(self._combine_again)
        await self.note_active()

    def _combine_again(self) -> None:
        lower = {key: layer for key, layer in self._layers.items() if key != ORGANISATION}
        state = _combined(self._state.whole, lower, self._in_state, self._state)
        state.build_again()
        self._state = state

    async def watch(self, stop: asyncio.Event) -> None:
        """Reload on file changes in the folders, until `stop`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        changes = awatch(self._shipped, self._folder, stop_event=stop, debounce=1_000, step=1_000)
        changed = asyncio.ensure_future(anext(changes, None))
        started: PolicySet | None = self.active
        await asyncio.sleep(0)  # The watch has begun. The first reload finds what changed before it.
        while True:
            before = self.active
            async with self._loading:
                await asyncio.to_thread(self.reload)
            await self.note_active()
            await self.audit_files(None if self.active is started else before)
            if await changed is None:
                return
            changed, started = asyncio.ensure_future(anext(changes, None)), None

    async def audit_files(self, before: PolicySet | None = None) -> None:
        """Write an audit entry if the folder's files changed since the last one. `before` was active."""
        await file_changes.audit(
            self._database, self._organisation, self._folder, self.active, self._own_problems, before
        )

    async def expire(self) -> None:
        """Rebuild the sets if an unlock has expired."""
        if self.unlocks != self._in_state:
            async with self._loading:
                await asyncio.to_thread(self.reload)
            await self.note_active()

    async def note_active(self) -> None:
        """Store the files of the active revision, to explain its records later."""
        await self._note([self.active], self._loaded_at)
        await self._note_combinations()

    async def _note_combinations(self) -> None:
        new = [one for revision, one in self._state.revisions().items() if revision not in self._noted]
        if new:
            await self._note(new, datetime.now(UTC))

    async def _note(self, sets: list[PolicySet], at: datetime) -> None:
        files = {one.revision: one.parsed.files for one in sets}
        try:
            await store.note_revisions(self._database, self._organisation, files, at)
            self._noted.update(files)
        except DatabaseUnavailable:
            log.warning("the database is unavailable; the files of revisions %s are not stored", ", ".join(files))

    def _read_base(self) -> list[Layer]:
        base = [Layer(tier="shipped", files=policy_files.read(self._shipped))]
        files = policy_files.read(self._folder)
        if files:
            base.append(Layer(tier="organisation", files=files))
        if ORGANISATION in self._layers:
            base.append(self._layers[ORGANISATION])
        return base

    async def history(self) -> list[Revision]:
        """List the active revisions, latest first. Raise StoreUnavailable."""
        with StoreErrors("the revisions cannot be read now; try again"):
            return await store.latest_revisions(self._database, self._organisation)

    async def texts(self, principal: Principal, revision: str) -> dict[str, str]:
        """Return a revision's files by source. Raise NotFound, also for unreadable layers, or StoreUnavailable."""
        with StoreErrors("the revisions cannot be read now; try again"):
            found = await store.revision_files(self._database, self._organisation, revision)
        if found is None or not all(may_read(principal, *place_of(source)) for source in found):
            raise NotFound(f"there is no policy revision `{revision}`")
        return found


def as_layer(tier: Tier, name: str, files: dict[str, str]) -> Layer:
    """Convert uploaded files to a layer. The organisation's upload has a distinct name."""
    return Layer(tier=tier, name=UPLOADED if tier == "organisation" else name, files=files, origin="upload")


def _combined(
    whole: InForce, lower: Mapping[Key, Layer], unlocks: tuple[StoredUnlock, ...], before: Combinations | None = None
) -> Combinations:
    return Combinations(
        whole,
        lower,
        before,
        everywhere=[one.for_engine() for one in unlocks if one.for_everybody],
        unlocks=[one for one in unlocks if not one.for_everybody],
    )


def _is_known(one: StoredLayer | None, other: StoredLayer | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.version, one.activated_at) == (other.version, other.activated_at)
