"""Whether people agree with what a model or a node chose often enough for it to go on choosing."""

import msgspec

DAYS = 3
"""How far back people's feedback counts, in days: a tier that is held back is tried again when its bad days are over."""
LEAST = 20
"""Choices that people must have judged before the tier is."""
LEAST_SHARE = 0.6
"""Least share of a tier's choices that people must call right."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How many choices people have judged, and how many of these they called right."""

    judged: int = 0
    right: int = 0

    @property
    def holds_back(self) -> bool:
        """Whether people disagree too often for the tier to be asked."""
        return self.judged >= LEAST and self.right / self.judged < LEAST_SHARE
