"""The outline of a file as a developer's machine sends it: names, kinds and lines, never the text; and its limits."""

from hashlib import blake2b
from typing import Literal

import msgspec

MOST_FILES = 9_000
"""Files of one code map: all of their digests go into one request, which may have 20,000 values and keys."""
MOST_SYMBOLS = 100
"""Symbols of one file."""
MOST_IN_ALL = 60_000
"""Symbols of one code map."""
MOST_MENTIONS = 40
"""Names that a file uses and does not define."""
MOST_AT_ONCE = 200
"""Outlines in one request."""
LONGEST_PATH, LONGEST_NAME = 400, 120
"""Characters of a path, relative to the project's root, and of a name."""
Kind = Literal["class", "function", "method", "type", "module", "constant"]
KINDS: tuple[Kind, ...] = ("class", "function", "method", "type", "module", "constant")


class Symbol(msgspec.Struct, frozen=True, array_like=True):
    """A definition: `line` counts from 1, `within` is the class or module that holds it, "" for none."""

    name: str
    kind: Kind
    line: int
    within: str = ""


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `mentions` are names that it uses and does not define, the most used first."""

    path: str
    language: str
    symbols: tuple[Symbol, ...] = ()
    mentions: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What tells it from every other outline; machine and server compute it alike."""
        content = msgspec.json.encode((self.path, self.language, self.symbols, self.mentions))
        return blake2b(content, digest_size=12).hexdigest()
