"""What the session's next prompt says of edits that violated patterns: once, and only of patterns that still hold."""

from collections.abc import Callable

from baton.context.advisories.advisory import Advisory, line, rendered
from baton.context.advisories.store import MOST_SHOWN, Advisories
from baton.context.patterns.in_force import PatternsInForce
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.records.pipeline.building import advisories_record


class PromptAdvisories:
    """Hands a session's advisories to its prompt, and records that they were shown."""

    def __init__(self, advisories: Advisories, in_force: PatternsInForce, record: Callable[[Record], None]) -> None:
        self._record = record
        self._advisories = advisories
        self._in_force = in_force

    async def for_prompt(self, principal: Principal, session_id: str) -> str:
        """Return the text of the section, "" for none. Whatever is returned here is returned nowhere else.

        Raises:
            RedisUnavailable: Redis is away; what waits goes on waiting.
        """
        # Most teams have no pattern, and so no advisory: they pay for no trip to Redis.
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
