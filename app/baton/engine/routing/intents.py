"""Split a prompt that asks for several things: `review the diff, then write tests` is two."""

import re

from baton.engine.routing.actions import asks
from baton.engine.routing.words.text import bounded, read, stems

MOST = 4
"""Parts of a prompt that are looked at; each costs as much as a prompt."""
LONGEST = 600
"""Characters of a prompt that may hold several: a longer one is a description of one thing, or holds a log."""
_LEAST_TERMS = 2
"""Telling words without which a part is not a request of its own."""
_MOST_PIECES = 8
"""Pieces of a prompt above which it is prose, and not a list of requests."""
_FIRST = re.compile(r"(?:(?:please|you|let['\u2019]?s|could|can)\s+)*(?P<word>[A-Za-z]+)", re.IGNORECASE)
# `and` and a comma join words as often as requests: a part begins there only where it begins with what is to be done.
_JOINT = re.compile(
    r"(?P<end>[.;!?]\s+|\s*\n\s*(?:[-*\u2022]\s+|\d{1,2}[.)]\s+)?|[\u3002\uff1b\uff01\uff1f])"
    r"|,?\s+(?:and\s+|und\s+|et\s+|y\s+|e\s+)?(?:then|also|afterwards|after\s+that|finally|dann|ensuite|puis|luego"
    r"|depois)\s+|,?\s+(?:and|plus|und|et|y|e)\s+|,\s+",
    re.IGNORECASE,
)


def parts(prompt: str) -> list[str]:
    """Return the requests of a prompt in their order; an empty list for a prompt of one."""
    if len(prompt) > LONGEST:
        return []
    pieces = _pieces(bounded(prompt).strip())
    if not 1 < len(pieces) <= _MOST_PIECES:
        return []
    found = [text for text in pieces if len(read(text).terms) >= _LEAST_TERMS]
    return found[:MOST] if len(found) > 1 else []


def _pieces(text: str) -> list[str]:
    start, found = 0, []
    for match in _JOINT.finditer(text):
        if match["end"] is not None or _begins(text, match.end()):
            found.append(text[start : match.start()].strip())
            start = match.end()
    return [*found, text[start:].strip()]


def _begins(text: str, at: int) -> bool:
    """Return whether a request begins here: with what is to be done, or a polite word before it."""
    first = _FIRST.match(text, at)
    return first is not None and asks(stems(first["word"])[0])
