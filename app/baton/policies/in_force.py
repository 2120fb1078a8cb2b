"""Keeps the policies in force: loads, watches, swaps whole states, keeps the last good one."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from watchfiles import awatch

from baton.engine.call.principal import Principal
from baton.engine.policy.load import PolicyProblems, PolicySet, Problem, load
from baton.engine.policy.rules.files import shown
from baton.engine.policy.rules.layers import Layer, Tier
from baton.engine.policy.rules.locks import Unlock
from baton.engine.text import masking
from baton.kernel.base.errors import NotFound, StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.policies.combinations import UNLOCK, Combinations, InForce, Key, fitting
from baton.policies.layer_rights import may_read, place_of
from baton.policies.layer_versions import StoredLayer
from baton.policies.stores import layers as layers_store
from baton.policies.stores import revisions as revisions_store
from baton.policies.stores import unlocks as unlocks_store
from baton.policies.stores.revisions import Revision
from baton.policies.stores.unlocks import StoredUnlock
from baton.shared import policy_folders as policy_files

__all__ = ["InForce", "Policies", "PoliciesStatus"]

log = logging.getLogger(__name__)

KIND = "policies"
"""The kind of change that makes every process read the uploaded layers again."""
ORGANISATION: Key = ("organisation", "-")
PREPARE_S = 0.1
"""Longest that a call waits for the set of its team, project and user to be combined, in seconds."""
LOOK_S = 1.0
"""How often unlocks are looked through for one whose time is over, in seconds."""
UPLOADED = "uploaded"
"""What problems call the organisation's layer that was uploaded: `organisation/uploaded:config.yaml`."""


class PoliciesStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The active revision, since when, and what keeps a newer one from becoming active."""

    revision: str
    rules: int
    loaded_at: datetime
    problems: tuple[Problem, ...] = ()


class Policies:
    """The policies in force. A reload is one assignment: a decision sees one whole state, never a mixture."""

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
        self._own_problems: tuple[Problem, ...] = ()
        self._state = Combinations(InForce(load(self._base)), {})
        self._loading = asyncio.Lock()
        self._noted: set[str] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self.reload()
        masking.learn(self.active.tables.secrets)

    @property
    def active(self) -> PolicySet:
        """The organisation's policy set: what holds for callers whom no lower layer concerns."""
        return self._state.whole.policies

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps newer policies from being in force, for all or for those whom a layer concerns."""
        return self._problems(lambda _: True)

    def problems_for(self, principal: Principal | None) -> tuple[Problem, ...]:
        """Return the problems of the layers that a principal may read; without one, the organisation's alone."""
        return self._problems(lambda key: principal is not None and may_read(principal, *key))

    def _problems(self, visible: Callable[[Key], bool]) -> tuple[Problem, ...]:
        lower = (
            one
            for keys, found in list(self._state.problems.items())
            if all(visible(key) for key in keys if key[0] != UNLOCK)
            for one in found
        )
        return shown(self._own_problems + tuple(dict.fromkeys(lower)))

    @property
    def degraded(self) -> tuple[str, ...]:
        """Name what every decision must own up to: that a newer policy set was refused."""
        return self._state.whole.degraded

    @property
    def status(self) -> PoliciesStatus:
        """The active revision, and the problems that keep a newer one from becoming active."""
        return PoliciesStatus(
            revision=self.active.revision,
            rules=len(self.active.rules),
            loaded_at=self._loaded_at,
            problems=self.problems,
        )

    @property
    def unlocks(self) -> tuple[StoredUnlock, ...]:
        """The unlocks that hold now, the oldest first."""
        now = self._now()
        return tuple(one for one in self._unlocks if one.until > now)

    def unlocks_for(self, *, team: str, user: str) -> list[Unlock]:
        """Return the unlocks that hold now for a user of a team; "" is nobody in particular."""
        return [one.for_engine() for one in self.unlocks if one.concerns(team=team, user=user)]

    @property
    def base(self) -> list[Layer]:
        """The layers that the organisation's set was made from, wide to narrow."""
        return list(self._base)

    @property
    def lower(self) -> Mapping[Key, Layer]:
        """The active layers below the organisation."""
        return self._state.lower

    def combinations(self) -> Combinations:
        """Return the sets in force, to be built anew by somebody who asks about other people's calls."""
        return _combined(InForce(self.active), self.lower, self.unlocks)

    def find(self, principal: Principal, project: str) -> InForce | None:
        """Return the set for a caller if it stands ready; else `prepare` builds it."""
        return self._state.find(principal, project)

    async def prepare(self, principal: Principal, project: str, wait_s: float | None = PREPARE_S) -> InForce:
        """Build the set for a caller beside the loop, while a call waits for it, but not for long.

        What takes longer, as behind a reload, is there for a later call; this one is decided by the organisation's set
        and owns up to it. People who ask what holds wait as long as it takes: `wait_s=None`.
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
            found = state.find(principal, project)
            if found is not None:
                return found
            built = await asyncio.to_thread(state.build, keys)
        noting = asyncio.create_task(self._note_combinations())
        self._beside.add(noting)
        noting.add_done_callback(self._beside.discard)
        return built

    async def visible(self, reader: Principal, principal: Principal, project: str) -> InForce:
        """Return the set for a principal, without the layers that the reader may not read."""
        keys = self._state.keys(principal, project)
        shown_keys = tuple(key for key in keys if key[0] == UNLOCK or may_read(reader, *key))
        if shown_keys == keys:
            return await self.prepare(principal, project, wait_s=None)
        return await asyncio.to_thread(self.combinations().build, shown_keys) if shown_keys else InForce(self.active)

    def reload(self) -> bool:
        """Load what folders and uploads hold now. Return whether all of it was accepted.

        On a problem in the folders the last good set stays; of the organisation's upload, what fits is in force.
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
            problems = (Problem(file=str(error.filename), line=0, text=error.strerror or str(error)),)
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
            log.info("policy revision %s is active, %s was", fresh.revision, before.whole.policies.revision)
            self._loaded_at = datetime.now(UTC)
        return not problems

    def _last_good(self, unlocks: tuple[StoredUnlock, ...], everywhere: list[Unlock]) -> PolicySet:
        """Return the last set that was accepted; built anew where unlocks have changed, so that none outlives its time."""
        if unlocks == self._in_state:
            return self._state.whole.policies
        return self._load(self._base, everywhere)[0]

    def _load(self, base: list[Layer], unlocks: list[Unlock]) -> tuple[PolicySet, tuple[Problem, ...]]:
        """Build the organisation's set.

        The operator's files are accepted whole or not at all. The upload may have been right only while a rule was
        unlocked, so what fits of it is kept.

        Returns:
            The set, and what is wrong with the upload.
        """
        files = load([one for one in base if not one.bound], unlocks)
        return fitting(files, [one for one in base[1:] if one.bound], unlocks)

    async def load_layers(self) -> None:
        """Read the uploaded layers again, and put them in force.

        Raises:
            DatabaseUnavailable: What was in force stays.
        """
        async with self._loading:
            stored = await layers_store.active(self._database, self._organisation)
            unlocks = tuple(await unlocks_store.load(self._database, self._organisation, self._now()))
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
        """Read some uploaded layers again, such as `team/web`, and put them in force.

        A change of one team's layer costs the same however many teams have one: the folders are not read, and no other
        layer is.

        Raises:
            DatabaseUnavailable: What was in force stays.
        """
        keys: list[Key] = [(tier, name) for tier, _, name in (place.partition("/") for place in places)]
        async with self._loading:
            stored = await layers_store.active_of(self._database, self._organisation, keys)
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
        """Put layers below the organisation in force, over the set that is."""
        lower = {key: layer for key, layer in self._layers.items() if key != ORGANISATION}
        state = _combined(self._state.whole, lower, self._in_state, self._state)
        state.build_again()
        self._state = state

    async def watch(self, stop: asyncio.Event) -> None:
        """Reload whenever a file of the folders changes, until told to stop."""
        self._folder.mkdir(parents=True, exist_ok=True)
        async for _ in awatch(self._shipped, self._folder, stop_event=stop, debounce=200, step=50):
            async with self._loading:
                await asyncio.to_thread(self.reload)
            await self.note_active()

    async def watch_unlocks(self, stop: asyncio.Event) -> None:
        """Put locks back in force as soon as the time of an unlock is over, until told to stop."""
        while not stop.is_set():
            await pause(stop, LOOK_S)
            await self.expire()

    async def expire(self) -> None:
        """Build the sets anew if the time of an unlock is over."""
        if self.unlocks != self._in_state:
            async with self._loading:
                await asyncio.to_thread(self.reload)
            await self.note_active()

    async def note_active(self) -> None:
        """Keep the texts of the active revision, so that records of it can be understood later."""
        await self._note([self.active], self._loaded_at)
        await self._note_combinations()

    async def _note_combinations(self) -> None:
        new = [one for revision, one in self._state.revisions().items() if revision not in self._noted]
        if new:
            await self._note(new, datetime.now(UTC))

    async def _note(self, sets: list[PolicySet], at: datetime) -> None:
        files = {one.revision: one.parsed.files for one in sets}
        try:
            await revisions_store.note(self._database, self._organisation, files, at)
            self._noted.update(files)
        except DatabaseUnavailable:
            log.warning("the database is away; the texts of revisions %s are not kept", ", ".join(files))

    def _read_base(self) -> list[Layer]:
        base = [Layer(tier="shipped", files=policy_files.read(self._shipped))]
        files = policy_files.read(self._folder)
        if files:
            base.append(Layer(tier="organisation", files=files))
        if ORGANISATION in self._layers:
            base.append(self._layers[ORGANISATION])
        return base

    async def history(self) -> list[Revision]:
        """List the revisions that were active, the latest first.

        Raises:
            StoreUnavailable: The database is away.
        """
        try:
            return await revisions_store.latest(self._database, self._organisation)
        except DatabaseUnavailable:
            raise StoreUnavailable("the revisions cannot be read now; try again") from None

    async def texts(self, principal: Principal, revision: str) -> dict[str, str]:
        """Return the texts of a revision by their sources.

        Raises:
            NotFound: It was never active here, or holds a layer that the principal may not read.
            StoreUnavailable: The database is away.
        """
        try:
            found = await revisions_store.files(self._database, self._organisation, revision)
        except DatabaseUnavailable:
            raise StoreUnavailable("the revisions cannot be read now; try again") from None
        if found is None or not all(may_read(principal, *place_of(source)) for source in found):
            raise NotFound(f"there is no policy revision `{revision}`")
        return found


def as_layer(tier: Tier, name: str, files: dict[str, str]) -> Layer:
    """See uploaded texts as a layer; the organisation's are told apart from those of its folder."""
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
