"""The values traced through a program, and the computable operations on strings."""

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

from baton.lib.code.model import UNKNOWN, is_known, variable
from baton.lib.code.tree import Function

MOST = 32  # maximum values of one expression; beyond, it is unknown
LONGEST = 65_536  # maximum length of a joined string, in characters

Texts: TypeAlias = tuple[str, ...]
ANY: Texts = (UNKNOWN,)

TAINTED = frozenset(["download", "stdin", "decoded", "decoded stdin"])
"""Kinds of objects with external content, or content decoded only at run time."""
ENCODINGS = frozenset(["base64", "base32", "base85", "ascii85", "hex", "rot13", "url"])
"""Decoders used by code to hide text."""


class Ref(msgspec.Struct, frozen=True):
    """A module, or a member of one: `os.path.join`."""

    path: str


class Thing(msgspec.Struct, frozen=True):
    """A `path`, `file`, `download`, `stdin`, `socket` or `process` (`kind`); `texts` are a path's values."""

    kind: str
    texts: Texts = ()


class Bound(msgspec.Struct, frozen=True):
    """A method of a value."""

    of: "Value"
    name: str


Value: TypeAlias = "Texts | list[Value] | dict[str, Value] | Ref | Thing | Bound | Function | None"


def texts(value: Value) -> Texts:
    """Return the possible strings of a value."""
    if isinstance(value, tuple):
        return value
    return value.texts if isinstance(value, Thing) and value.texts else ANY


def join(parts: Sequence[Texts], glue: str = "") -> Texts:
    """Return all ways to join strings, or `ANY` if too many."""
    count = size = 1
    for part in parts:
        count *= len(part)
        size += max(len(text) for text in part) + len(glue)
    if count > MOST or size * count > LONGEST:
        return ANY
    return tuple(dict.fromkeys(glue.join(found) for found in itertools.product(*parts)))


def join_paths(parts: Sequence[Texts]) -> Texts:
    """Join paths; an absolute one restarts."""
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
    """Return the possible values of several alternatives."""
    found = [value for value in values if value is not None]
    if found and all(isinstance(value, tuple) for value in found):
        merged = tuple(dict.fromkeys(text for value in values for text in texts(value)))
        return merged if len(merged) <= MOST else ANY
    return found[0] if found else None


def fill(pattern: Texts, args: Sequence[Texts]) -> Texts:
    """Fill the placeholders of a format (`%s`, `{}`, `{0}`) in order."""
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
    "base85": lambda text: base64.b85decode(text).decode(),
    "ascii85": lambda text: base64.a85decode(text).decode(),
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
    """Decode known strings; `ANY` if impossible."""
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


_LAST = 0xD7FF  # the last code point before the surrogates
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "e": "\x1b", "\n": ""}
_CODE = re.compile(r"(?:x|u\{?|x\{)([0-9a-fA-F]{1,6})\}?\Z")


def unescape(text: str) -> str:
    r"""Return the character of an escape (`\n`, `\x41`, `\u{1f600}`)."""
    rest = text[1:]
    code = _CODE.match(rest)
    if code and int(code[1], 16) <= _LAST:
        return chr(int(code[1], 16))
    if rest[:1] in "01234567" and rest[1:2]:
        return chr(int(rest, 8) & 0xFF) if rest.isdigit() and not set(rest) & {"8", "9"} else rest
    return _ESCAPES.get(rest, rest)
