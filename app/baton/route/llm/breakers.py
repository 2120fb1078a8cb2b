"""All breakers of the services that routing asks: kept fresh, shown, and set by people.

What is counted is shared through Redis; what people set is stored in SQL, so that it outlives Redis.
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
from baton.route.llm.breaker import Breaker, BreakerStatus, ManualSetting, ManualState, Probe
from baton.route.llm.breaker_rules import Limits
from baton.route.llm.breaker_store import BreakerStore

log = logging.getLogger(__name__)

KIND = "breakers"
REFRESH_S = 1.0
"""How often a process reads what the others know, and whether it is time to probe, in seconds."""
AGREEMENT_S = 60.0
"""How often a process counts what people said, in seconds."""
TIERS = frozenset({"model", "node"})
"""The breakers whose service chooses agents, named as the tiers of routing."""
CountAgreement = Callable[[Database, str, str, datetime], Awaitable[Agreement]]
"""Counts people's feedback on the routes of an organisation that a tier decided, since a moment.

It is handed in, since feedback is kept a floor above this folder.
"""


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
        """Make the breaker of a service; people's feedback counts for one that has the name of a routing tier."""
        store = BreakerStore(self._redis, self._organisation, name, limits)
        made = self._known[name] = Breaker(name, store, limits, probe, self._counters)
        return made

    async def load(self) -> None:
        """Read from SQL what people have set; a reset since the last time starts a breaker anew. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            value, _ = await organisation_settings.get(self._database, self._organisation, KIND)
            settings = msgspec.convert(value, dict[str, ManualSetting])
            for name, breaker in self._known.items():
                setting = settings.get(name, ManualSetting())
                # At the start every reset of the past is new to this process; none of them is to empty the counts again.
                if self._loaded and setting.resets != breaker.manual.resets:
                    await breaker.reset()
                breaker.manual = setting
        self._loaded = True

    async def run(self, stop: asyncio.Event) -> None:
        """Keep all breakers fresh until told to stop. Each has tasks of its own: a slow probe must not delay the others."""
        tasks = [asyncio.create_task(_repeat(one.refresh, one.name, REFRESH_S)) for one in self._known.values()]
        tasks += [
            asyncio.create_task(_repeat(partial(self.count_agreement, one), one.name, AGREEMENT_S))
            for one in self._known.values()
            if one.name in TIERS
        ]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for breaker in self._known.values():
            await breaker.settle()

    async def count_agreement(self, breaker: Breaker) -> None:
        """Count what people said of a tier's choices since its last reset. Raise DatabaseUnavailable."""
        recent = datetime.now(UTC) - timedelta(days=DAYS)
        since = max(recent, datetime.fromtimestamp(breaker.manual.reset_at, UTC))
        before = breaker.agreement
        breaker.agreement = found = await self._agreement(self._database, self._organisation, breaker.name, since)
        if found.holds_back != before.holds_back:
            how = "is held back" if found.holds_back else "is asked again"
            log.warning("`%s` %s: people call %d of %d choices right", breaker.name, how, found.right, found.judged)

    def find(self, principal: Principal) -> list[BreakerStatus]:
        """List all breakers. Raise Forbidden if the role may not see them."""
        require(principal, "breakers.read")
        return self.statuses()

    def statuses(self) -> list[BreakerStatus]:
        """Return the status of every breaker, by name."""
        return [self._known[name].status() for name in sorted(self._known)]

    async def set(
        self, principal: Principal, name: str, action: Literal["open", "close", "reset"], reason: str
    ) -> BreakerStatus:
        """Hold a breaker open or closed until further notice, or leave it to fresh counts again.

        Raises:
            Forbidden: If the role may not set breakers.
            NotFound: If there is no such breaker.
            StoreUnavailable: If the database is away; nothing was changed.
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
            settings = msgspec.convert(value, dict[str, ManualSetting])
            before = settings.get(name, ManualSetting())
            after = _after(before, action)
            value = msgspec.to_builtins(settings | {name: after})
            await organisation_settings.put(change.connection, self._organisation, KIND, value, version + 1)
            await change.audit(
                name, before=msgspec.to_builtins(before), after=msgspec.to_builtins(after), reason=reason
            )
        log.warning("breaker `%s`: `%s` by %s", name, action, principal.user)
        return breaker.status()


def _after(before: ManualSetting, action: Literal["open", "close", "reset"]) -> ManualSetting:
    """Return the setting after a person's action."""
    held: dict[str, ManualState] = {"open": "open", "close": "closed", "reset": ""}
    return ManualSetting(
        held=held[action],
        resets=before.resets + (action == "reset"),
        reset_at=time.time() if action == "reset" else before.reset_at,
    )


async def _repeat(work: Callable[[], Awaitable[None]], name: str, pause_s: float) -> None:
    while True:
        try:
            await work()
        except DatabaseUnavailable:
            log.debug("breaker `%s` was not refreshed: the database is away", name)
        except Exception:
            log.exception("breaker `%s` was not refreshed", name)
        await asyncio.sleep(pause_s)
