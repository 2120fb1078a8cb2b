"""Sums what was put into prompts and what of it was used, and says which source is not worth its tokens."""

import asyncio
import math
from datetime import UTC, datetime, timedelta

import msgspec

from baton.context.enrichment.cap import tokens_of
from baton.context.utilization import store
from baton.context.utilization.store import Key, Sums
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, StoreUnavailable
from baton.kernel.base.pause import pause
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time.periods import start_of
from baton.people.row_scope import row_scope
from baton.records.pipeline.counters import Counters

FLUSH_S = 2.0
"""How often sums are stored, in seconds; a process that is killed loses those of its last ones."""
MOST_HELD = 20_000
"""Sums that are held while the database is away; further users and sources are not counted then."""
LONGEST_PERIOD = timedelta(days=366)
JUDGED = timedelta(days=7)
"""The period by which a source is judged: shorter ones hang on what somebody did that day."""
LEAST_USED = 0.1
"""The share of prompts below which a source is proposed to be switched off: nine of ten times it was paid for in vain."""
_Z = 1.96
"""Of the 95 % confidence with which the share must lie below `LEAST_USED`; that takes 35 prompts of which none used it."""


class SourceUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What one source cost and was worth. `proposal` is "" or says why it should be switched off."""

    source: str
    sums: Sums
    proposal: str = ""

    @property
    def tokens_per_prompt(self) -> float:
        """Tokens added to a prompt, on average of those that it added any to."""
        return round(self.sums.tokens / self.sums.prompts, 1) if self.sums.prompts else 0.0

    @property
    def utilization(self) -> float:
        """The share of injected identifiers that agents used, from 0 to 1."""
        return round(self.sums.reused / self.sums.injected, 4) if self.sums.injected else 0.0


class ContextUsage:
    """Counts in memory, and stores the sums every few seconds."""

    def __init__(self, database: Database, counters: Counters) -> None:
        self._database = database
        self._counters = counters
        self._held: dict[Key, Sums] = {}

    def added(self, principal: Principal, source: str, text: str) -> None:
        """Count what a source has added to a prompt."""
        tokens = tokens_of(text)
        self._counters.context_added(source, tokens)
        if (sums := self._of(principal, source)) is not None:
            sums.prompts += 1
            sums.tokens += tokens

    def measured(self, principal: Principal, source: str, *, injected: int, reused: int) -> None:
        """Count a measurement of what a source had added: identifiers that it named, and those that were used."""
        self._counters.context_measured(source, used=reused > 0)
        if (sums := self._of(principal, source)) is not None:
            sums.measured += 1
            sums.used += reused > 0
            sums.injected += injected
            sums.reused += reused

    async def find(
        self, principal: Principal, since: datetime | None = None, until: datetime | None = None, team: str = ""
    ) -> list[SourceUsage]:
        """Return what each source cost and was worth, for the prompts that a principal may see, the costliest first.

        Without a start it is the last seven days, by which a source is judged.

        Raises:
            Forbidden: If the role may not.
            Invalid: If the period is longer than 366 days.
            StoreUnavailable: If the database is away.
        """
        scope = row_scope(principal, "analytics.read")
        end, start = until or datetime.now(UTC), start_of(since, until)
        if end - start > LONGEST_PERIOD:
            raise Invalid("since", f"is more than {LONGEST_PERIOD.days} days before the end of the period")
        try:
            found = await store.find(self._database, principal.organisation, scope, start, end, team)
        except DatabaseUnavailable:
            raise StoreUnavailable("the use of contexts cannot be summed up now; try again") from None
        listed = [SourceUsage(source=name, sums=sums, proposal=proposal(name, sums)) for name, sums in found.items()]
        return sorted(listed, key=lambda one: (-one.sums.tokens, one.source))

    async def run(self, stop: asyncio.Event) -> None:
        """Store the sums every few seconds, and once more at the end."""
        while not stop.is_set():
            await pause(stop, FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Store what was counted; while the database is away it is held."""
        held, self._held = self._held, {}
        if not held:
            return
        try:
            await store.add(self._database, held)
        except DatabaseUnavailable:
            for key, sums in held.items():
                there = self._held.setdefault(key, Sums())
                for name in Sums.__struct_fields__:
                    setattr(there, name, getattr(there, name) + getattr(sums, name))

    def _of(self, principal: Principal, source: str) -> Sums | None:
        key = Key(principal.organisation, store.day_of(datetime.now(UTC)), principal.team, principal.user, source)
        if key not in self._held and len(self._held) >= MOST_HELD:
            return None
        return self._held.setdefault(key, Sums())


def proposal(source: str, sums: Sums) -> str:
    """Return why a source should be switched off, "" while it should not.

    The share of prompts in which something of it was used must lie below `LEAST_USED` with 95 % confidence (the upper bound
    of Wilson's interval), so that a few prompts of a new source prove nothing.
    """
    if not sums.measured or _upper(sums.used, sums.measured) >= LEAST_USED:
        return ""
    return (
        f"agents used something of `{source}` after {sums.used} of {sums.measured} prompts, for {sums.tokens} tokens; switch it"
        f" off with `baton context off {source}`"
    )


def _upper(used: int, measured: int) -> float:
    share, square = used / measured, _Z * _Z
    spread = _Z * math.sqrt(share * (1 - share) / measured + square / (4 * measured * measured))
    return (share + square / (2 * measured) + spread) / (1 + square / measured)
