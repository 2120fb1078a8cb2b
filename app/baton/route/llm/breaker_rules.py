"""The rules of a breaker: when counts of slow and failed calls open it, for how long, and how probes close it. Pure.

"The 95th percentile is above 80 ms" says the same as "more than 5 % of the calls took longer", so calls are counted, in
buckets of time: sums of several processes merge exactly, percentiles do not.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

Phase = Literal["closed", "open", "half_open"]
"""Who asks the service: everybody (closed), nobody (open), one background probe alone (half_open)."""

SLOW_SHARE = 1 / 20  # more slow calls than this open it: the 95th percentile's rest
FAILED_SHARE = 1 / 2  # more failed calls than this open it, however fast they failed
PROBES = 3  # probes that must all be good before it closes
FIRST_OPEN = 1 / 10  # the share of `open_s` that it is open for the first time, with the Wilson bound
LEASE_S = 10.0  # how long one process has the probing to itself, in seconds; another takes it over when that one died
WINDOW = 100  # the number of recent calls that a breaker judges
BUCKET_S = 1.0  # the longest time that a bucket counts, in seconds
BUCKETS = 10  # parts of a full window: a bucket is also full after `window / BUCKETS` calls
_Z = 1.96  # 95 % confidence


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a breaker opens, and for how long.

    Calls over `slow_ms` count as slow. It judges the last `window` calls, from a minimum of `least`, and opens for
    `open_s` seconds at most. The lower bound of the Wilson interval must be above the allowed share.
    """

    slow_ms: float = 80
    window: int = WINDOW
    least: int = 10
    open_s: float = 300


class Bucket(msgspec.Struct, frozen=True, array_like=True):
    """Counts of calls from a moment on (Unix time)."""

    at: float
    calls: int
    slow: int
    failed: int


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The shared state of all processes; timestamps in Unix time.

    `times` counts consecutive openings, `passed` consecutive good probes. From `leased_until` on, another process may
    take over probing.
    """

    phase: Phase = "closed"
    since: float = 0
    until: float = 0
    times: int = 0
    passed: int = 0
    leased_until: float = 0
    cause: str = ""


def add(buckets: Sequence[Bucket], now: float, *, slow: bool, failed: bool, limits: Limits) -> list[Bucket]:
    """Return the buckets with a call counted, without the oldest ones outside the window.

    `breaker.lua` does the same in Redis; `tests/route/llm/test_breaker_store.py` compares the two.
    """
    kept = list(buckets)
    last = kept[-1] if kept else None
    if last is None or now >= last.at + BUCKET_S or last.calls >= bucket_calls(limits):
        kept.append(Bucket(now, 1, int(slow), int(failed)))
    else:
        kept[-1] = Bucket(last.at, last.calls + 1, last.slow + slow, last.failed + failed)
    total = sum(bucket.calls for bucket in kept)
    while total - kept[0].calls >= limits.window:
        total -= kept.pop(0).calls
    return kept


def bucket_calls(limits: Limits) -> int:
    """Return how many calls fill a bucket."""
    return max(limits.window // BUCKETS, 1)


def totals(buckets: Sequence[Bucket]) -> tuple[int, int, int]:
    """Return the sums of calls, slow and failed ones."""
    return sum(b.calls for b in buckets), sum(b.slow for b in buckets), sum(b.failed for b in buckets)


def wilson_lower(hits: int, calls: int) -> float:
    """Return the lower bound of the Wilson score interval (95 %) of a rate; 0 without calls.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927). With few calls it is
    far below `hits / calls`, so one slow call of ten opens nothing.
    """
    if not calls:
        return 0.0
    rate, z2 = hits / calls, _Z * _Z
    spread = _Z * math.sqrt(rate * (1 - rate) / calls + z2 / (4 * calls * calls))
    return max((rate + z2 / (2 * calls) - spread) / (1 + z2 / calls), 0.0)


def cause_to_open(buckets: Sequence[Bucket], limits: Limits) -> str:
    """Return why these counts open a breaker, "" if they do not."""
    calls, slow, failed = totals(buckets)
    if calls < limits.least:
        return ""
    for what, hits, share in ((f"took longer than {limits.slow_ms:g} ms", slow, SLOW_SHARE),
                              ("failed", failed, FAILED_SHARE)):  # fmt: skip
        if wilson_lower(hits, calls) > share:
            return f"{hits} of {calls} calls {what}"
    return ""


def judged(state: State, buckets: Sequence[Bucket], now: float, limits: Limits) -> State:
    """Return the state after a call was counted: a closed one may open, any other stays."""
    cause = cause_to_open(buckets, limits) if state.phase == "closed" else ""
    if not cause:
        return state
    # A breaker closed for long starts with a short opening again.
    again = state.times if now - state.since < limits.open_s else 0
    return opened(again, now, cause, limits)


def opened(times: int, now: float, cause: str, limits: Limits) -> State:
    """Return the open state after `times` openings in a row; each lasts twice as long as the one before, `open_s` at most."""
    lasts = min(
        limits.open_s * FIRST_OPEN * 2 ** min(times, 30), limits.open_s
    )  # 30 keeps the power in the range of a float
    return State(phase="open", since=now, until=now + lasts, times=times + 1, cause=cause)


def leased(state: State, now: float) -> State | None:
    """Return the state with one probing process; None if it is not time yet, or another process probes."""
    if state.phase == "closed" or now < max(state.until, state.leased_until):
        return None
    return msgspec.structs.replace(state, phase="half_open", since=now, until=0.0, passed=0, leased_until=now + LEASE_S)


def probed(state: State, now: float, limits: Limits, *, good: bool) -> State:
    """Return the state after a probe: a bad one opens it again for longer, the last of three good ones closes it."""
    if not good:
        return opened(state.times, now, "a probe failed or was slow", limits)
    if state.passed + 1 < PROBES:
        return msgspec.structs.replace(state, passed=state.passed + 1, leased_until=now + LEASE_S)
    return State(since=now, times=state.times)
