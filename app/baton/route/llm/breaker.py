"""One breaker: tells without waiting whether a service may be asked, counts, probes. What people hold is told to it.

It asks no service itself but by the probe that it was made with.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from baton.records.pipeline.counters import Counters
from baton.route.llm.agreement import Agreement
from baton.route.llm.breaker_rules import Limits, State, judged, leased, probed, totals
from baton.route.llm.breaker_store import BreakerStore, Kept

log = logging.getLogger(__name__)

Held = Literal["", "open", "closed"]
"""What a person has set; "" leaves it to the counts."""
Probe = Callable[[], Awaitable[float | None]]
"""Asks the service something small; gives the milliseconds that it took, None when it failed."""


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has set for a breaker; each reset raises `resets`, `reset_at` is the last one's moment."""

    held: Held = ""
    resets: int = 0
    reset_at: float = 0


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
    agreement: Agreement


class Breaker:
    """Tells without waiting whether a service may be asked, and counts how that went."""

    def __init__(self, name: str, store: BreakerStore, limits: Limits, probe: Probe, counters: Counters) -> None:
        self.name = name
        self.hold = Hold()
        self.agreement = Agreement()
        """What people said of the service's choices in the last days."""
        self._store = store
        self._limits = limits
        self._probe = probe
        self._counters = counters
        self._counting: set[asyncio.Task[None]] = set()

    @property
    def allows(self) -> bool:
        """Tell whether the service may be asked now."""
        if self.hold.held:
            return self.hold.held == "closed"
        return self._store.kept.state.phase == "closed" and not self.agreement.holds_back

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
            agreement=self.agreement,
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
