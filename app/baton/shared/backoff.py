"""Pauses between retries."""

import random


class Backoff:
    """Doubling pauses, shortened at random by up to a half, so that processes do not all reconnect at once."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the pause before the next attempt, in seconds."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, self._longest_s)
        return pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret

    def reset(self) -> None:
        """Restart with the first pause after a success."""
        self._next_s = self._first_s
