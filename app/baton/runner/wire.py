"""The messages between runner and server (decision 0010), and their HTTP client."""

import ssl
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

from baton.shared.client_tls import client_tls, no_tls
from baton.shared.person_socket import LOOPBACK, is_person_socket, socket_path

WAIT_S = 20  # timeout of a poll, in seconds
_TIMEOUT_S = 15.0
_LIMITS = httpx2.Limits(max_connections=None)
_UNKNOWN, _STALE, _LEAST_RETRIED = 401, 409, 500
_STRANGE = "an invalid answer"
_RETRIED = {408, 425, 429}

T = TypeVar("T")
JobId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}$")]


class ServerAway(Exception):
    """The server did not answer, or cannot now. Retry later."""


class LeaseRevoked(Exception):
    """The runner no longer holds the job's lease."""


class RequestRefused(Exception):
    """The server permanently refuses this."""


class AgentTask(msgspec.Struct, frozen=True, kw_only=True):
    """A job's input for an agent. Empty fields are the agent's choice. `recap` replaces a lost `agent_session`."""

    prompt: str
    system_prompt: str = ""
    model: str = ""
    agent_session: str = ""
    recap: str = ""
    thinking_budget: int | None = None  # in tokens


class LeasedTask(AgentTask, frozen=True, kw_only=True):
    """A leased job, with its token. Timeouts are in seconds.

    `inactivity_timeout_s` 0 means no limit. `thread` is `continue`, `fresh` or the id of the job with `agent_session`.
    `agent_token` lets the agent call Baton and read this job.
    """

    job: JobId
    attempt: int
    token: str
    provider: str
    workspace: str
    session_id: str = ""
    isolation: str = ""
    timeout_s: float = 3_600
    inactivity_timeout_s: float = 0
    thread: str = "continue"
    agent_type: str = ""
    agent_token: str = ""
    traceparent: str = ""


class JobCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A server's command for a job, repeated until acknowledged."""

    id: str
    job: str
    attempt: int = 0
    kind: str
    body: dict[str, Any] = {}


class PollReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a poll: jobs to start, commands, ids of lost jobs."""

    jobs: list[LeasedTask] = []
    commands: list[JobCommand] = []
    lost: list[str] = []


class Event(msgspec.Struct, frozen=True):
    """One event of a job. `seq` counts from 1 within an attempt."""

    seq: int
    type: str
    body: dict[str, Any]


class JobEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of a job. `usage` has token counts and, if known, `cost_usd`; `error` has code and detail."""

    state: Literal["completed", "failed", "cancelled"]
    output: str = ""
    usage: dict[str, float] = {}
    error: dict[str, str] | None = None


class ProgressReply(msgspec.Struct, frozen=True):
    """The number of the last stored event, and whether to cancel the job."""

    accepted: int = 0
    cancel: bool = False


class PermissionReply(msgspec.Struct, frozen=True):
    """The answer to a permission request."""

    permission: str = ""
    answer: Literal["allow", "deny", "pending"] = "deny"
    reason: str | None = ""


class RunnerTokenRefused(RequestRefused):
    """The token is unknown, expired or revoked. Retry with a new one."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The server's address, and the caller's identity."""

    url: str
    token: str = ""
    user: str = ""
    ca_file: str = ""


class ServerConnection:
    """One runner's connection to the server."""

    def __init__(self, link: Link, runner_id: str) -> None:
        headers = {"Baton-User": link.user} if link.user else {}
        if link.token:
            headers["Authorization"] = f"Bearer {link.token}"
        self.url = link.url
        self._socket = None if link.token else socket_path(link.url)
        self._over_socket: httpx2.AsyncClient | None = None
        self._client = httpx2.AsyncClient(
            base_url=link.url,
            headers=headers,
            timeout=_TIMEOUT_S,
            limits=_LIMITS,
            trust_env=urlsplit(link.url).hostname not in LOOPBACK,
            verify=ssl.create_default_context(cafile=link.ca_file) if link.ca_file else client_tls(link.url),
        )
        self._base = f"/runners/{runner_id}"

    async def poll(self, body: dict[str, Any]) -> PollReply:
        """Report the running jobs and receive instructions, within the body's `wait_s` seconds."""
        content = await self._post(f"{self._base}/poll", body, limit_s=float(body["wait_s"]) + _TIMEOUT_S)
        return self._read(content, PollReply)

    async def post(self, job: str, body: dict[str, Any]) -> ProgressReply:
        """Send events, and the end with the last of them."""
        return self._read(await self._post(f"{self._base}/jobs/{job}/events", body), ProgressReply)

    async def ask(self, job: str, body: dict[str, Any]) -> PermissionReply:
        """Request permission for an agent's call."""
        return self._read(await self._post(f"{self._base}/jobs/{job}/permissions", body), PermissionReply)

    async def report(self, job: str, action: str, body: dict[str, Any]) -> None:
        """Report the outcome of an action on a job's result."""
        await self._post(f"{self._base}/jobs/{job}/actions/{action}", body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        if self._over_socket is not None:
            await self._over_socket.aclose()

    def _way(self) -> httpx2.AsyncClient:
        """Return the client for the socket for people, once it listens: a server may start after its runner."""
        if self._over_socket is None and self._socket is not None and is_person_socket(self._socket):
            self._over_socket = httpx2.AsyncClient(
                base_url="http://localhost",
                headers=self._client.headers,
                timeout=_TIMEOUT_S,
                transport=httpx2.AsyncHTTPTransport(uds=str(self._socket), limits=_LIMITS, verify=no_tls()),
            )
        return self._over_socket or self._client

    async def _post(self, path: str, body: dict[str, Any], limit_s: float = _TIMEOUT_S) -> bytes:
        content, headers = msgspec.json.encode(body), {"Content-Type": "application/json"}
        try:
            response = await self._way().post(path, content=content, headers=headers, timeout=limit_s)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            if isinstance(error, httpx2.ConnectError) and self._over_socket is not None:
                await self._over_socket.aclose()  # look again: another server may listen there
                self._over_socket = None
            raise ServerAway(f"no server answers at `{self.url}` ({error or type(error).__name__})") from None
        if response.is_success:
            return response.content
        problem, status = _problem(response), response.status_code
        message = f"`{path}` answered {status}: {problem or _STRANGE}"
        if not problem or status >= _LEAST_RETRIED or status in _RETRIED:
            raise ServerAway(message)
        raise {_STALE: LeaseRevoked, _UNKNOWN: RunnerTokenRefused}.get(status, RequestRefused)(message)

    def _read(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise ServerAway(f"`{self.url}` answered {_STRANGE}: {error}") from None


def _problem(response: httpx2.Response) -> str:
    """Return the server's message, or "" for a response of a proxy or another server."""
    try:
        problem = response.json()
        return f"{problem['detail']} ({problem['code']})"
    except (ValueError, KeyError, TypeError):
        return ""
