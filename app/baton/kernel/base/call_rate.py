"""How many calls one user may make: the generic cell rate algorithm. In Redis `history.lua` counts; here its stand-in.

It does not say what a refusal looks like: `baton.decide.service` does.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from baton.engine.call.principal import Principal

MOST = 10_000
"""Users whose calls a process counts while Redis is away."""


class CallRate:
    """`per_minute` calls on average, of which `burst` may come at once; 0 a minute is no limit. Times are in ms."""

    def __init__(self, per_minute: int, burst: int, now_s: Callable[[], float] = time.monotonic) -> None:
        self.interval = 60_000 / per_minute if per_minute else 0.0
        self.tolerance = self.interval * max(burst - 1, 0)
        self._now_s = now_s
        self._due: OrderedDict[tuple[str, str], float] = OrderedDict()

    def take(self, principal: Principal) -> int:
        """Count a call in this process alone; gives how long the user has to wait, 0 for a call that may be made."""
        if not self.interval:
            return 0
        key, now = (principal.organisation, principal.user), self._now_s() * 1000
        due = max(self._due.pop(key, now), now)
        wait = due - now - self.tolerance
        self._due[key] = due if wait > 0 else due + self.interval
        if len(self._due) > MOST:
            self._due.popitem(last=False)
        return max(int(wait) + 1, 1) if wait > 0 else 0


UNLIMITED = CallRate(0, 0)


@lru_cache(maxsize=4_096)
def rate_key(organisation: str, user: str) -> bytes:
    """Name what counts a user's calls in Redis."""
    text = f"{len(organisation)}:{organisation}{user}"
    return b"baton:rate:{%b}" % blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest().encode()
