"""Finds the places of a call's paths where there are many: each kind of path once, and not more than a certain number."""

import re
from collections.abc import Callable

from baton.engine.call.places.alike import AlikeNames
from baton.engine.call.places.places import Place
from baton.engine.shell.model import Reach

FEW = 64
"""Paths of a call that are looked up one by one. Usual calls have fewer, and so do not pay for comparing them."""
MOST = 1_200
"""Kinds of path that are looked up beyond these, at some 120 calls each. What is left counts as being everywhere."""
_WILD = re.compile(r"[*?\[]")
_WILD_COST = 16
"""How many others a path with wildcards counts for: it is compared with every protected path."""


class ManyPlaces:
    """The places of a call's paths beyond the first few."""

    def __init__(
        self,
        find: Callable[[str, str | None, Reach], frozenset[Place]],
        names: AlikeNames,
        everywhere: frozenset[Place],
    ) -> None:
        """Take the search for one path's places, and what a path has for which there is no search left."""
        self._find = find
        self._names = names
        self._everywhere = everywhere
        self._spent = 0
        self._alike: dict[tuple[str, str | None], str] = {}
        self._kinds: dict[tuple[str, str | None, Reach], frozenset[Place]] = {}

    def places(self, target: str, base: str | None, reach: Reach) -> frozenset[Place]:
        """Return the places of a path as written; arguments as of `Locator.places`."""
        # Rules ask about a path with one reach after the other.
        alike = self._alike.get((target, base))
        if alike is None:
            alike = self._alike[target, base] = self._names.alike(target, base)
        kind = alike, base, reach
        found = self._kinds.get(kind)
        if found is None:
            if self._spent >= MOST:
                return self._everywhere
            self._spent += _WILD_COST if _WILD.search(alike) else 1
            found = self._kinds[kind] = self._find(*kind)
        return found
