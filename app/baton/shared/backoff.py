"""Pauses between attempts at something that fails for a while."""

import random


class Backoff:
    """Pauses that double from attempt to attempt.

    Each is cut by up to a half at random, so that processes that lost the same server do not all come back at once.
    """

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return how long to wait before the next attempt, in seconds."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, self._longest_s)
        return pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret

    def reset(self) -> None:
        """Begin with the first pause again, since an attempt worked."""
        self._next_s = self._first_s
