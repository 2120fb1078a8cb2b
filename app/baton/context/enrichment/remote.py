"""Handlers of others, by URL: posted the prompt without its secrets, answered with a text, within the budget of every handler.

A handler is posted `{"prompt", "session_id", "project", "client", "budget_ms"}` and answers `{"text", "relevance", "model"}`, of which `text` alone must
be there.
"""

import logging
import time
from typing import Annotated

import httpx2
import msgspec

from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt, HandlerFailed
from baton.engine.text.masking import WINDOW, mask
from baton.kernel.http.guards.outbound_guard import OutboundRefused, destination

log = logging.getLogger(__name__)

MOST_BYTES = 128 * 1024
"""Bytes of an answer; a longer one counts as none."""
MOST_FAILURES = 5
"""Failures in a row after which a handler is left alone: each costs every prompt its whole budget."""
REST_S = 60.0
"""How long it is left alone, in seconds; then one prompt tries it again."""
BUDGET_MS = 150
_SUCCESS = range(200, 300)


class HandlerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A registered handler, as it is stored; `key` is sent as a bearer token and never shown."""

    name: str
    url: str
    heading: str
    key: str = ""

    def __repr__(self) -> str:
        return f"HandlerConfig({self.name})"


class _Answer(msgspec.Struct):
    text: str
    relevance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    model: Annotated[str, msgspec.Meta(max_length=200)] = ""


_answer = msgspec.json.Decoder(_Answer)


class RemoteHandler:
    """One handler by URL."""

    def __init__(self, config: HandlerConfig, client: httpx2.AsyncClient, allowed: tuple[str, ...]) -> None:
        self.name = config.name
        self.heading = config.heading
        self._config = config
        self._client = client
        self._allowed = allowed
        self._failures = 0
        self._rests_until = 0.0

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return what the handler says. Raise HandlerFailed if it says nothing that can be used, or is left alone."""
        if time.monotonic() < self._rests_until:
            raise HandlerFailed("it failed too often and is left alone for a minute")
        # Counted before the call: one that is late is cancelled, and comes back nowhere.
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            log.warning(
                "the enrichment `%s` failed %d times in a row; unless this call works it is left alone",
                self.name,
                self._failures - 1,
            )
            self._rests_until = time.monotonic() + REST_S
        said = await self._ask(prompt)
        self._failures, self._rests_until = 0, 0.0
        return said

    async def _ask(self, prompt: EnrichmentPrompt) -> Enrichment:
        body = {
            "prompt": mask(prompt.text)[:WINDOW],
            "session_id": prompt.session_id,
            "project": prompt.project,
            "client": prompt.client,
            "budget_ms": BUDGET_MS,
        }
        try:
            # Looked up each time, and sent to the address that was checked: a name may lead inside today.
            to = await destination(self._config.url, self._allowed)
            headers = {"host": to.host, "content-type": "application/json", "accept-encoding": "identity"}
            if self._config.key:
                headers["authorization"] = f"Bearer {self._config.key}"
            async with self._client.stream(
                "POST", to.url, content=msgspec.json.encode(body), headers=headers, extensions={"sni_hostname": to.name}
            ) as answer:
                if answer.status_code not in _SUCCESS:
                    raise HandlerFailed(f"it answered {answer.status_code}")
                found = await _read(answer)
            said = _answer.decode(found)
        except OutboundRefused as error:
            raise HandlerFailed(f"its URL {error}") from None
        except httpx2.HTTPError as error:
            raise HandlerFailed(f"it cannot be reached ({type(error).__name__})") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise HandlerFailed("its answer is not that of a handler") from None
        return Enrichment(text=said.text, relevance=said.relevance, model_used=said.model)


async def _read(answer: httpx2.Response) -> bytes:
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise HandlerFailed("its answer is compressed, which was not asked for")
    parts, size = [], 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size > MOST_BYTES:
            raise HandlerFailed(f"its answer is longer than {MOST_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)
