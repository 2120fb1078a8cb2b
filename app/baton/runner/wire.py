"""The messages between runner and server (decision 0010), and the HTTP client that carries them. It retries nothing."""

import ssl
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

WAIT_S = 20
"""Longest poll, in seconds."""
_TIMEOUT_S = 15.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_UNKNOWN, _STALE, _LEAST_RETRIED = 401, 409, 500
_STRANGE = "something that is no answer of Baton's"
_RETRIED = {408, 425, 429}

T = TypeVar("T")
JobId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}$")]


class ServerAway(Exception):
    """The server did not answer, or not now: try again later."""


class LeaseLost(Exception):
    """The job is no longer this runner's."""


class Refused(Exception):
    """The server will not take this, however often it is sent."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A job to run: what, where by its alias, for how many seconds, and the token that proves the right to it."""

    job: JobId
    attempt: int
    token: str
    provider: str
    workspace: str
    prompt: str
    session_id: str = ""
    isolation: str | None = ""
    system_prompt: str | None = ""
    model: str | None = ""
    thinking_budget: int | None = 0
    timeout_s: float = 300
    agent_session: str | None = ""
    agent_type: str | None = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What the server wants done with a job; repeated until its id is acknowledged."""

    id: str
    job: str
    attempt: int = 0
    kind: str
    body: dict[str, Any] = {}


class Polled(msgspec.Struct, frozen=True, kw_only=True):
    """What a poll gives: jobs to start, commands, jobs that are lost."""

    jobs: list[Lease] = []
    commands: list[Command] = []
    lost: list[str] = []


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a job; `seq` counts from 1 within an attempt."""

    seq: int
    type: str
    body: dict[str, Any]


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a job ended. `usage` has input_tokens, output_tokens and, where known, cost_usd; `error` has code and detail."""

    state: Literal["completed", "failed", "cancelled"]
    output: str = ""
    usage: dict[str, float] = {}
    error: dict[str, str] | None = None


class Posted(msgspec.Struct, frozen=True):
    """What the server says to events: how far it has them, and whether the job is to be cancelled."""

    accepted: int = 0
    cancel: bool = False


class Answered(msgspec.Struct, frozen=True):
    """What the server says to a permission request."""

    permission: str = ""
    answer: Literal["allow", "deny", "pending"] = "deny"
    reason: str | None = ""


class NotLetIn(Refused):
    """The token is unknown, expired or revoked: once there is a new one, the same may be sent again."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server is, and who asks."""

    url: str
    token: str = ""
    user: str = ""
    ca_file: str = ""


class Server:
    """The server, as one runner sees it."""

    def __init__(self, link: Link, runner_id: str) -> None:
        headers = {"Baton-User": link.user} if link.user else {}
        if link.token:
            headers["Authorization"] = f"Bearer {link.token}"
        self.url = link.url
        self._client = httpx2.AsyncClient(
            base_url=link.url,
            headers=headers,
            timeout=_TIMEOUT_S,
            limits=httpx2.Limits(max_connections=None),
            trust_env=urlsplit(link.url).hostname not in _LOOPBACK,
            verify=ssl.create_default_context(cafile=link.ca_file) if link.ca_file else True,
        )
        self._base = f"/runners/{runner_id}"

    async def poll(self, body: dict[str, Any]) -> Polled:
        """Say what runs, and get what to do; waits up to the body's `wait_s` for it."""
        content = await self._post(f"{self._base}/poll", body, limit_s=float(body["wait_s"]) + _TIMEOUT_S)
        return self._read(content, Polled)

    async def post(self, job: str, body: dict[str, Any]) -> Posted:
        """Send events, and the end with the last of them."""
        return self._read(await self._post(f"{self._base}/jobs/{job}/events", body), Posted)

    async def ask(self, job: str, body: dict[str, Any]) -> Answered:
        """Ask whether the agent may do something."""
        return self._read(await self._post(f"{self._base}/jobs/{job}/permissions", body), Answered)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _post(self, path: str, body: dict[str, Any], limit_s: float = _TIMEOUT_S) -> bytes:
        content, headers = msgspec.json.encode(body), {"Content-Type": "application/json"}
        try:
            response = await self._client.post(path, content=content, headers=headers, timeout=limit_s)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise ServerAway(f"no server answers at `{self.url}` ({error or type(error).__name__})") from None
        if response.is_success:
            return response.content
        problem, status = _problem(response), response.status_code
        told = f"`{path}` answered {status}: {problem or _STRANGE}"
        if not problem or status >= _LEAST_RETRIED or status in _RETRIED:
            raise ServerAway(told)
        raise {_STALE: LeaseLost, _UNKNOWN: NotLetIn}.get(status, Refused)(told)

    def _read(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise ServerAway(f"`{self.url}` answered {_STRANGE}: {error}") from None


def _problem(response: httpx2.Response) -> str:
    """Give the server's words; "" where a proxy or a stranger has answered in its place."""
    try:
        problem = response.json()
        return f"{problem['detail']} ({problem['code']})"
    except (ValueError, KeyError, TypeError):
        return ""
