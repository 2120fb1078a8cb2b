"""The breakers of the services that routing asks: counted, probed, shown, held by people. They ask no service themselves.

What is counted is shared through Redis; what people hold open or closed stands in SQL, so that it outlives Redis.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import partial
from typing import Literal

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import organisation_settings
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.people.permissions import require
from baton.records.pipeline.counters import Counters
from baton.route.llm.agreement import DAYS, Agreement
from baton.route.llm.breaker import Breaker, BreakerSeen, Held, Hold, Probe
from baton.route.llm.breaker_rules import Limits
from baton.route.llm.breaker_store import BreakerStore

log = logging.getLogger(__name__)

KIND = "breakers"
LOOK_S = 1.0
"""How often a process looks what the others know, and whether it is time to probe, in seconds."""
ASK_S = 60.0
"""How often a process counts what people said, in seconds."""
TIERS = frozenset({"model", "node"})
"""Breakers whose service chooses agents."""
CountAgreement = Callable[[Database, str, str, datetime], Awaitable[Agreement]]
"""Counts people's feedback on the routes of an organisation that a tier decided, since a moment."""


class Breakers:
    """All breakers of the server."""

    def __init__(
        self,
        database: Database,
        redis: Redis,
        changes: Changes,
        counters: Counters,
        *,
        organisation: str,
        agreement: CountAgreement,
    ) -> None:
        self._agreement = agreement
        self._database = database
        self._redis = redis
        self._changes = changes
        self._counters = counters
        self._organisation = organisation
        self._known: dict[str, Breaker] = {}
        self._loaded = False
        changes.on(KIND, self.load)

    def make(self, name: str, limits: Limits, probe: Probe) -> Breaker:
        """Make the breaker of a service; one that has the name of a routing tier is judged by people's feedback too."""
        store = BreakerStore(self._redis, self._organisation, name, limits)
        made = self._known[name] = Breaker(name, store, limits, probe, self._counters)
        return made

    async def load(self) -> None:
        """Read from SQL what people hold; a reset since the last time starts a breaker anew. Raises DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            value, _ = await organisation_settings.get(self._database, self._organisation, KIND)
            holds = msgspec.convert(value, dict[str, Hold])
            for name, breaker in self._known.items():
                hold = holds.get(name, Hold())
                if self._loaded and hold.resets != breaker.hold.resets:
                    breaker.agreement = Agreement()
                    await breaker.forget()
                breaker.hold = hold
        self._loaded = True

    async def run(self, stop: asyncio.Event) -> None:
        """Look after all breakers once a second until told to stop."""
        looks = [asyncio.create_task(_again_and_again(one.look, one.name, LOOK_S)) for one in self._known.values()]
        looks += [
            asyncio.create_task(_again_and_again(partial(self.ask_people, one), one.name, ASK_S))
            for one in self._known.values()
            if one.name in TIERS
        ]
        await stop.wait()
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)
        for breaker in self._known.values():
            await breaker.settle()

    async def ask_people(self, breaker: Breaker) -> None:
        """Count what people said of a tier's choices since its last reset. Raises DatabaseUnavailable."""
        recent = datetime.now(UTC) - timedelta(days=DAYS)
        since = max(recent, datetime.fromtimestamp(breaker.hold.reset_at, UTC))
        before = breaker.agreement
        breaker.agreement = found = await self._agreement(self._database, self._organisation, breaker.name, since)
        if found.holds_back != before.holds_back:
            how = "is held back" if found.holds_back else "is asked again"
            log.warning("`%s` %s: people call %d of %d choices right", breaker.name, how, found.right, found.judged)

    def find(self, principal: Principal) -> list[BreakerSeen]:
        """List all breakers. Raises Forbidden."""
        require(principal, "breakers.read")
        return self.seen()

    def seen(self) -> list[BreakerSeen]:
        """Show all breakers, by name."""
        return [self._known[name].seen() for name in sorted(self._known)]

    async def set(
        self, principal: Principal, name: str, action: Literal["open", "close", "reset"], reason: str
    ) -> BreakerSeen:
        """Hold a breaker open or closed until further notice, or leave it to fresh counts again.

        Raises:
            Forbidden: the role may not.
            NotFound: there is no such breaker.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "breakers.write")
        breaker = self._known.get(name)
        if breaker is None:
            near = get_close_matches(name, self._known, n=1)
            known = ", ".join(f"`{one}`" for one in sorted(self._known)) or "none is configured"
            raise NotFound(
                f"there is no breaker `{name}`" + (f"; did you mean `{near[0]}`?" if near else f"; there are: {known}")
            )
        async with self._changes.write(KIND, principal, f"breaker.{action}") as change:
            value, version = await organisation_settings.get_with(change.connection, self._organisation, KIND)
            holds = msgspec.convert(value, dict[str, Hold])
            before = holds.get(name, Hold())
            after = _hold(before, action)
            value = msgspec.to_builtins(holds | {name: after})
            await organisation_settings.put(change.connection, self._organisation, KIND, value, version + 1)
            await change.audit(
                name, before=msgspec.to_builtins(before), after=msgspec.to_builtins(after), reason=reason
            )
        log.warning("breaker `%s`: `%s` by %s", name, action, principal.user)
        return breaker.seen()


def _hold(before: Hold, action: Literal["open", "close", "reset"]) -> Hold:
    """Return what is held after a person's action."""
    held: dict[str, Held] = {"open": "open", "close": "closed", "reset": ""}
    return Hold(
        held=held[action],
        resets=before.resets + (action == "reset"),
        reset_at=time.time() if action == "reset" else before.reset_at,
    )


async def _again_and_again(look: Callable[[], Awaitable[None]], name: str, pause_s: float) -> None:
    while True:
        try:
            await look()
        except DatabaseUnavailable:
            log.debug("breaker `%s` could not be looked after: the database is away", name)
        except Exception:
            log.exception("breaker `%s` could not be looked after", name)
        await asyncio.sleep(pause_s)
