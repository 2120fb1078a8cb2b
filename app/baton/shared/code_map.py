"""The outline of a file from a developer's machine: names, kinds and lines, never the text; and its limits."""

from hashlib import blake2b
from typing import Literal

import msgspec

MOST_FILES = 9_000  # per code map: their digests are one request of at most 20,000 values and keys
MOST_SYMBOLS = 100  # maximum number of symbols per file
MOST_IN_ALL = 60_000  # maximum number of symbols per code map
MOST_MENTIONS = 40  # maximum number of a file's used but undefined names
MOST_AT_ONCE = 200  # maximum number of outlines per request
LONGEST_PATH, LONGEST_NAME = 400, 120  # characters of a relative path, and of a name
Kind = Literal["class", "function", "method", "type", "module", "constant"]
KINDS: tuple[Kind, ...] = ("class", "function", "method", "type", "module", "constant")


class Symbol(msgspec.Struct, frozen=True, array_like=True):
    """A definition. `line` counts from 1; `within` is its class or module, or ""."""

    name: str
    kind: Kind
    line: int
    within: str = ""


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `mentions` are used but undefined names, most used first."""

    path: str
    language: str
    symbols: tuple[Symbol, ...] = ()
    mentions: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Identifies the outline. Machine and server compute it alike."""
        content = msgspec.json.encode((self.path, self.language, self.symbols, self.mentions))
        return blake2b(content, digest_size=12).hexdigest()
