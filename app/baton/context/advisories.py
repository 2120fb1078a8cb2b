"""Advisories for a session's next prompt about edits that violated patterns: once, and only of current patterns."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.injection import percent
from baton.context.patterns.pattern import LONGEST_MESSAGE, LONGEST_SIGNATURE, one_line
from baton.kernel.redis.client import Redis, Script, session_tag
from baton.records.pipeline.recorder import advisories_record
from baton.rules.call.call import Principal
from baton.rules.call.record import Record

# The advisories waiting for a session's next prompt, in Redis.

# An advisory about an edit that violated a pattern, in its wording for the session's next prompt.

HEADING = "Pattern Advisory"
LONGEST_SHOWN_SIGNATURE = 80
"""Maximum characters of a fully shown signature; a longer one is cut to 77 and `...`."""
_INTRO = "Recent edits of this session do not follow these patterns of the team; use your judgement."


class Advisory(msgspec.Struct, frozen=True, kw_only=True):
    """One violated pattern. `pattern_id` may be "" for advice without a stored pattern."""

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


MOST_KEPT = 10
"""Maximum stored advisories of a session, the newest."""
MOST_SHOWN = 5
"""Advisories of one prompt: the first of the stored ones; the others are dropped with them."""
STALE_S = 3_600
"""Maximum age of a session's last advisory, in seconds (inclusive); older ones are all outdated."""
KEPT_S = 86_400
"""Seconds before Redis removes unread advisories."""

_HERE = Path(__file__)
_ADD = Script.read(_HERE.with_name("add_advisory.lua"), most=MOST_KEPT, stale_s=STALE_S, kept_s=KEPT_S)
_TAKE = Script.read(_HERE.with_name("take_advisories.lua"), stale_s=STALE_S)
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Advisory).decode


class Advisories:
    """Each session's advisories. All methods raise `RedisUnavailable`."""

    def __init__(self, redis: Redis, now: Callable[[], float] = time.time) -> None:
        self._redis = redis
        self._now = now

    async def add(self, principal: Principal, session_id: str, advisories: Sequence[Advisory]) -> None:
        """Add advisories. For one pattern only the first stays; those without a pattern's id all do."""
        given: list[bytes] = []
        for one in advisories:
            given += (one.pattern_id.replace("\n", " ").encode(), _encode(one))
        if given:
            await self._redis.script(_ADD, _keys(principal, session_id), (repr(self._now()), *given))

    async def take(self, principal: Principal, session_id: str) -> list[Advisory]:
        """Return and delete the session's advisories in one step, the oldest first; at most `MOST_KEPT`."""
        found = await self._redis.script(_TAKE, _keys(principal, session_id), (repr(self._now()),))
        taken = []
        for entry in found:
            try:
                taken.append(_decode(entry.partition(b"\n")[2]))
            except msgspec.MsgspecError:  # written by another version of Baton
                continue
        return taken


def _keys(principal: Principal, session_id: str) -> list[bytes]:
    tag = session_tag(principal, session_id)
    return [b"{baton}:advisories:" + tag, b"{baton}:advised:" + tag]


class PromptAdvisories:
    """Adds a session's advisories to its prompt, and records that they were shown."""

    def __init__(self, advisories: Advisories, in_force: PatternsInForce, record: Callable[[Record], None]) -> None:
        self._record = record
        self._advisories = advisories
        self._in_force = in_force

    async def for_prompt(self, principal: Principal, session_id: str) -> str:
        """Return the text of the section, or "". It is returned only once. Raise RedisUnavailable."""
        # Most teams have no pattern, and so no advisory: they skip Redis.
        if not session_id or not self._in_force.count(principal.team):
            return ""
        taken = await self._advisories.take(principal, session_id)
        shown = [one for one in taken if self._holds(principal, one)][:MOST_SHOWN]
        if shown:
            self._record(advisories_record(principal, session_id, list(map(line, shown))))
        return rendered(shown)

    def _holds(self, principal: Principal, advisory: Advisory) -> bool:
        index = self._in_force.team(principal.team)
        return not advisory.pattern_id or (index is not None and advisory.pattern_id in index)
