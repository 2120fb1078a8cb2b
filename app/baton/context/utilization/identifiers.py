"""The identifiers of a text: what is compared between what was put into a prompt and what its agent did next.

A path is known by its file's name, so that `/home/ann/shop/src/cart.py` and `src/cart.py` are one; names that every folder has
bring their folder along. Words of prose count only where a text sets them in backticks: any two texts share words.
"""

import re
from collections.abc import Iterator
from typing import Any

MOST_INJECTED = 64
"""Identifiers of one section that are compared."""
MOST_USED = 300
"""Identifiers of one tool call that are compared."""
LONGEST_INPUT = 16_384
"""Characters of a tool call that are looked at."""
LONGEST = 64
"""Characters of an identifier; longer ones are hashes and data."""
_SHORTEST = 3
_DEEPEST = 4  # levels of an input; what lies deeper is data
_TOKEN = re.compile(r"[A-Za-z_$][\w$]*(?:[./\\:-]+[A-Za-z_$][\w$]*)*")
_CODE = re.compile(r"`([^`\n]{1,200})`")
_TELLING = re.compile(r"[A-Za-z0-9]_|_[A-Za-z]|[a-z][A-Z]|\w[./\\]\w")
_PIECE = re.compile(r"[\w$-]+")
_FILE = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|rb|rake|php|p[lm]|lua|exs?|cs|swift|[ch](?:pp|c)?|sql|sh|bash"
    r"|md|rst|txt|json|ya?ml|toml|ini|cfg|html?|s?css|proto|graphql|lock|ipynb|tf|xml)$",
    re.IGNORECASE,
)
_EVERYWHERE = frozenset(
    {"__init__.py", "__main__.py", "index.js", "index.ts", "index.tsx", "main.py", "mod.rs", "lib.rs", "api.py"}
)


def of_section(text: str) -> set[str]:
    """Return what a section names: whatever stands in backticks, and what else is shaped like an identifier."""
    found: dict[str, None] = {}
    for code in _CODE.findall(text):
        found.update(dict.fromkeys(_names(code, every=True)))
    for name in _names(_CODE.sub(" ", text), every=False):
        found.setdefault(name)
    return set(list(found)[:MOST_INJECTED])


def of_text(text: str) -> set[str]:
    """Return everything that a text may mean by an identifier, single words too."""
    return set(_some(_names(text[:LONGEST_INPUT], every=True), MOST_USED * 4))


def of_call(tool_input: dict[str, Any]) -> list[str]:
    """Return the identifiers of a tool call's input, its values only."""
    left, texts = LONGEST_INPUT, []
    for text in _texts(tool_input, 0):
        texts.append(text[:left])
        left -= len(texts[-1])
        if left <= 0:
            break
    return list(dict.fromkeys(_some(_names("\n".join(texts), every=True), MOST_USED * 4)))[:MOST_USED]


def _names(text: str, *, every: bool) -> Iterator[str]:
    """Yield the identifiers of a text; a dotted or slashed one is its file, or else its pieces."""
    for token in _TOKEN.findall(text):
        if not every and not _TELLING.search(token):
            continue
        path = token.replace("\\", "/")
        last = path.rpartition("/")[2]
        if _FILE.search(last):
            folder = path.rpartition("/")[0].rpartition("/")[2]
            # `index.ts` alone is a file of every package; its folder tells which.
            whole = f"{folder}/{last}" if last in _EVERYWHERE and folder else last
            if _SHORTEST <= len(whole) <= LONGEST:
                yield whole.lower()
        elif "/" not in path:
            for piece in _PIECE.findall(path):
                if _SHORTEST <= len(piece) <= LONGEST and (every or _TELLING.search(piece)):
                    yield piece.lower()


def _some(names: Iterator[str], most: int) -> Iterator[str]:
    for _, name in zip(range(most), names, strict=False):
        yield name


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for part in parts:
            yield from _texts(part, depth + 1)
