"""The values that are followed through a program, and what can be computed of texts without running it."""

import base64
import binascii
import codecs
import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from typing import TypeAlias
from urllib.parse import unquote

import msgspec

from baton.engine.code.model import UNKNOWN, is_known, variable
from baton.engine.code.tree import Function

MOST = 32
"""The most values that one expression is followed with; beyond, it is not known."""
LONGEST = 65_536
"""The longest text that is put together, in characters."""

Texts: TypeAlias = tuple[str, ...]
ANY: Texts = (UNKNOWN,)

TAINTED = frozenset(["download", "stdin"])
"""Kinds of objects whose content comes from elsewhere."""


class Ref(msgspec.Struct, frozen=True):
    """A module, or something in one: `os.path.join`."""

    path: str


class Thing(msgspec.Struct, frozen=True):
    """An object of a known kind: `path`, `file`, `download`, `stdin`, `socket`, `process`; `texts` are a path's values."""

    kind: str
    texts: Texts = ()


class Bound(msgspec.Struct, frozen=True):
    """A method of a value."""

    of: "Value"
    name: str


Value: TypeAlias = "Texts | list[Value] | dict[str, Value] | Ref | Thing | Bound | Function | None"


def texts(value: Value) -> Texts:
    """Return the texts that a value may be."""
    if isinstance(value, tuple):
        return value
    return value.texts if isinstance(value, Thing) and value.texts else ANY


def join(parts: Sequence[Texts], glue: str = "") -> Texts:
    """Return all ways to put texts together, or `ANY` if they are too many."""
    count = size = 1
    for part in parts:
        count *= len(part)
        size += max(len(text) for text in part) + len(glue)
    if count > MOST or size * count > LONGEST:
        return ANY
    return tuple(dict.fromkeys(glue.join(found) for found in itertools.product(*parts)))


def join_paths(parts: Sequence[Texts]) -> Texts:
    """Put paths together; an absolute one starts anew."""
    found: Texts = ("",)
    for part in parts:
        pairs = list(itertools.islice(itertools.product(found, part), MOST + 1))
        if len(pairs) > MOST:
            return ANY
        found = tuple(dict.fromkeys(_below(folder, path) for folder, path in pairs))
    return found


def _below(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", variable("HOME"))):
        return path[:LONGEST]
    return f"{folder.rstrip('/')}/{path}"[:LONGEST]


def either(values: Sequence[Value]) -> Value:
    """Return what one of several values may be."""
    found = [value for value in values if value is not None]
    if found and all(isinstance(value, tuple) for value in found):
        merged = tuple(dict.fromkeys(text for value in values for text in texts(value)))
        return merged if len(merged) <= MOST else ANY
    return found[0] if found else None


def fill(pattern: Texts, args: Sequence[Texts]) -> Texts:
    """Fill the places of a format (`%s`, `{}`, `{0}`) in their order."""
    if len(pattern) != 1:
        return ANY
    pieces = re.split(r"(%[-+0 #]*\d*(?:\.\d+)?[a-zA-Z]|\{\w*(?:![rsa])?(?::[^{}]*)?\})", pattern[0])
    parts: list[Texts] = []
    rest = iter(args)
    for at, piece in enumerate(pieces):
        number = re.match(r"\{(\d+)", piece)
        if at % 2 == 0:
            parts.append((piece,))
        elif number:
            parts.append(args[int(number[1])] if len(number[1]) < 3 and int(number[1]) < len(args) else ANY)  # noqa: PLR2004
        else:
            parts.append(next(rest, ANY))
    return join(parts)


def _base64(text: str) -> str:
    raw = re.sub(r"\s", "", text).translate(str.maketrans("-_", "+/"))
    return base64.b64decode(raw + "=" * (-len(raw) % 4)).decode()


def _home(text: str) -> str:
    return variable("HOME") + text[1:] if text == "~" or text.startswith("~/") else text


DECODERS: dict[str, Callable[[str], str]] = {
    "base64": _base64,
    "base32": lambda text: base64.b32decode(text).decode(),
    "hex": lambda text: bytes.fromhex(text).decode(),
    "chr": lambda text: chr(int(text, 0)),
    "rot13": lambda text: codecs.decode(text, "rot13"),
    "url": unquote,
    "home": _home,
    "quote": shlex.quote,
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
    "reverse": lambda text: text[::-1],
    "parent": lambda text: text.rstrip("/").rpartition("/")[0] or ("/" if text.startswith("/") else "."),
    "base": lambda text: text.rstrip("/").rpartition("/")[2],
}


def decode(how: str, value: Texts) -> Texts:
    """Compute a text of a known one; `ANY` if it cannot be done."""
    function = DECODERS[how]
    found: list[str] = []
    for text in value:
        if not is_known(text) and how not in {"home", "parent", "base", "quote"}:
            return ANY
        try:
            found.append(function(text))
        except (ValueError, binascii.Error, OverflowError):
            return ANY
    return tuple(found)
