"""Make a model's output safe to display: bounded, and unable to imitate the surrounding words or markup."""

import re
import unicodedata
from collections.abc import Iterable

from baton.lib.text.masking import mask, may_hold

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"^(\s*(?:(?:[>*+-]|\d{1,9}[.)])\s*)*)(#{1,6})(?=\s|$)")
_CODE_HEADING = re.compile(r"^(\s*)(#{2,})(?=\s|$)")
_UNDERLINE = re.compile(r"\s*(=+|-+)\s*")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_CLIENT_TAG = re.compile(
    r"<(?=/?(?:system|user-prompt|command-|local-command|function|tool|antml|assistant|human)\b)", re.IGNORECASE
)
_SPOKEN = re.compile(r"^(\s*)(?=\[Local Model Response|Delegated via local model)", re.IGNORECASE)
_MARKUP = str.maketrans("", "", "`<>[]#*|\\")
_KEPT_CONTROLS = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories of invisible and direction-changing characters."""


def one_line(text: str, longest: int) -> str:
    """Return a string as one line without markup, cut to `longest` characters."""
    shown = " ".join(visible(text[: longest * 4]).translate(_MARKUP).split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def visible(text: str) -> str:
    """Remove invisible characters: controls, direction marks, lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char in _KEPT_CONTROLS or unicodedata.category(char) not in _HIDDEN)


def harmless(text: str, longest: int) -> str:
    """Return a model's markdown without headings, tags, impersonation or open code fences.

    Fenced code stays, except headings of two and more hashes and the clients' own tags. The result has at most
    `longest` characters, plus a last fence and an ellipsis.
    """
    lines: list[str] = []
    fence, size, cut = "", 0, len(text) > longest
    for line in visible(text[:longest]).strip().split("\n"):
        clean, fence_after = _cleaned(line, fence, below_text=bool(lines and lines[-1].strip()))
        size += len(clean)
        if size > longest:
            cut = True
            if fence_after == fence:
                lines.append(clean[: len(clean) - (size - longest)])
            break
        size += 1
        fence = fence_after
        lines.append(clean)
    if fence:
        lines.append(fence)
    if cut:
        lines.append("…")
    return "\n".join(lines)


def _cleaned(line: str, fence: str, *, below_text: bool) -> tuple[str, str]:
    marks = _FENCE.match(line)
    if fence:
        closes = marks is not None and marks[1].startswith(fence) and not marks[2].strip()
        return (line, "") if closes else (_inside(line), fence)
    if marks and not (marks[1][0] == "`" and "`" in marks[2]):
        return marks[1] + one_line(marks[2], 40), marks[1]
    return _outside(line, below_text=below_text), ""


def _inside(line: str) -> str:
    line = _CODE_HEADING.sub(r"\1\\\2", _CLIENT_TAG.sub("&lt;", line), count=1) if "#" in line or "<" in line else line
    return _SPOKEN.sub(r"\1\\", line, count=1)


def _outside(line: str, *, below_text: bool) -> str:
    line = _TAG.sub("&lt;", line)
    if below_text and _UNDERLINE.fullmatch(line):
        return "\\" + line.strip()
    line = _HEADING.sub(r"\1\\\2", line)
    return _SPOKEN.sub(r"\1\\", line)


# Storable names of files and symbols: one visible line without markup and without a secret.

_NEVER_IN_NAMES = frozenset("`\n\t<>")


def is_plain(name: str) -> bool:
    """Return whether a name may be stored."""
    return name != "" and not _NEVER_IN_NAMES & set(name) and visible(name) == name and mask(name) == name


def first_odd(names: Iterable[str]) -> str | None:
    """Return the first name that may not be stored, or None. Usual names are checked all together."""
    listed = list(names)
    together = "\n".join(listed)
    usual = (
        "" not in listed
        and together.count("\n") == max(0, len(listed) - 1)  # no line break within a name
        and not _NEVER_IN_NAMES & (set(together) - {"\n"})
        and visible(together) == together
        and not may_hold(together)
    )
    return None if usual else next((name for name in listed if not is_plain(name)), None)
