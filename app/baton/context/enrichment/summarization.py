"""The handler `summarization`: what was done lately in the project, in a few lines, without a model or by one.

The lines are extracted from records. Where a model is set it may put them into fewer words, within the same budget; if it
does not, the lines stand as they are. A session is told only what it was not told before.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import msgspec

from baton.context.enrichment.cap import tokens_of
from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt
from baton.context.enrichment.recent_work import RecentWork, Work, read
from baton.engine.call.principal import Principal
from baton.kernel.base.sql import Database
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.kernel.redis.session_keys import session_tag

SINCE = timedelta(days=3)
"""How far back work counts as recent."""
TOLD_S = 86_400
"""How long it is remembered what a session was told, in seconds."""
SHORTEST_FOR_MODEL = 60
"""Tokens below which no model is asked to make a text shorter."""
MODEL_S = 0.12
"""Longest that the model may take, in seconds: the lines must still be told within the handler's budget."""
VERSION = "lines-1"
"""The version of the wording, and of what a model is asked."""

Shorten = Callable[[str, float], Awaitable[tuple[str, str] | None]]
"""Asks a model to put lines into fewer words within so many seconds; returns its words and its name, None without."""
_encode = msgspec.msgpack.Encoder().encode


class Summarization:
    """Tells of recent work."""

    name = "summarization"
    heading = "Recent Work"

    def __init__(self, database: Database, redis: Redis) -> None:
        self._database = database
        self._redis = redis
        self._shorten: Shorten | None = None

    def use_model(self, shorten: Shorten) -> None:
        """Ask a model for fewer words from now on: models are built on a floor above this one."""
        self._shorten = shorten

    def forget(self, principal: Principal, session_id: str) -> None:
        """Forget what a session was told, which a new or compacted conversation does not know; nobody waits for it."""
        if session_id:
            self._redis.send(b"DEL", _told_key(principal, session_id))

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return the recent work of the prompt's own user in its project. Raise DatabaseUnavailable."""
        started = time.monotonic()
        if not prompt.project:
            return Enrichment()
        now = datetime.now(UTC)
        work = await read(self._database, prompt.principal, prompt.project, now - SINCE)
        if not work.facts or not await self._is_news(prompt, work):
            return Enrichment()
        lines = worded(work, now)
        found = Enrichment(text=lines, relevance=1.0, prompt_version=VERSION)
        if self._shorten is None or tokens_of(lines) < SHORTEST_FOR_MODEL:
            return found
        said = await self._shorten(lines, MODEL_S - (time.monotonic() - started))
        if said is None or not said[0].strip() or tokens_of(said[0]) >= tokens_of(lines):
            return msgspec.structs.replace(found, fallback_used=True)
        return msgspec.structs.replace(
            found, text=said[0], model_used=said[1], tokens_saved=tokens_of(lines) - tokens_of(said[0])
        )

    async def _is_news(self, prompt: EnrichmentPrompt, work: RecentWork) -> bool:
        """Return whether the session was not told these facts; note that it is told them now."""
        if not prompt.session_id:
            return True
        facts = blake2b(_encode(work.facts), digest_size=16).hexdigest().encode()
        try:
            before = await self._redis.call(
                b"SET", _told_key(prompt.principal, prompt.session_id), facts, b"EX", TOLD_S, b"GET"
            )
        except RedisUnavailable:
            return True
        return bool(before != facts)


def worded(work: RecentWork, now: datetime) -> str:
    """Return recent work as lines of markdown, the most telling first."""
    titles = ("Tests", "Edited", "Delegated", "Refused")
    lines = []
    for title, part in zip(titles, work.parts, strict=True):
        if part:
            lines.append(f"- {title}: " + "; ".join(_worded(title, one, now) for one in part))
    return "\n".join(lines)


def _worded(title: str, one: Work, now: datetime) -> str:
    state = f"by `{one.state}`" if title == "Refused" else one.state
    times = f"{one.times} times" if one.times > 1 else ""
    details = ", ".join(filter(None, (state, times, _ago(now - one.at))))
    return f"`{one.name}` ({details})"


def _ago(span: timedelta) -> str:
    minutes = max(0, int(span.total_seconds() // 60))
    if minutes < 1:
        return "just now"
    hours = minutes // 60
    return f"{hours} h ago" if hours else f"{minutes} min ago"


def _told_key(principal: Principal, session_id: str) -> bytes:
    return b"baton:told-work:" + session_tag(principal, session_id)
