"""Builds the policy set of each principal: the organisation's, with the layers of the team, project and user over it.

An instance never changes: a reload builds a new one.
"""

from collections.abc import Mapping

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.policy.load import PolicyProblems, PolicySet, Problem, extend
from baton.engine.policy.rules.layers import Layer

KEPT = 1_024
"""Combinations that are kept ready; the one that was made first is dropped for another."""

Key = tuple[str, str]
"""Tier and name of a layer below the organisation."""
Keys = tuple[Key, ...]


class InForce(msgspec.Struct, frozen=True):
    """What a caller's calls are decided by, and what a decision must own up to."""

    policies: PolicySet
    degraded: tuple[str, ...] = ()


class Combinations:
    """The organisation's set, the layers below it, and every combination that was asked for."""

    def __init__(
        self,
        whole: InForce,
        lower: Mapping[Key, Layer],
        before: "Combinations | None" = None,
    ) -> None:
        self.whole = whole
        self.lower = dict(lower)
        self.problems: dict[Keys, tuple[Problem, ...]] = {}
        self._before = before
        self._sets: dict[Keys, InForce] = {}
        if before is not None:
            self._take_over(before)

    def find(self, principal: Principal, project: str) -> InForce | None:
        """Return what holds for a caller, None if it has to be built first. Costs one look-up without lower layers."""
        if not self.lower:
            return self.whole
        keys = self.keys(principal, project)
        return self._sets.get(keys) if keys else self.whole

    def keys(self, principal: Principal, project: str) -> Keys:
        """Name the lower layers that concern a caller, wide to narrow."""
        named = (("team", principal.team), ("project", project), ("user", principal.user))
        return tuple(key for key in named if key in self.lower)

    def build(self, keys: Keys) -> InForce:
        """Combine layers, without what does not fit what lies above it, so that no older set outlives a lock."""
        found = self._sets.get(keys)
        if found is not None:
            return found
        try:
            policies = extend(self.whole.policies, [self.lower[key] for key in keys])
            built = InForce(policies, self.whole.degraded)
        except PolicyProblems as refused:
            self.problems[keys] = tuple(refused.problems)
            built = InForce(self._fitting(keys), ("policies",))
        self._keep(keys, built)
        return built

    def _fitting(self, keys: Keys) -> PolicySet:
        """Combine what fits of layers, file by file: of those that do, one may well refuse something."""
        policies = self.whole.policies
        for key in keys:
            layer = self.lower[key]
            while layer.files:
                try:
                    policies = extend(policies, [layer])
                    break
                except PolicyProblems as refused:
                    wrong = {problem.file for problem in refused.problems}
                    files = {path: text for path, text in layer.files.items() if layer.source(path) not in wrong}
                    layer = msgspec.structs.replace(layer, files=files if len(files) < len(layer.files) else {})
        return policies

    def build_again(self) -> None:
        """Build what the state before had built, and each layer of a team and a project, to know of problems."""
        used = tuple(self._before._sets) if self._before is not None else ()  # noqa: SLF001 - its own kind
        shared = tuple((key,) for key in self.lower if key[0] != "user")[:KEPT]
        for keys in dict.fromkeys((*used, *shared)):
            if all(key in self.lower for key in keys):
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
            same = all(key in self.lower and self.lower[key] is before.lower.get(key) for key in keys)
            if same and keys not in before.problems:
                self._keep(keys, InForce(built.policies, self.whole.degraded))

    def _keep(self, keys: Keys, built: InForce) -> None:
        self._sets[keys] = built
        if len(self._sets) > KEPT:
            self._sets.pop(next(iter(self._sets)))
