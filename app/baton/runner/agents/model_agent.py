"""A plain model as an ACP agent: one completion of an OpenAI-compatible endpoint, without tools or memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import httpx2
import msgspec
from acp import PROTOCOL_VERSION, Agent, Client, RequestError, run_agent, schema, update_agent_message_text

from baton.shared.client_tls import client_tls

CONNECT_S = 10.0
SILENCE_S = 120.0  # timeout for silence of the endpoint, in seconds. The runner limits the total time.
LONGEST_ANSWER = 4 << 20  # maximum length of an unstreamed answer, in characters
LONGEST_ERROR = 500  # maximum length of an endpoint's error message, in characters
_SESSION = "completion"


class Delta(msgspec.Struct):
    """The content of a delta or message."""

    content: str | None = None


class CompletionChoice(msgspec.Struct):
    """A part of the answer: a stream's `delta`, or the whole `message` without streaming."""

    delta: Delta | None = None
    message: Delta | None = None


class TokenUsage(msgspec.Struct):
    """The endpoint's token counts."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class CompletionChunk(msgspec.Struct):
    """One event of the stream, or a whole answer."""

    choices: list[CompletionChoice] = []
    usage: TokenUsage | None = None
    error: Any = None


_event = msgspec.json.Decoder(CompletionChunk)


class ModelAgent:
    """Answers each prompt with one completion. The first of its models is the default."""

    def __init__(self, url: str, models: Sequence[str], key: str, effort: str = "") -> None:
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._models = list(models)
        self._model = self._models[0]
        self._effort = effort
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client: Client | None = None
        self._turn: asyncio.Task[TokenUsage] | None = None

    def on_connect(self, conn: Client) -> None:
        """Store the connection to the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:  # noqa: ARG002
        """Return the agent's capabilities: none besides answering."""
        info = schema.Implementation(name="baton-model-agent", version="1")
        return schema.InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_info=info)

    async def new_session(self, **_: Any) -> schema.NewSessionResponse:
        """Start a session, without any state."""
        return schema.NewSessionResponse(session_id=_SESSION, config_options=self._options())

    async def set_config_option(self, config_id: str, value: object, **_: Any) -> schema.SetSessionConfigOptionResponse:
        """Choose a model."""
        if config_id != "model" or value not in self._models:
            raise RequestError.invalid_params({"details": f"`{value}` is not offered"})
        self._model = str(value)
        return schema.SetSessionConfigOptionResponse(config_options=self._options())

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        """Send the prompt to the model, and each piece of the answer to the client."""
        text = "\n".join(block.text for block in prompt if getattr(block, "text", None))
        self._turn = asyncio.ensure_future(self._answer(session_id, text))
        try:
            tokens = await self._turn
        except asyncio.CancelledError:
            return schema.PromptResponse(stop_reason="cancelled")
        except (httpx2.HTTPError, httpx2.InvalidURL, msgspec.DecodeError, RecursionError) as error:
            detail = str(error) or type(error).__name__
            raise RequestError.internal_error({"details": f"the model at `{self._url}` failed: {detail}"}) from None
        total = tokens.prompt_tokens + tokens.completion_tokens
        usage = schema.Usage(
            total_tokens=total, input_tokens=tokens.prompt_tokens, output_tokens=tokens.completion_tokens
        )
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    async def cancel(self, **_: Any) -> None:
        """Cancel the answer and close the connection to the endpoint."""
        if self._turn is not None:
            self._turn.cancel()

    async def _answer(self, session_id: str, text: str) -> TokenUsage:
        tokens, is_empty = TokenUsage(), True
        async for event in self._events(text):
            if event.error:
                detail = event.error.get("message") if isinstance(event.error, dict) else event.error
                raise httpx2.HTTPError(f"it answered with an error: {str(detail)[:LONGEST_ERROR]}")
            # Without streaming, the endpoint sends one event with the whole message.
            part = (event.choices[0].delta or event.choices[0].message) if event.choices else None
            said = part.content if part else None
            if said and self._client is not None:
                is_empty = False
                await self._client.session_update(session_id=session_id, update=update_agent_message_text(said))
            tokens = event.usage or tokens
        if is_empty:
            raise httpx2.HTTPError("it answered without content")
        return tokens

    async def _events(self, text: str) -> AsyncIterator[CompletionChunk]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": text}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._effort:
            body["reasoning_effort"] = self._effort
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        async with (
            httpx2.AsyncClient(timeout=timeout, headers=self._headers, verify=client_tls(self._url)) as http,
            http.stream("POST", self._url, json=body) as answer,
        ):
            if not answer.is_success:
                raise httpx2.HTTPError(f"it answered {answer.status_code}")
            async for event in _read(answer.aiter_text()):
                yield event

    def _options(self) -> list[Any]:
        offered = [schema.SessionConfigSelectOption(value=model, name=model) for model in self._models]
        return [
            schema.SessionConfigOptionSelect(
                type="select", id="model", name="Model", category="model", current_value=self._model, options=offered
            )
        ]


async def _read(pieces: AsyncIterator[str]) -> AsyncIterator[CompletionChunk]:
    waiting, is_whole = "", False
    async for piece in pieces:
        is_whole = is_whole or (not waiting.strip() and piece.lstrip()[:1] == "{")
        waiting += piece
        if len(waiting) > LONGEST_ANSWER:
            raise httpx2.HTTPError(f"it answered with more than {LONGEST_ANSWER} characters in one piece")
        if not is_whole:
            # Not splitlines: strings may contain other line separators.
            *lines, waiting = waiting.lstrip("\ufeff").split("\n")
            for event in filter(None, map(_event_of, lines)):
                yield event
    if is_whole:
        yield _event.decode(waiting)
    elif last := _event_of(waiting):
        yield last


def _event_of(line: str) -> CompletionChunk | None:
    data = line.removeprefix("data:").strip()
    return _event.decode(data) if line.startswith("data:") and data not in ("", "[DONE]") else None


async def serve(agent: ModelAgent) -> None:
    """Serve on standard input and output until the input ends."""
    await run_agent(cast("Agent", agent))
