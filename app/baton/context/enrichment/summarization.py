"""The handler `summarization`: recent work in the project, in a few lines, with or without a model.

The lines are extracted from records. A configured model may shorten them within the same budget; otherwise they stay as
they are. A session gets only news.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import msgspec

from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt, tokens_of
from baton.context.enrichment.recent_work import RecentWork, Work, read
from baton.kernel.base.sql import Database
from baton.kernel.redis.client import Redis, RedisUnavailable, session_tag
from baton.rules.call.call import Principal

SINCE = timedelta(days=3)
"""Maximum age of recent work."""
TOLD_S = 86_400
"""Retention of the work already mentioned to a session, in seconds."""
SHORTEST_FOR_MODEL = 60
"""Minimum tokens of a string shortened by a model."""
MODEL_S = 0.12
"""Time limit of the model, in seconds: the lines must still be returned within the handler's budget."""
VERSION = "lines-1"
"""The version of the wording, and of the model's instruction."""

Shorten = Callable[[str, float], Awaitable[tuple[str, str] | None]]
"""Asks a model to shorten lines within a time limit in seconds; returns its text and its name, or None."""
_encode = msgspec.msgpack.Encoder().encode


class Summarization:
    """Summarizes recent work."""

    name = "summarization"
    heading = "Recent Work"

    def __init__(self, database: Database, redis: Redis) -> None:
        self._database = database
        self._redis = redis
        self._shorten: Shorten | None = None

    def use_model(self, shorten: Shorten) -> None:
        """Use a model for shortening from now on: models are built in a higher layer."""
        self._shorten = shorten

    def forget(self, principal: Principal, session_id: str) -> None:
        """Forget the work mentioned to a session, for a new or compacted conversation; without waiting."""
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
        """Return whether these facts are new to the session; record them as mentioned."""
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
    """Return recent work as lines of markdown, the most informative first."""
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
    return b"{baton}:told-work:" + session_tag(principal, session_id)
