"""One call of a model or a node behind its breaker: timed, counted, and never raising."""

import logging
import time
from collections.abc import Awaitable
from typing import TypeVar

from baton.route.llm.breaker import Breaker
from baton.route.llm.client import ModelFailed

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


async def guarded(breaker: Breaker, work: Awaitable[Answer]) -> Answer | None:
    """Await a call and count it. Return None if it failed. A call abandoned by its caller is not counted."""
    started = time.perf_counter()
    try:
        answer = await work
    except ModelFailed as error:
        breaker.count(_ms_since(started), error.kind, timed_out=error.kind == "timeout", failed=True)
        log.debug("`%s` gave no answer: %s", breaker.name, error)
        return None
    except Exception:
        breaker.count(_ms_since(started), "broken", failed=True)
        log.exception("`%s` could not be asked", breaker.name)
        return None
    breaker.count(_ms_since(started), "answered")
    return answer


async def timed(work: Awaitable[object]) -> float | None:
    """Await a probe. Return its duration in milliseconds, None if it failed."""
    started = time.perf_counter()
    try:
        await work
    except ModelFailed:
        return None
    return _ms_since(started)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
