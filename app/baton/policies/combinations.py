"""Builds the policy set of each principal: the organisation's, with the layers of the team, project and user over it.

An instance never changes: a reload builds a new one.
"""

from collections.abc import Mapping, Sequence

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.policy.load import PolicyProblems, PolicySet, Problem, extend, unlocked
from baton.engine.policy.rules.layers import Layer
from baton.engine.policy.rules.locks import Unlock
from baton.policies.stores.unlocks import StoredUnlock

KEPT = 1_024
"""Combinations that are kept ready; the one that was made first is dropped for another."""

Key = tuple[str, str]
"""Tier and name of a layer below the organisation; or `UNLOCK` and the id of an unlock for a team or user."""
Keys = tuple[Key, ...]
UNLOCK = "unlock"


class InForce(msgspec.Struct, frozen=True):
    """What a caller's calls are decided by, and what a decision must own up to."""

    policies: PolicySet
    degraded: tuple[str, ...] = ()


class Combinations:
    """The organisation's set, the layers below it, and every combination that was asked for.

    `everywhere` are the unlocks for everybody, which `whole` was built with. `unlocks` are those for a team or a user:
    they make a combination of their own, so that a call need not ask what is unlocked.
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
        self.problems: dict[Keys, tuple[Problem, ...]] = {}
        self._everywhere = tuple(everywhere)
        self._unlocks = {(UNLOCK, one.id): one for one in unlocks}
        self._before = before
        self._sets: dict[Keys, InForce] = {}
        if before is not None:
            self._take_over(before)

    def find(self, principal: Principal, project: str) -> InForce | None:
        """Return what holds for a caller, None if it has to be built first. Costs one look-up without lower layers."""
        if not self.lower and not self._unlocks:
            return self.whole
        keys = self.keys(principal, project)
        return self._sets.get(keys) if keys else self.whole

    def keys(self, principal: Principal, project: str) -> Keys:
        """Name the lower layers that concern a caller, wide to narrow, and the unlocks."""
        named = (("team", principal.team), ("project", project), ("user", principal.user))
        keys = tuple(key for key in named if key in self.lower)
        if not self._unlocks:
            return keys
        mine = (key for key, one in self._unlocks.items() if one.concerns(team=principal.team, user=principal.user))
        return (*keys, *mine)

    def build(self, keys: Keys) -> InForce:
        """Combine layers, without what does not fit what lies above it, so that no older set outlives a lock."""
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
        """Build what the state before had built, and each layer of a team and a project, to know of problems."""
        used = tuple(self._before._sets) if self._before is not None else ()  # noqa: SLF001 - its own kind
        shared = tuple((key,) for key in self.lower if key[0] != "user")[:KEPT]
        for keys in dict.fromkeys((*used, *shared)):
            if self._has(keys):
                self.build(keys)
        self._before = None

    def revisions(self) -> dict[str, PolicySet]:
        """Return every set that was combined, by its revision."""
        return {one.policies.revision: one.policies for one in list(self._sets.values())}

    def _take_over(self, before: "Combinations") -> None:
        """Keep what was built from the same parts."""
        if before.whole.policies is not self.whole.policies:
            return
        for keys, built in before._sets.items():  # noqa: SLF001 - its own kind
            same = self._has(keys) and all(self.lower.get(key) is before.lower.get(key) for key in keys)
            if same and keys not in before.problems:
                self._keep(keys, InForce(built.policies, self.whole.degraded))

    def _has(self, keys: Keys) -> bool:
        """Return whether the layers and unlocks of a combination are still there."""
        return all(key in self.lower or key in self._unlocks for key in keys)

    def _keep(self, keys: Keys, built: InForce) -> None:
        self._sets[keys] = built
        if len(self._sets) > KEPT:
            self._sets.pop(next(iter(self._sets)))


def fitting(
    base: PolicySet, layers: Sequence[Layer], unlocks: Sequence[Unlock]
) -> tuple[PolicySet, tuple[Problem, ...]]:
    """Lay layers over a set, without the files that do not fit: of those that do, one may well refuse something.

    Returns:
        The set, and what is wrong with the first layer that does not fit.
    """
    try:
        return extend(base, layers, unlocks), ()
    except PolicyProblems as refused:
        problems = tuple(refused.problems)
    policies = unlocked(base, unlocks)
    for layer in layers:
        rest = layer
        while rest.files:
            try:
                policies = extend(policies, [rest], unlocks)
                break
            except PolicyProblems as refused:
                wrong = {problem.file for problem in refused.problems}
                files = {path: text for path, text in rest.files.items() if rest.source(path) not in wrong}
                rest = msgspec.structs.replace(rest, files=files if len(files) < len(rest.files) else {})
    return policies, problems
