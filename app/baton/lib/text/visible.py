"""Show invisible characters: terminal controls, direction changes, hidden characters."""

import json
import re

_UNSEEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)  # controls except tabs and line ends, Unicode's directions, joiners, tags and fillers, and surrogates


def visible(text: str) -> str:
    r"""Write each invisible character as its escape: `\u202e`. A JSON document keeps its value."""
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def shown(text: str, most: int) -> str:
    """Return a text for whoever decides on it: invisible characters as escapes, and what it leaves out."""
    text = visible(text)
    return text if len(text) <= most else f"{text[:most]}… {len(text) - most:,} more characters"
