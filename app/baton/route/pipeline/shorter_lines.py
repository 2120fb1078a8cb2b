"""Shortens lines of facts with a model, for the enrichment `summarization`."""

from baton.context.enrichment.summarization import MODEL_S
from baton.route.llm.breaker import Breaker
from baton.route.llm.client import Endpoint, ModelClient, Reply
from baton.route.llm.guarded_call import guarded, timed

NAME = "summary"  # the name of its breaker
MAX_TOKENS = 200
_SYSTEM = (
    "Shorten these notes on recent work in a software project to at most five bullet points. Keep every file name, command"
    " and result exactly as it is written. Add nothing."
)
_SAMPLE = "- Edited: `src/app.py` (2 times)"


class ShorterLines:
    """The model behind its breaker."""

    def __init__(self, client: ModelClient, endpoint: Endpoint, breaker: Breaker) -> None:
        self._client = client
        self._endpoint = endpoint
        self._breaker = breaker

    async def shorten(self, lines: str, timeout_s: float) -> tuple[str, str] | None:
        """Return the model's words and its name; None if it is not asked or gives no answer in time."""
        if timeout_s <= 0 or not self._breaker.allows:
            return None
        reply = await guarded(self._breaker, ask(self._client, self._endpoint, lines, timeout_s))
        return None if reply is None else (reply.text, self._endpoint.model or reply.model)


async def ask(client: ModelClient, endpoint: Endpoint, lines: str, timeout_s: float) -> Reply:
    """Ask a model for fewer words. Raise ModelFailed."""
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": lines}]
    return await client.chat(endpoint, messages, timeout_s=timeout_s, max_tokens=MAX_TOKENS)


async def probe(client: ModelClient, endpoint: Endpoint) -> float | None:
    """Send a sample. Return the duration in milliseconds, None if it failed."""
    return await timed(ask(client, endpoint, _SAMPLE, MODEL_S))
