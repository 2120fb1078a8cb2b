"""A client of services with OpenAI's chat protocol: vLLM, Ollama, llama.cpp, a gateway.

Every answer is bounded, in bytes and in time. A cancelled or late call closes its connection. Answers are streamed,
because some services notice a closed connection only when they write, and would continue working. The key is in no log
line and no error.
"""

import asyncio
import logging
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import httpx2
import msgspec

from baton.kernel.http.outbound_guard import outbound_tls

MOST_BYTES = 2 * 1024 * 1024  # bytes of an answer, which may have one event for each token; a longer one is refused
MOST_CONNECTIONS = 32  # calls at once; more wait for their turn within their own time
Failure = Literal["timeout", "unreachable", "refused", "garbage", "too_large"]
"""In this order: no answer in time; no connection; an HTTP error; an answer that makes no sense; one that is too long."""

for _name in ("httpx2", "httpcore2"):  # they log each call's URL, possibly with a password
    logging.getLogger(_name).setLevel(logging.WARNING)


class ModelFailed(Exception):
    """A call gave no usable result. `status` is HTTP's, 0 if there was no answer."""

    def __init__(self, kind: Failure, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = status


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model's location: the base of its API (`http://localhost:8000/v1`), its name there, and the secret key."""

    url: str
    model: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return f"Endpoint({self.shown}, model={self.model!r})"

    @property
    def shown(self) -> str:
        """The URL without user, password and query."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Reply(msgspec.Struct, frozen=True):
    """The model's output, and its own name for itself; both are untrusted."""

    text: str
    model: str


class _Message(msgspec.Struct):
    content: str | None = None


class _Alternative(msgspec.Struct):
    """One answer: whole (`message`), or the next part of it (`delta`)."""

    message: _Message | None = None
    delta: _Message | None = None


class _Completion(msgspec.Struct):
    choices: list[_Alternative]
    model: str | None = None


_completion = msgspec.json.Decoder(_Completion)
_EVENT = b"data:"
_DONE = b"data: [DONE]"


class ModelClient:
    """One connection pool for all endpoints.

    It takes no proxy and no key from the environment and follows no redirect: prompts go only to the configured
    service.
    """

    def __init__(self) -> None:
        self._http = httpx2.AsyncClient(
            verify=outbound_tls(),
            trust_env=False,
            follow_redirects=False,
            timeout=None,
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=30),
            headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "baton"},
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def chat(
        self,
        endpoint: Endpoint,
        messages: list[dict[str, str]],
        *,
        timeout_s: float,
        max_tokens: int,
        temperature: float = 0.0,
        response_format: dict[str, Any] | None = None,
    ) -> Reply:
        """Ask the model for an answer.

        Raises:
            ModelFailed: If there is no usable answer.
        """
        body: dict[str, Any] = {
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "stream": True,
        }
        if endpoint.model:
            body["model"] = endpoint.model
        if response_format is not None:
            body["response_format"] = response_format
        found = await self.post(f"{endpoint.url.rstrip('/')}/chat/completions", body, endpoint.key, timeout_s)
        try:
            reply = _reply(found)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ModelFailed("garbage", "its answer is not a chat completion") from None
        if not reply.text:
            raise ModelFailed("garbage", "its answer is empty")
        return reply

    async def post(self, url: str, body: dict[str, Any], key: str, timeout_s: float) -> bytes:
        """Post JSON and return the body of a successful answer.

        Raises:
            ModelFailed: If there is no usable answer.
        """
        return await self._bounded("POST", url, key, timeout_s, msgspec.json.encode(body))

    async def alive(self, endpoint: Endpoint, timeout_s: float) -> None:
        """Request the list of models, at no cost to the service. A service without that list is alive as well.

        Raises:
            ModelFailed: If the service is unreachable, or refuses the key.
        """
        try:
            await self._bounded("GET", f"{endpoint.url.rstrip('/')}/models", endpoint.key, timeout_s, None)
        except ModelFailed as error:
            if error.kind != "too_large" and error.status not in {404, 405, 501}:
                raise

    async def _bounded(self, method: str, url: str, key: str, timeout_s: float, content: bytes | None) -> bytes:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        if content is not None:
            headers["content-type"] = "application/json"
        try:
            async with asyncio.timeout(timeout_s):
                return await self._read(method, url, headers, content)
        except TimeoutError:
            raise ModelFailed("timeout", f"no answer within {timeout_s * 1000:.0f} ms") from None
        except (httpx2.ProtocolError, httpx2.DecodingError):
            raise ModelFailed("garbage", "its answer is not HTTP") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise ModelFailed("unreachable", f"it cannot be reached ({type(error).__name__})") from None

    async def _read(self, method: str, url: str, headers: dict[str, str], content: bytes | None) -> bytes:
        async with self._http.stream(method, url, headers=headers, content=content) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ModelFailed("garbage", "its answer is compressed, which was not asked for", answer.status_code)
            parts, size = [], 0
            if not answer.is_success:
                raise ModelFailed("refused", f"it answered {answer.status_code}", answer.status_code)
            async for part in answer.aiter_raw():
                size += len(part)
                if size > MOST_BYTES:
                    raise ModelFailed("too_large", f"its answer is longer than {MOST_BYTES} bytes", answer.status_code)
                parts.append(part)
                # Some services leave the connection open after the last event: do not wait for its end.
                if part.rstrip().endswith(_DONE):
                    break
            return b"".join(parts)


def _reply(found: bytes) -> Reply:
    """Read an answer in server-sent events, or in one piece from a service without streaming."""
    # Some services ignore `stream` and send one object, as seen by the first character.
    if found.lstrip()[:1] == b"{":
        pieces = [found]
    else:
        lines = (line.strip() for line in found.split(b"\n"))
        data = (line[len(_EVENT) :].strip() for line in lines if line.startswith(_EVENT))
        pieces = [piece for piece in data if piece != b"[DONE]"]
    texts, model = [], ""
    for piece in pieces:
        completion = _completion.decode(piece)
        model = completion.model or model
        for one in completion.choices[:1]:
            said = one.message or one.delta
            texts.append((said.content if said else None) or "")
    return Reply("".join(texts), model)


# Whether people agree with a model's or a node's choices often enough to keep it.

DAYS = 3
"""How far back people's feedback counts, in days: a tier that is held back is tried again when its bad days are over."""
LEAST = 20  # choices that people must have judged before the tier is
LEAST_SHARE = 0.6  # least share of a tier's choices that people must call right


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How many choices people have judged, and how many of these they called right."""

    judged: int = 0
    right: int = 0

    @property
    def holds_back(self) -> bool:
        """Whether people disagree too often for the tier to be asked."""
        return self.judged >= LEAST and self.right / self.judged < LEAST_SHARE
