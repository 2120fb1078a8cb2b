"""Enriches a prompt: asks all handlers at once, each within its budget, and caps what they say.

A handler that is late, breaks or has nothing to say adds nothing, and no answer waits for it longer than `WHOLE_S`.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from baton.context.enrichment.cap import Candidate, capped, tokens_of
from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt, Handler, HandlerFailed
from baton.engine.call.principal import Principal
from baton.engine.text.masking import mask
from baton.engine.text.quoting import harmless, visible
from baton.kernel.base.errors import BatonError
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.redis.client import RedisUnavailable

log = logging.getLogger(__name__)

EACH_S = 0.15
"""Longest that one handler may take, in seconds."""
WHOLE_S = 0.2
"""Longest that all of them together may take, in seconds."""
LONGEST = 12_000
"""Characters of one handler's text that are kept: more than the cap of tokens leaves of any prose."""
LARGEST = 64_000
"""Characters of one handler's text that are read; a handler that says more has failed."""
Outcome = Literal["kept", "dropped", "empty", "late", "failed"]


class HandlerRun(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one handler: its time, and the tokens of its text before the cap."""

    name: str
    heading: str
    outcome: Outcome
    latency_ms: float
    tokens: int = 0
    enrichment: Enrichment = Enrichment()
    """What it said; `text` is as it may be shown, and "" unless the outcome is `kept`."""


HandlersFor = Callable[[Principal], Sequence[Handler]]
"""Finds the handlers of a principal's prompts, in their order."""


class Enricher:
    """Asks the handlers of a principal."""

    def __init__(self, handlers_for: HandlersFor) -> None:
        self._handlers_for = handlers_for
        self._abandoned: set[asyncio.Task[HandlerRun]] = set()

    async def enrich(self, prompt: EnrichmentPrompt) -> list[HandlerRun]:
        """Ask all handlers; return what became of each, in their order, within `WHOLE_S`."""
        handlers = self._handlers_for(prompt.principal)
        if not handlers:
            return []
        tasks = [asyncio.create_task(_run(one, prompt)) for one in handlers]
        try:
            await asyncio.wait(tasks, timeout=WHOLE_S)
        finally:
            # Not awaited: a handler that takes no notice of its cancellation must not hold the prompt up.
            for task in tasks:
                if not task.done():
                    task.cancel()
                    self._abandoned.add(task)
                    task.add_done_callback(self._abandoned.discard)
        runs = [
            task.result() if task.done() and not task.cancelled() else _late(handler)
            for handler, task in zip(handlers, tasks, strict=True)
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
    except (HandlerFailed, RedisUnavailable, DatabaseUnavailable, BatonError) as error:
        # Not each time at a level that people read: what is away is away for every prompt, and counted as degraded.
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
    """Return a handler's text without secrets, and without what could leave its section.

    Raises:
        ValueError: If it is too long to be read.
    """
    if len(text) > LARGEST:
        raise ValueError(f"{len(text)} characters are too many")
    # What cannot be seen goes first: a secret with such a character in it would be found by nobody but the reader.
    return harmless(mask(visible(text)), LONGEST) if text.strip() else ""


def _late(handler: Handler) -> HandlerRun:
    return HandlerRun(name=handler.name, heading=handler.heading, outcome="late", latency_ms=EACH_S * 1000)


def _capped(runs: list[HandlerRun]) -> list[HandlerRun]:
    """Drop the texts that there is no room for, or cut the one that stays alone."""
    said = {run.name: run for run in runs if run.outcome == "kept"}
    if not said:
        return runs
    kept = {
        one.name: one for one in capped([Candidate(run.name, run.enrichment.text, run.tokens) for run in said.values()])
    }
    return [_fitted(run, kept.get(run.name)) if run.name in said else run for run in runs]


def _fitted(run: HandlerRun, kept: Candidate | None) -> HandlerRun:
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
