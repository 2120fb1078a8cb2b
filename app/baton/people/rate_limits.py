"""How often one user may call the endpoints that administer, start work or cost much. Hook calls are not limited.

A route names its tiers: `@router.get("/decisions", dependencies=[EXPENSIVE])`. Each worker counts in its own memory, so
that counting waits for nothing.
"""

import math
import time
from typing import cast

from fastapi import Depends, Request
from limits import RateLimitItemPerMinute
from slowapi import Limiter
from slowapi.util import get_remote_address

from baton.kernel.base.errors import RateLimited
from baton.kernel.base.settings import Settings
from baton.people.callers import CallerOf


class Limits:
    """The tiers of one application, by user.

    slowapi's decorator counts a request once, for the route as a whole, and only after its body was read. Ours counts
    each tier of a route, before the body is read: it asks the counters that slowapi's `Limiter` offers as `limiter`.
    """

    def __init__(self, settings: Settings) -> None:
        self._counters = Limiter(get_remote_address, storage_uri="memory://", strategy="moving-window").limiter
        most = {
            "admin": settings.admin_per_minute,
            "expensive": settings.expensive_per_minute,
            "work": settings.rate_per_minute,
        }
        self._tiers = {tier: RateLimitItemPerMinute(number) for tier, number in most.items() if number}

    def check(self, tier: str, who: str) -> None:
        """Count a request of a user; a tier whose setting is 0 has no limit.

        Raises:
            RateLimited: The user has used up the tier for now.
        """
        limit = self._tiers.get(tier)
        if limit is None or self._counters.hit(limit, tier, who):
            return
        free_at, _ = self._counters.get_window_stats(limit, tier, who)
        wait = max(1, math.ceil(free_at - time.time()))
        raise RateLimited(
            f"{limit.amount} requests a minute are allowed here; try again in {wait} s", retry_after_s=wait
        )


async def _admin(request: Request, caller: CallerOf) -> None:
    _check("admin", request, caller)


async def _expensive(request: Request, caller: CallerOf) -> None:
    _check("expensive", request, caller)


async def _work(request: Request, caller: CallerOf) -> None:
    _check("work", request, caller)


async def _sign_in(request: Request) -> None:
    cast("Limits", request.app.state.limits).check("admin", f"sign-in from {get_remote_address(request)}")


def _check(tier: str, request: Request, caller: CallerOf) -> None:
    principal = caller.principal
    limits = cast("Limits", request.app.state.limits)
    limits.check(tier, f"{principal.organisation}/{principal.user}")


ADMIN = Depends(_admin)
"""What changes shared state."""
EXPENSIVE = Depends(_expensive)
"""What reads or computes much: long lists, replays, exports."""
WORK = Depends(_work)
"""What agents do as often as they call tools: starts, delegations, and what becomes of them."""
SIGN_IN = Depends(_sign_in)
"""What somebody calls who is not known yet; counted by address."""
