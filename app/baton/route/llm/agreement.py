"""Whether people agree with what a model or a node chose often enough for it to go on choosing. It counts nothing itself."""

import msgspec

DAYS = 3
"""How far back people's feedback counts, in days: what is held back is tried again when its bad days are over."""
LEAST = 20
"""Words of feedback before it is judged."""
LEAST_SHARE = 0.6
"""Least share of its choices that people call right."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Of so many choices that people have judged, so many were right."""

    judged: int = 0
    right: int = 0

    @property
    def holds_back(self) -> bool:
        """Tell whether people disagree too often."""
        return self.judged >= LEAST and self.right / self.judged < LEAST_SHARE
