"""The breakers of the services that routing asks: counted, probed, shown, held by people. They ask no service themselves.

What is counted is shared through Redis; what people hold open or closed stands in SQL, so that it outlives Redis.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import Any, Literal

import msgspec

from app.engine.breaker import Limits, State, judged, leased, probed, totals
from app.engine.principal import Principal
from app.errors import Conflict, NotFound, StoreUnavailable
from app.services.changes import Changes
from app.services.counters import Counters
from app.services.permissions import require
from app.store import audit, organisation_settings
from app.store import changes as numbers
from app.store.breaker import BreakerStore, Kept
from app.store.redis import Redis
from app.store.sql import Database, DatabaseUnavailable

log = logging.getLogger(__name__)

KIND = "breakers"
LOOK_S = 1.0
"""How often a process looks what the others know, and whether it is time to probe, in seconds."""
Held = Literal["", "open", "closed"]
"""What a person has set; "" leaves it to the counts."""
Probe = Callable[[], Awaitable[float | None]]
"""Asks the service something small; gives the milliseconds that it took, None when it failed."""
_AWAY = "breakers cannot be changed now; nothing was changed, try again"


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has set for a breaker; each reset raises `resets`."""

    held: Held = ""
    resets: int = 0


class BreakerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A breaker as this process knows it; times in seconds since 1970. `local` while Redis is away."""

    name: str
    allows: bool
    state: State
    held: Held
    calls: int
    slow: int
    failed: int
    limits: Limits
    local: bool


class Breaker:
    """Tells without waiting whether a service may be asked, and counts how that went."""

    def __init__(self, name: str, store: BreakerStore, limits: Limits, probe: Probe, counters: Counters) -> None:
        self.name = name
        self.hold = Hold()
        self._store = store
        self._limits = limits
        self._probe = probe
        self._counters = counters
        self._counting: set[asyncio.Task[None]] = set()

    @property
    def allows(self) -> bool:
        """Tell whether the service may be asked now."""
        return self.hold.held == "closed" if self.hold.held else self._store.kept.state.phase == "closed"

    def count(self, took_ms: float, outcome: str, *, timed_out: bool = False, failed: bool = False) -> None:
        """Count a call in the background. One that timed out counts as slow and as failed."""
        self._counters.model_calls[self.name, outcome] += 1
        slow = timed_out or took_ms > self._limits.slow_ms
        task = asyncio.create_task(self._count(slow=slow, failed=failed or timed_out))
        self._counting.add(task)
        task.add_done_callback(self._counting.discard)

    async def settle(self) -> None:
        """Wait until everything is counted."""
        await asyncio.gather(*self._counting)

    async def look(self) -> None:
        """See what other processes know, and probe when it is time and nobody else does."""
        kept = await self._store.look()
        mine = None if self.hold.held else leased(kept.state, kept.now)
        while mine is not None and await self._set(kept, mine) and mine.phase == "half_open":
            took_ms = await self._probe()
            good = took_ms is not None and took_ms <= self._limits.slow_ms
            kept = await self._store.look()
            mine = probed(kept.state, kept.now, self._limits, good=good) if kept.state == mine else None

    async def forget(self) -> None:
        """Start anew: closed, nothing counted."""
        await self._store.forget()

    def seen(self) -> BreakerSeen:
        """Show it."""
        kept = self._store.kept
        calls, slow, failed = totals(kept.buckets)
        return BreakerSeen(
            name=self.name,
            allows=self.allows,
            state=kept.state,
            held=self.hold.held,
            calls=calls,
            slow=slow,
            failed=failed,
            limits=self._limits,
            local=kept.local,
        )

    async def _count(self, *, slow: bool, failed: bool) -> None:
        kept = await self._store.count(slow=slow, failed=failed)
        state = judged(kept.state, kept.buckets, kept.now, self._limits)
        if state != kept.state and not self.hold.held:
            await self._set(kept, state)

    async def _set(self, seen: Kept, state: State) -> bool:
        if not await self._store.swap(seen, state):
            return False
        if state.phase != seen.state.phase:
            self._counters.breaker_changes[self.name, state.phase] += 1
            level = logging.WARNING if state.phase == "open" else logging.INFO
            log.log(level, "breaker `%s` is %s%s", self.name, state.phase, f": {state.cause}" if state.cause else "")
        return True


class Breakers:
    """All breakers of the server."""

    def __init__(
        self, database: Database, redis: Redis, changes: Changes, counters: Counters, *, organisation: str
    ) -> None:
        self._database = database
        self._redis = redis
        self._changes = changes
        self._counters = counters
        self._organisation = organisation
        self._known: dict[str, Breaker] = {}
        self._loaded = False
        changes.on(KIND, self.load)

    def make(self, name: str, limits: Limits, probe: Probe) -> Breaker:
        """Make the breaker of a service."""
        store = BreakerStore(self._redis, self._organisation, name, limits)
        made = self._known[name] = Breaker(name, store, limits, probe, self._counters)
        return made

    async def load(self) -> None:
        """Read from SQL what people hold; a reset since the last time starts a breaker anew. Raises DatabaseUnavailable."""
        holds, _ = await self._read()
        for name, breaker in self._known.items():
            hold = holds.get(name, Hold())
            if self._loaded and hold.resets != breaker.hold.resets:
                await breaker.forget()
            breaker.hold = hold
        self._loaded = True

    async def run(self, stop: asyncio.Event) -> None:
        """Look after all breakers once a second until told to stop."""
        looks = [asyncio.create_task(_look_after(breaker)) for breaker in self._known.values()]
        await stop.wait()
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)
        for breaker in self._known.values():
            await breaker.settle()

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
            Conflict: somebody else changed one at this moment.
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
        try:
            hold = await self._store(principal, name, action, reason)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if action == "reset":
            await breaker.forget()
        breaker.hold = hold
        self._changes.announce(KIND)
        log.warning("breaker `%s`: `%s` by %s", name, action, principal.user)
        return breaker.seen()

    async def _store(self, principal: Principal, name: str, action: str, reason: str) -> Hold:
        holds, version = await self._read()
        before = holds.get(name, Hold())
        held: dict[str, Held] = {"open": "open", "close": "closed", "reset": ""}
        hold = Hold(held=held[action], resets=before.resets + (action == "reset"))
        value: dict[str, Any] = msgspec.to_builtins(holds | {name: hold})
        async with self._database.transaction() as connection:
            if not await organisation_settings.put(connection, self._organisation, KIND, value, version + 1):
                raise Conflict("a breaker was changed at the same time; try again")
            await audit.add(
                connection,
                principal,
                action=f"breaker.{action}",
                kind="breaker",
                object=name,
                before=msgspec.to_builtins(before),
                after=msgspec.to_builtins(hold),
                reason=reason,
            )
            await numbers.raise_number(connection, self._organisation, KIND)
        return hold

    async def _read(self) -> tuple[dict[str, Hold], int]:
        value, version = await organisation_settings.get(self._database, self._organisation, KIND)
        return msgspec.convert(value, dict[str, Hold]), version


async def _look_after(breaker: Breaker) -> None:
    while True:
        try:
            await breaker.look()
        except Exception:
            log.exception("breaker `%s` could not be looked after", breaker.name)
        await asyncio.sleep(LOOK_S)
