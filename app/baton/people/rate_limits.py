"""How often one caller may use the endpoints that administer, start work or cost much. It limits no hook's call.

A route names its tier: `@router.get("/decisions", dependencies=[EXPENSIVE])`. Each worker counts in its own memory, so
that counting waits for nothing.
"""

import math
import time
from typing import cast

from fastapi import Depends, Request
from slowapi import Limiter
from slowapi.errors import RateLimitExceeded

from baton.kernel.base.errors import RateLimited
from baton.kernel.base.settings import Settings
from baton.people.callers import CallerOf


def _who(request: Request) -> str:
    return cast("str", request.state.limited)


class Limits:
    """The tiers of one application, by user."""

    def __init__(self, settings: Settings) -> None:
        limiter = Limiter(key_func=_who, storage_uri="memory://", strategy="moving-window")

        async def admin(request: Request) -> None: ...

        async def expensive(request: Request) -> None: ...

        async def work(request: Request) -> None: ...

        most = {
            admin: settings.admin_per_minute,
            expensive: settings.expensive_per_minute,
            work: settings.rate_per_minute,
        }
        self._limiter = limiter
        self._checks = {
            check.__name__: limiter.shared_limit(f"{number}/minute", scope=check.__name__)(check)
            for check, number in most.items()
            if number
        }

    async def check(self, tier: str, request: Request, who: str) -> None:
        """Count a request.

        Raises:
            RateLimited: the caller has used up the tier for now.
        """
        if tier not in self._checks:
            return
        request.state.limited = who
        request.state._rate_limiting_complete = False  # noqa: SLF001 - another tier of this route came before
        try:
            await self._checks[tier](request)
        except RateLimitExceeded:
            limit, names = request.state.view_rate_limit
            free_at, _ = self._limiter.limiter.get_window_stats(limit, *names)
            wait = max(1, math.ceil(free_at - time.time()))
            raise RateLimited(
                f"{limit.amount} requests a minute are allowed here; try again in {wait} s", retry_after_s=wait
            ) from None


async def _admin(request: Request, caller: CallerOf) -> None:
    await _check("admin", request, caller)


async def _expensive(request: Request, caller: CallerOf) -> None:
    await _check("expensive", request, caller)


async def _work(request: Request, caller: CallerOf) -> None:
    await _check("work", request, caller)


async def _check(tier: str, request: Request, caller: CallerOf) -> None:
    principal = caller.principal
    limits = cast("Limits", request.app.state.limits)
    await limits.check(tier, request, f"{principal.organisation}/{principal.user}")


ADMIN = Depends(_admin)
"""What changes shared state."""
EXPENSIVE = Depends(_expensive)
"""What reads or computes much: long lists, replays, exports."""
WORK = Depends(_work)
"""What agents do as often as they call tools: starts, delegations, and what becomes of them."""
