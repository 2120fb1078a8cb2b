"""One breaker: says at once whether a service may be asked, counts its calls, and probes it when it was left alone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from baton.records.pipeline.recorder import Counters
from baton.route.llm.breaker_rules import Limits, State, judged, leased, probed, totals
from baton.route.llm.breaker_store import BreakerStore, Snapshot
from baton.route.llm.client import Agreement

log = logging.getLogger(__name__)

ManualState = Literal["", "open", "closed"]  # what a person has set; "" leaves it to the counts
Probe = Callable[[], Awaitable[float | None]]
"""Asks the service something small; returns the milliseconds that it took, None if it failed."""


class ManualSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A person's setting of a breaker. `resets` counts the resets, `reset_at` is the last one's Unix time.

    Its fields equal the JSON in SQL.
    """

    held: ManualState = ""
    resets: int = 0
    reset_at: float = 0


class BreakerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A breaker as this process knows it. `local` is True while Redis is unavailable."""

    name: str
    allows: bool
    state: State
    held: ManualState
    calls: int
    slow: int
    failed: int
    limits: Limits
    local: bool
    agreement: Agreement


class Breaker:
    """The breaker of one service. A person's setting goes before the counts, and they before people's feedback."""

    def __init__(self, name: str, store: BreakerStore, limits: Limits, probe: Probe, counters: Counters) -> None:
        self.name = name
        self.manual = ManualSetting()
        self.agreement = Agreement()  # what people said of the service's choices in the last days
        self._store = store
        self._limits = limits
        self._probe = probe
        self._counters = counters
        self._counting: set[asyncio.Task[None]] = set()

    @property
    def allows(self) -> bool:
        """Whether the service may be asked now, from this process's last read: no prompt waits for Redis here."""
        if self.manual.held:
            return self.manual.held == "closed"
        return self._store.snapshot.state.phase == "closed" and not self.agreement.holds_back

    def count(self, took_ms: float, outcome: str, *, timed_out: bool = False, failed: bool = False) -> None:
        """Count a call in the background. A timeout counts as slow and as failed."""
        self._counters.model_calls[self.name, outcome] += 1
        slow = timed_out or took_ms > self._limits.slow_ms
        task = asyncio.create_task(self._count(slow=slow, failed=failed or timed_out))
        self._counting.add(task)
        task.add_done_callback(self._counting.discard)

    async def settle(self) -> None:
        """Wait until everything is counted."""
        await asyncio.gather(*self._counting)

    async def refresh(self) -> None:
        """Read other processes' state, and probe if it is time and no other process does."""
        snapshot = await self._store.read()
        mine = None if self.manual.held else leased(snapshot.state, snapshot.now)
        # Each swap fails if another process changed the state first: then the lease is that one's, and this one stops.
        while mine is not None and await self._swap(snapshot, mine) and mine.phase == "half_open":
            took_ms = await self._probe()
            good = took_ms is not None and took_ms <= self._limits.slow_ms
            snapshot = await self._store.read()
            mine = probed(snapshot.state, snapshot.now, self._limits, good=good) if snapshot.state == mine else None

    async def reset(self) -> None:
        """Restart: closed, nothing counted, no feedback."""
        self.agreement = Agreement()
        await self._store.forget()

    def status(self) -> BreakerStatus:
        """Return the breaker's state as known here."""
        snapshot = self._store.snapshot
        calls, slow, failed = totals(snapshot.buckets)
        return BreakerStatus(
            name=self.name,
            allows=self.allows,
            state=snapshot.state,
            held=self.manual.held,
            calls=calls,
            slow=slow,
            failed=failed,
            limits=self._limits,
            local=snapshot.local,
            agreement=self.agreement,
        )

    async def _count(self, *, slow: bool, failed: bool) -> None:
        snapshot = await self._store.count(slow=slow, failed=failed)
        state = judged(snapshot.state, snapshot.buckets, snapshot.now, self._limits)
        if state != snapshot.state and not self.manual.held:
            await self._swap(snapshot, state)

    async def _swap(self, before: Snapshot, state: State) -> bool:
        """Replace the state read before. Return False if another process has changed it."""
        if not await self._store.swap(before, state):
            return False
        # Only the process whose swap succeeds logs and counts a transition, so each is logged once.
        if state.phase != before.state.phase:
            self._counters.breaker_changes[self.name, state.phase] += 1
            level = logging.WARNING if state.phase == "open" else logging.INFO
            log.log(level, "breaker `%s` is %s%s", self.name, state.phase, f": {state.cause}" if state.cause else "")
        return True
