"""Fills the variables that a shell line sets into the texts of its words."""

import re

_NAME = re.compile(r"\$(?:\{(\w+)(?::?[-=]([^}$]*))?\}|(\w+))")
_MAX_NAMES_IN_NAMES = 3
_MAX_NAMES = 32
_MAX_FILLED = 100_000
"""Names in one text that are filled in, each with up to a thousand characters, and characters of all such texts of a call."""
_LONG_VALUE = 1_000


class LineValues:
    """The values of one line's variables, from its `NAME=value` words, and the texts that were filled with them."""

    def __init__(self, exports: tuple[str, ...]) -> None:
        self._values = dict(word.split("=", 1) for word in exports if "=" in word and len(word) <= _LONG_VALUE)
        self._meant: dict[str, str] = {}
        self._filled = 0

    def fill(self, text: str) -> str:
        """Put the values of variables, or the defaults of `${NAME:-default}`, into a text.

        Values may name other variables, so this is repeated a few times, and stops when the text has grown long: each
        round could double it. Many rules ask for the same text, and a line may set as many variables as it names.
        """
        known = self._meant.get(text)
        if known is not None:
            return known
        values, meant = self._values, text
        for _ in range(_MAX_NAMES_IN_NAMES):
            if len(meant) > _LONG_VALUE or self._filled > _MAX_FILLED:
                break
            meant = _NAME.sub(lambda found: values.get(found[1] or found[3], found[2] or found[0]), meant, _MAX_NAMES)
            self._filled += len(meant)
        self._meant[text] = meant
        return meant
