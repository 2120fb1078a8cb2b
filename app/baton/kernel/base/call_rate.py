"""Rate limit of one user's calls (GCRA), for while Redis (`history.lua`) is unavailable."""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from baton.rules.call.call import Principal

MOST = 10_000  # maximum number of users counted per process while Redis is unavailable


class CallRate:
    """Allow `per_minute` calls on average and `burst` at once. 0 per minute: no limit. Times are in ms."""

    def __init__(self, per_minute: int, burst: int, now_s: Callable[[], float] = time.monotonic) -> None:
        self.interval = 60_000 / per_minute if per_minute else 0.0
        self.tolerance = self.interval * max(burst - 1, 0)
        self._now_s = now_s
        self._due: OrderedDict[tuple[str, str], float] = OrderedDict()

    def count(self, principal: Principal) -> int:
        """Count a call in this process. Return the wait in ms, 0 if the call is allowed."""
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
    """Return the Redis key of a user's call counter."""
    text = f"{len(organisation)}:{organisation}{user}"
    return b"{baton}:rate:{%b}" % blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest().encode()
