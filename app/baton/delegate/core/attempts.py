"""The attempts of a job: runner, times, end and usage. A job's usage is their sum."""

from datetime import datetime
from typing import Any

import msgspec

from baton.delegate.core.job import Job

MOST_ATTEMPTS_KEPT = 20  # newest attempts kept per job. The usage of older ones remains in the job's sum.


class JobUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and reported cost (USD) of an attempt. `cached_tokens` are part of `input_tokens`."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Attempt(JobUsage, frozen=True, kw_only=True):
    """One attempt. `state` is empty while it runs, `lost` if another attempt took over the job."""

    attempt: int
    runner: str = ""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    state: str = ""
    error_code: str = ""


def attempts_of(job: Job) -> list[Attempt]:
    """Return a job's attempts, oldest first."""
    return [msgspec.convert(one, Attempt) for one in job.attempts]


def begun(job: Job, now: datetime) -> dict[str, Any]:
    """Return the changed columns of a newly leased job. Earlier attempts are over."""
    found = [
        one if one.ended_at else msgspec.structs.replace(one, ended_at=now, state="lost") for one in attempts_of(job)
    ]
    return _columns([*found, Attempt(attempt=job.attempt, runner=job.runner_id, began_at=now)])


def taken_back(job: Job) -> dict[str, Any]:
    """Return the changed columns after an undelivered lease. It does not count as an attempt."""
    return _columns([one for one in attempts_of(job) if one.attempt != job.attempt])


def ended(job: Job, state: str, error_code: str, now: datetime) -> dict[str, Any]:
    """Return the changed columns at the end of the running attempt."""
    found = attempts_of(job)
    if not found or found[-1].ended_at is not None or found[-1].attempt != job.attempt:
        return {}
    last = msgspec.structs.replace(found[-1], state=state, error_code=error_code, ended_at=now)
    return _columns([*found[:-1], last])


def used(job: Job, attempt: int, usage: JobUsage) -> dict[str, Any]:
    """Return the changed columns for an attempt's reported usage. Missing values keep their old ones."""
    found = attempts_of(job)
    at = next((place for place, one in enumerate(found) if one.attempt == attempt), None)
    if at is None:
        if found and attempt < found[0].attempt:
            return {}  # its attempt is no longer kept
        found = sorted([*found, Attempt(attempt=attempt, runner=job.runner_id)], key=lambda one: one.attempt)
        at = next(place for place, one in enumerate(found) if one.attempt == attempt)
    before = found[at]
    input_tokens = usage.input_tokens or before.input_tokens
    found[at] = after = msgspec.structs.replace(
        before,
        input_tokens=input_tokens,
        cached_tokens=min(usage.cached_tokens if usage.input_tokens else before.cached_tokens, input_tokens),
        output_tokens=usage.output_tokens or before.output_tokens,
        cost_usd=before.cost_usd if usage.cost_usd is None else usage.cost_usd,
    )
    values = _columns(found)
    for name in ("input_tokens", "cached_tokens", "output_tokens"):
        values[name] = getattr(job, name) + getattr(after, name) - getattr(before, name)
    if after.cost_usd is not None:
        values["cost_usd"] = max((job.cost_usd or 0.0) + after.cost_usd - (before.cost_usd or 0.0), 0.0)
    return values


def _columns(found: list[Attempt]) -> dict[str, Any]:
    return {"attempts": tuple(msgspec.to_builtins(one) for one in found[-MOST_ATTEMPTS_KEPT:])}
