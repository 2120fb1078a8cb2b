"""Rate limits per user and worker, in memory. Hook calls are limited only without a valid token."""

import math
import time
from typing import Any, cast

from fastapi import Depends, Request
from limits import RateLimitItemPerMinute
from slowapi import Limiter
from slowapi.util import get_remote_address

from baton.kernel.base.errors import RateLimited
from baton.kernel.base.settings import Settings
from baton.people.callers import CallerOf

UNKNOWN_PER_MINUTE = 300  # calls per address with an invalid token: five a second, as of several agents


class RateLimits:
    """The tiers of one application, by user: `dependencies=[EXPENSIVE]`.

    slowapi's decorator counts a request once per route, after its body was read. Here each tier of a route counts,
    before the body is read, through the counters of slowapi's `Limiter.limiter`.
    """

    def __init__(self, settings: Settings) -> None:
        self._counters = Limiter(get_remote_address, storage_uri="memory://", strategy="moving-window").limiter
        most = {
            "admin": settings.admin_per_minute,
            "expensive": settings.expensive_per_minute,
            "work": settings.rate_per_minute,
            "unknown": UNKNOWN_PER_MINUTE,
        }
        self._tiers = {tier: RateLimitItemPerMinute(number) for tier, number in most.items() if number}

    def check(self, tier: str, who: str) -> None:
        """Count a request of a user. Raise RateLimited beyond the tier's limit; 0 means no limit."""
        limit = self._tiers.get(tier)
        if limit is None or self._counters.hit(limit, tier, who):
            return
        free_at, _ = self._counters.get_window_stats(limit, tier, who)
        wait = max(1, math.ceil(free_at - time.time()))
        raise RateLimited(
            f"{limit.amount} requests a minute are allowed here; try again in {wait} s", retry_after_s=wait
        )


def _tier(tier: str) -> Any:
    async def check(request: Request, caller: CallerOf) -> None:
        principal = caller.principal
        cast("RateLimits", request.app.state.limits).check(tier, f"{principal.organisation}/{principal.user}")

    return Depends(check)


async def _sign_in(request: Request) -> None:
    cast("RateLimits", request.app.state.limits).check("admin", f"sign-in from {get_remote_address(request)}")


ADMIN = _tier("admin")  # changes of shared state
EXPENSIVE = _tier("expensive")  # expensive reads and computations: long lists, replays, exports
WORK = _tier("work")  # requests as frequent as tool calls: starts, delegations and their results
SIGN_IN = Depends(_sign_in)  # calls without identity, counted by address
