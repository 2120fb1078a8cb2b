"""An advisory: that an edit violated a pattern, as the session's next prompt says it."""

from collections.abc import Sequence

import msgspec

from baton.context.patterns.pattern import LONGEST_MESSAGE, LONGEST_SIGNATURE, one_line
from baton.context.patterns.rendering import percent

HEADING = "Pattern Advisory"
LONGEST_SHOWN_SIGNATURE = 80
"""Characters of a signature that is shown whole; of a longer one 77 and `...` are. Seed 004."""
_INTRO = "Recent edits of this session do not follow these patterns of the team; use your judgement."


class Advisory(msgspec.Struct, frozen=True, kw_only=True):
    """One violated pattern. `pattern_id` may be "" for what no stored pattern says."""

    pattern_id: str
    signature: str
    confidence: float
    message: str = ""


def rendered(advisories: Sequence[Advisory]) -> str:
    """Return the section's text, "" for no advisory."""
    return "\n".join([_INTRO, "", *map(line, advisories)]) if advisories else ""


def line(advisory: Advisory) -> str:
    """Return the line of one advisory."""
    signature = one_line(advisory.signature, LONGEST_SIGNATURE)
    if len(signature) > LONGEST_SHOWN_SIGNATURE:
        signature = signature[: LONGEST_SHOWN_SIGNATURE - 3] + "..."
    message = one_line(advisory.message, LONGEST_MESSAGE)
    return f"- **{signature}** ({percent(advisory.confidence)} confidence)" + (f": {message}" if message else "")
