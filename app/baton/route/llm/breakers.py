"""All breakers of the services used by routing: refreshed, listed, and set by people.

Counts are shared through Redis; people's settings are stored in SQL, so that they outlive Redis.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database
from baton.kernel.changes import write
from baton.kernel.changes.announce import Changes
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.kernel.redis.client import Redis
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.users import require
from baton.records.pipeline.recorder import Counters
from baton.route.llm.breaker import Breaker, BreakerStatus, ManualSetting, ManualState, Probe
from baton.route.llm.breaker_rules import Limits
from baton.route.llm.breaker_store import BreakerStore
from baton.route.llm.client import DAYS, Agreement
from baton.rules.call.call import Principal

log = logging.getLogger(__name__)

KIND = "breakers"
TIERS = frozenset({"model", "node"})  # the breakers whose service chooses agents, named as the tiers of routing
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
        """Create a service's breaker. People's feedback counts for one named after a routing tier."""
        store = BreakerStore(self._redis, self._organisation, name, limits)
        made = self._known[name] = Breaker(name, store, limits, probe, self._counters)
        return made

    async def load(self) -> None:
        """Read people's settings from SQL. A new reset restarts a breaker. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            value, _ = await write.get(self._database, self._organisation, KIND)
            settings = msgspec.convert(value, dict[str, ManualSetting])
            for name, breaker in self._known.items():
                setting = settings.get(name, ManualSetting())
                # At the start every reset of the past is new to this process; none of them is to empty the counts again.
                if self._loaded and setting.resets != breaker.manual.resets:
                    await breaker.reset()
                breaker.manual = setting
        self._loaded = True

    def each(self) -> list[Breaker]:
        """Return every breaker. Each is refreshed by itself: a slow probe must not delay the others."""
        return list(self._known.values())

    async def settle(self) -> None:
        """Wait until everything is counted."""
        for breaker in self._known.values():
            await breaker.settle()

    async def count_agreements(self) -> None:
        """Count people's feedback on the choices of each tier. Raise DatabaseUnavailable."""
        for name in TIERS & self._known.keys():
            await self.count_agreement(self._known[name])

    async def count_agreement(self, breaker: Breaker) -> None:
        """Count people's feedback on a tier's choices since its last reset. Raise DatabaseUnavailable."""
        recent = datetime.now(UTC) - timedelta(days=DAYS)
        since = max(recent, datetime.fromtimestamp(breaker.manual.reset_at, UTC))
        before = breaker.agreement
        breaker.agreement = found = await self._agreement(self._database, self._organisation, breaker.name, since)
        if found.holds_back != before.holds_back:
            how = "is held back" if found.holds_back else "is asked again"
            log.warning("`%s` %s: people call %d of %d choices right", breaker.name, how, found.right, found.judged)

    def list_breakers(self, principal: Principal) -> list[BreakerStatus]:
        """List all breakers. Raise Forbidden if the role may not see them."""
        require(principal, "breakers.read")
        return self.statuses()

    def statuses(self) -> list[BreakerStatus]:
        """Return the status of every breaker, by name."""
        return [self._known[name].status() for name in sorted(self._known)]

    async def set(
        self, principal: Principal, name: str, action: Literal["open", "close", "reset"], reason: str
    ) -> BreakerStatus:
        """Hold a breaker open or closed until further notice, or return it to fresh counts.

        Raises:
            Forbidden: If the role may not set breakers.
            NotFound: If the breaker is unknown.
            StoreUnavailable: If the database is unavailable; nothing was changed.
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
            value, version = await write.get_with(change.connection, self._organisation, KIND)
            settings = msgspec.convert(value, dict[str, ManualSetting])
            before = settings.get(name, ManualSetting())
            after = _after(before, action)
            value = msgspec.to_builtins(settings | {name: after})
            await write.put(change.connection, self._organisation, KIND, value, version + 1)
            await change.audit(
                name, before=msgspec.to_builtins(before), after=msgspec.to_builtins(after), reason=reason
            )
        log.warning("breaker `%s`: `%s` by %s", name, action, principal.user)
        return breaker.status()


def _after(before: ManualSetting, action: Literal["open", "close", "reset"]) -> ManualSetting:
    held: dict[str, ManualState] = {"open": "open", "close": "closed", "reset": ""}
    return ManualSetting(
        held=held[action],
        resets=before.resets + (action == "reset"),
        reset_at=time.time() if action == "reset" else before.reset_at,
    )


# `/breakers`: the breakers of routing's services; people may hold them open or closed.

router = APIRouter(prefix="/breakers", tags=["breakers"])
BreakersOf = Annotated[Breakers, Depends(of(Breakers))]


class BreakerModel(BaseModel):
    """A breaker, with its counts since its last change."""

    name: str
    allows: bool  # whether the service is asked now
    state: Literal["closed", "open", "half_open"]
    held: Literal["", "open", "closed"]  # what a person has set; empty leaves it to the counts
    since: datetime | None = None
    open_until: datetime | None = None  # when it is probed next
    cause: str
    calls: int
    slow: int
    failed: int
    slow_ms: float  # a call that takes longer counts as slow, in milliseconds
    local: bool  # true while Redis is unavailable: this server alone knows it so
    judged: int
    """Choices of the last three days that people have judged; from twenty on, fewer than 60 % right hold it back."""
    right: int  # of these, the choices that people called right

    @classmethod
    def build(cls, status: BreakerStatus) -> "BreakerModel":
        """Show a breaker as the API does."""
        state = status.state
        return cls(
            name=status.name,
            allows=status.allows,
            state=status.held or state.phase,
            held=status.held,
            since=_moment(state.since),
            open_until=_moment(state.until) if state.phase == "open" else None,
            cause=state.cause,
            calls=status.calls,
            slow=status.slow,
            failed=status.failed,
            slow_ms=status.limits.slow_ms,
            local=status.local,
            judged=status.agreement.judged,
            right=status.agreement.right,
        )


class BreakersModel(BaseModel):
    """All breakers; none if routing uses no service."""

    items: list[BreakerModel]


class BreakerBody(BaseModel):
    """Why, for the audit log."""

    model_config = request_body({"reason": "the model is down for maintenance"})

    reason: str = Field("", max_length=1_000)


@router.get("", response_model_exclude_none=True)
async def list_breakers(caller: CallerOf, breakers: BreakersOf) -> BreakersModel:
    """List the breakers of the configured model, routing node and local models."""
    return BreakersModel(items=[BreakerModel.build(one) for one in breakers.list_breakers(caller.principal)])


@router.post("/{name}/open", dependencies=[ADMIN], response_model_exclude_none=True)
async def open_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Hold a breaker open: its service is not asked until it is closed or reset."""
    return BreakerModel.build(await breakers.set(caller.principal, name, "open", body.reason))


@router.post("/{name}/close", dependencies=[ADMIN], response_model_exclude_none=True)
async def close_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Hold a breaker closed: its service is asked however slow it is, until it is opened or reset."""
    return BreakerModel.build(await breakers.set(caller.principal, name, "close", body.reason))


@router.post("/{name}/reset", dependencies=[ADMIN], response_model_exclude_none=True)
async def reset_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Close a breaker, clear its counts, and let them control it again."""
    return BreakerModel.build(await breakers.set(caller.principal, name, "reset", body.reason))


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
