"""Where a secret stands in a text, and whether a run of characters looks random."""

from itertools import pairwise

import msgspec

WORD, DOUBLE, SINGLE, BLOCK = "word", '"', "'", "block"
"""What ends a secret that the end of a text cut: a delimiter, a quote, or the last line of a key block."""

_LEAST_CHANGES = 0.3
_HEX = frozenset(b"0123456789abcdef")


class SecretSpan(msgspec.Struct, frozen=True):
    """A secret: its bytes from `start` up to `end`, which is excluded; the mask's name; and what ends it."""

    start: int
    end: int
    name: str
    ends_at: str


def looks_random(run: bytes) -> bool:
    """Return whether letters and digits follow each other as in a generated token, unlike in words and hex digests.

    A generated base62 text changes between lower case, upper case and digits at six of ten places, `camelCase` at two.
    """
    if len(run) < 2 or _HEX.issuperset(run):  # noqa: PLR2004 - one character changes into nothing
        return False
    kinds = [0 if 97 <= byte <= 122 else 1 if 65 <= byte <= 90 else 2 for byte in run]  # noqa: PLR2004 - ASCII
    changes = sum(before != after for before, after in pairwise(kinds))
    return changes >= _LEAST_CHANGES * len(run)
