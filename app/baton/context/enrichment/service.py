"""Enriches a prompt: calls all handlers concurrently, each within its budget, and caps their texts.

A late, failed or empty handler adds nothing, and no answer waits longer than `WHOLE_S`.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt, Handled, Handler, capped, tokens_of
from baton.kernel.base.errors import BatonError
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.redis.client import RedisUnavailable
from baton.lib.text.masking import mask
from baton.lib.text.quoting import harmless, visible

log = logging.getLogger(__name__)

EACH_S = 0.15
"""Time limit of one handler, in seconds."""
WHOLE_S = 0.2
"""Time limit of all of them together, in seconds."""
LONGEST = 12_000
"""Maximum characters kept of one handler's text: more than the token cap allows for any prose."""
LARGEST = 64_000
"""Maximum characters read of one handler's text; a longer one counts as failed."""
Outcome = Literal["kept", "dropped", "empty", "late", "failed"]


class HandlerRun(msgspec.Struct, frozen=True, kw_only=True):
    """One handler's result: its time, and the tokens of its text before the cap."""

    name: str
    heading: str
    outcome: Outcome
    latency_ms: float
    tokens: int = 0
    enrichment: Enrichment = Enrichment()
    """Its answer; `text` is safe to show, and "" unless the outcome is `kept`."""


class Enricher:
    """Calls the handlers."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._handlers = handlers
        self._abandoned: set[asyncio.Task[HandlerRun]] = set()

    async def enrich(self, prompt: EnrichmentPrompt) -> list[HandlerRun]:
        """Call all handlers; return their results in order, within `WHOLE_S`."""
        tasks = [asyncio.create_task(_run(one, prompt)) for one in self._handlers]
        try:
            await asyncio.wait(tasks, timeout=WHOLE_S)
        finally:
            # Not awaited: a handler that ignores its cancellation must not delay the prompt.
            for task in tasks:
                if not task.done():
                    task.cancel()
                    self._abandoned.add(task)
                    task.add_done_callback(self._abandoned.discard)
        runs = [
            task.result() if task.done() and not task.cancelled() else _late(handler)
            for handler, task in zip(self._handlers, tasks, strict=True)
        ]
        return _capped(runs)


async def _run(handler: Handler, prompt: EnrichmentPrompt) -> HandlerRun:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(EACH_S):
            said = await handler.enrich(prompt)
        text = _shown(said.text)
    except TimeoutError:
        return _late(handler)
    except (RedisUnavailable, DatabaseUnavailable, BatonError) as error:
        # Not at a visible level each time: an unavailable service affects every prompt, and is counted as degraded.
        log.debug("the enrichment `%s` gave nothing: %s", handler.name, error)
        return HandlerRun(name=handler.name, heading=handler.heading, outcome="failed", latency_ms=_ms_since(started))
    except Exception:
        log.exception("the enrichment `%s` failed", handler.name)
        return HandlerRun(name=handler.name, heading=handler.heading, outcome="failed", latency_ms=_ms_since(started))
    return HandlerRun(
        name=handler.name,
        heading=handler.heading,
        outcome="kept" if text else "empty",
        latency_ms=_ms_since(started),
        tokens=tokens_of(text) if text else 0,
        enrichment=msgspec.structs.replace(said, text=text),
    )


def _shown(text: str) -> str:
    """Return a handler's text without secrets, and unable to leave its section.

    Raises:
        ValueError: If it is too long to be read.
    """
    if len(text) > LARGEST:
        raise ValueError(f"{len(text)} characters are too many")
    # Remove invisible characters first: one within a secret would hide the secret from masking.
    return harmless(mask(visible(text)), LONGEST) if text.strip() else ""


def _late(handler: Handler) -> HandlerRun:
    return HandlerRun(name=handler.name, heading=handler.heading, outcome="late", latency_ms=EACH_S * 1000)


def _capped(runs: list[HandlerRun]) -> list[HandlerRun]:
    """Drop the texts beyond the cap, or cut the only remaining one."""
    said = {run.name: run for run in runs if run.outcome == "kept"}
    if not said:
        return runs
    kept = {
        one.name: one for one in capped([Handled(run.name, run.enrichment.text, run.tokens) for run in said.values()])
    }
    return [_fitted(run, kept.get(run.name)) if run.name in said else run for run in runs]


def _fitted(run: HandlerRun, kept: Handled | None) -> HandlerRun:
    text = kept.text if kept else ""
    if text == run.enrichment.text:
        return run
    return msgspec.structs.replace(
        run,
        outcome="kept" if kept else "dropped",
        tokens=kept.tokens if kept else run.tokens,
        enrichment=msgspec.structs.replace(run.enrichment, text=text),
    )


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
