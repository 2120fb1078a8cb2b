"""Split a prompt that asks for several things: `review the diff, then write tests` is two."""

import re
from collections.abc import Iterator

from baton.engine.routing.actions import asks
from baton.engine.routing.text import bounded, read

MOST = 4
"""Parts of a prompt that are looked at; each costs as much as a prompt."""
LONGEST = 1_500
"""Characters of a prompt that may hold several: a longer one is a description of one thing, or holds a log."""
_LEAST_TERMS = 2
"""Telling words without which a part is not a request of its own."""
_OPENING = 4
"""Words of a part's beginning among which one must ask for something."""
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
    found = [text for text in _pieces(bounded(prompt).strip()) if len(read(text).terms) >= _LEAST_TERMS]
    return found[:MOST] if len(found) > 1 else []


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for match in _JOINT.finditer(text):
        after = text[match.end() : match.end() + 60]
        if match["end"] is not None or _begins(after):
            yield text[start : match.start()].strip()
            start = match.end()
    yield text[start:].strip()


def _begins(text: str) -> bool:
    """Return whether a request begins here: with what is to be done, after words like `please` at most."""
    stems = read(text).stems[:_OPENING]
    return any(asks(stem) for stem in stems[:1]) or (
        stems[:1] in (["pleas"], ["you"], ["let"]) and any(map(asks, stems))
    )
