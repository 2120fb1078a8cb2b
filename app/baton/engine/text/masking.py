"""Mask secrets in a text by their shape (keys, tokens, passwords); a secret of no known shape stays."""

from functools import lru_cache
from typing import Any

import msgspec
import re2

LONGEST = 2_000
"""Characters of a masked text that are kept."""
WINDOW = 16_384
"""Characters of a text that are looked at."""

_LONGEST_KNOWN = 500
_EDGE = r"(^|[^A-Za-z0-9])"
_NAME = (
    r"(?:pass(?:word|wd|phrase)|[_-]pass|pwd|secrets?|token|credentials?|auth[_-]?key"
    r"|(?:api|access|private|signing|account|encryption|master|client)[_.-]?key)(?:\d*|[_.-][\w.-]*)"
)
_VALUE = r"""(?:"[^"\n]{8,}"|'[^'\n]{8,}'|["']?[^\s"'`;&|<>()]{8,})"""
_KEPT = re2.compile(r"""["'\\]*(?:\$(?:\w+|\{[^}]*\}?|\([^)]*\)?)|\[masked:[a-z-]+\])["'\\]*""")
"""Values that are no secret: a reference to a variable, and a mask."""


class _Shape(msgspec.Struct, frozen=True):
    """A shape: literals of which one must be in the lower-cased text, and a pattern whose second group is the secret."""

    name: str
    literals: tuple[str, ...]
    pattern: Any


def _shape(name: str, literals: str, pattern: str) -> _Shape:
    return _Shape(name, tuple(literals.split()), re2.compile(pattern))


_SHAPES = (
    _shape(
        "private-key", "private key", r"()(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?s:.*?)(?:-----END [A-Z0-9 ]*-----|\z))"
    ),
    _shape("url-password", "://", r"(://[^\s/?#:@\"'`]*:)([^\s/?#\"'`]+)@"),
    _shape("user-password", "curl wget", r"((?:^|\s)(?:-u|--user)[ =]?[\"']?[^\s:\"'$]+:)([^\s\"']+)"),
    _shape("bearer", "bearer", r"(?i)(\bbearer[ \t]+)([A-Za-z0-9._~+/=-]{8,})"),
    _shape("basic", "basic", r"(?i)(authorization[\"']?[ \t]*:[ \t]*basic[ \t]+)([A-Za-z0-9+/=_-]{8,})"),
    _shape("sk-key", "sk-", _EDGE + r"(sk-[A-Za-z0-9_-]{16,})"),
    _shape("baton-token", "baton_", _EDGE + r"(baton_[0-9a-f]{12}_[0-9a-f]{16,})"),
    _shape("aws-key", "akia asia", _EDGE + r"((?:AKIA|ASIA)[A-Z0-9]{16,})"),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _EDGE + r"(gh[pousr]_[A-Za-z0-9_]{16,})"),
    _shape("github-pat", "github_pat_", r"()(github_pat_[A-Za-z0-9_]{16,})"),
    _shape("slack-token", "xox", _EDGE + r"(xox[a-z]-[A-Za-z0-9-]{8,})"),
    _shape("stripe-key", "k_live_ k_test_ whsec_", _EDGE + r"((?:[spr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{8,})"),
    _shape("google-key", "aiza", _EDGE + r"(AIza[A-Za-z0-9_-]{30,})"),
    _shape("jwt", "eyj", _EDGE + r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"),
    _shape(
        "key-value",
        "pass pwd secret token credential key",
        rf"""(?i)({_NAME}[\\"']*\s*(?:=>|=|:)\s*\\*|--[\w-]*{_NAME}[ \t]+)({_VALUE})""",
    ),
)


_LITERALS = tuple(dict.fromkeys(literal for shape in _SHAPES for literal in shape.literals))


def suspicious(text: str) -> bool:
    """Return whether masking may change a text; most texts have nothing that any shape begins with."""
    return _known(text) if len(text) <= _LONGEST_KNOWN else _suspicious(text)


def _suspicious(text: str) -> bool:
    lower = text.lower()
    for literal in _LITERALS:  # noqa: SIM110 - the quickest way to know
        if literal in lower:
            return True
    return False


_known = lru_cache(maxsize=4_096)(_suspicious)
"""Agents name the same projects, files and commands again and again."""


def mask(text: str, window: int = WINDOW) -> str:
    """Replace each secret by `[masked:shape]`. Takes time linear in the text; masking twice changes nothing more.

    Of a text longer than `window` characters only the beginning comes back.
    """
    if not text:
        return text
    if len(text) > window:
        # What is cut off may be the end of a secret: its beginning goes too.
        text = text[:window].rpartition(" ")[0] or text[:window]
    if not suspicious(text):
        return text
    lower = text.lower()
    for shape in _SHAPES:
        if any(literal in lower for literal in shape.literals):
            text = _replace(shape, text)
    return text


def mask_json(value: Any) -> Any:
    """Mask every text within a JSON value, whatever its length; keys stay."""
    if isinstance(value, str):
        return mask(value, len(value))
    if isinstance(value, dict):
        return {key: mask_json(part) for key, part in value.items()}
    return [mask_json(part) for part in value] if isinstance(value, list) else value


def mask_and_cut(text: str, longest: int = LONGEST) -> str:
    """Mask a text, then cut it: the other way round a secret at the border would escape."""
    text = mask(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def mask_and_cut_bytes(text: str, longest: int) -> str:
    """Mask a storable text, then cut it to so many bytes of UTF-8."""
    found = mask(text, longest)
    encoded = found.encode()
    if len(encoded) <= longest and len(text) <= longest:
        return found
    return encoded[: longest - len("…".encode())].decode("utf-8", "ignore") + "…"


def _replace(shape: _Shape, text: str) -> str:
    parts, done = [], 0
    for found in shape.pattern.finditer(text):
        start, end = found.span(2)
        if _KEPT.fullmatch(found[2]) or (found[1].lower() == "pwd=" and found[2][0] in "/~"):
            continue
        quote = found[2][0]
        if quote in "\"'":
            end = start + len(found[2].removesuffix(quote).rstrip("\\"))
            start += 1
        parts += [text[done:start], f"[masked:{shape.name}]"]
        done = end
    return "".join([*parts, text[done:]])
