"""The table of token prefixes, each with its source, compiled into RE2 alternations."""

from collections.abc import Iterator
from importlib.resources import files

import msgspec
import re2

from baton.lib.text.secrets.names import WORD, SecretSpan, looks_random


class TokenKind(msgspec.Struct, frozen=True):
    """One kind of token.

    Attributes:
        name: The mask's name.
        prefixes: The literal prefixes, separated by spaces; case-sensitive.
        body: The character class after the prefix.
        source: The page documenting the prefix.
        least: Minimum characters after the prefix; one is enough at the end of a string, which may be cut there.
        common: Whether ordinary words share the prefix (`sk-learn`, `npm_config_cache`): the rest must look random.
    """

    name: str
    prefixes: str
    body: str
    source: str
    least: int = 6
    common: bool = False


def _rows(name: str) -> Iterator[list[str]]:
    lines = files("baton.lib.text.secrets").joinpath(name).read_text("utf-8").splitlines()
    return (line.split("\t") for line in lines if not line.startswith("#"))


TOKENS = [
    TokenKind(name, prefixes, body, source, int(least), bool(common))
    for name, prefixes, body, source, least, common in _rows("tokens.tsv")
]
_SHAPES = [(name, pattern) for name, pattern, _source in _rows("shapes.tsv")]


# The longest prefix first: RE2 and `_kind` take the first match.
_PREFIXES = sorted(
    [(prefix, kind) for kind in TOKENS for prefix in kind.prefixes.split()], key=lambda pair: -len(pair[0])
)
_BY_PREFIX = [(prefix.encode(), kind) for prefix, kind in _PREFIXES]


def _alternation(*, common: bool) -> str:
    return "|".join(f"{re2.escape(prefix)}{kind.body}+" for prefix, kind in _PREFIXES if kind.common is common)


# Two alternations: a rejected common prefix must not swallow a certain one after it (`task-ghp_…`).
_CERTAIN = _alternation(common=False)
_COMMON = _alternation(common=True)
_FORMS = "|".join(pattern for _, pattern in _SHAPES)
TRIGGERS = {"certain": f"(?:{_CERTAIN})", "common": f"(?:{_COMMON})", "forms": f"(?:{_FORMS})"}
"""For the pre-filter: one pattern per alternation."""
_certain = re2.compile(_CERTAIN.encode())
_common = re2.compile(_COMMON.encode())
_forms = re2.compile(_FORMS.encode())
_LEAST_AT_END = 4
_HEX_AT_END = 6


def find_prefixed(data: bytes, which: str) -> Iterator[SecretSpan]:
    """Find the tokens of one alternation in a string."""
    if which == "forms":
        for found in _forms.finditer(data):
            group = next(number for number in range(1, len(_SHAPES) + 1) if found.start(number) >= 0)
            yield SecretSpan(found.start(group), found.end(group), _SHAPES[group - 1][0], WORD)
        return
    for found in (_certain if which == "certain" else _common).finditer(data):
        start, end = found.span()
        prefix, kind = _kind(data[start : start + 32])
        if _is_token(kind, data, start, start + len(prefix), end):
            yield SecretSpan(start, end, kind.name, WORD)


def _kind(beginning: bytes) -> tuple[bytes, TokenKind]:
    return next(pair for pair in _BY_PREFIX if beginning.startswith(pair[0]))


def _is_token(kind: TokenKind, data: bytes, start: int, body: int, end: int) -> bool:
    cut = end == len(data)
    if not kind.common:
        return end - body >= kind.least or cut
    glued = start > 0 and data[start - 1 : start].isalnum()
    run = max(re2.split(rb"[^A-Za-z0-9]+", data[body:end]), key=len)
    if glued:
        return len(run) >= kind.least and looks_random(run)
    least = min(kind.least, 16)
    if cut and len(run) >= _HEX_AT_END and any(byte < b"A"[0] for byte in run):
        return True
    return len(run) >= least or (len(run) >= (_LEAST_AT_END if cut else 8) and looks_random(run))
