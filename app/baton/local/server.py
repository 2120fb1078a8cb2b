"""The way from the command line and the agents' tools to the server: its public HTTP API, like any client's.

It is built on `http.client`, because an HTTP library takes longer to import than most commands take to run.
"""

import base64
import http.client
import json
import os
import shlex
import socket
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from baton.local import config, person_token
from baton.local.hook.request import trusted
from baton.local.project import LocalProject, find_project
from baton.shared.person_socket import LOOPBACK, is_person_socket, socket_path

TIMEOUT_S = 10.0
STREAM_S = 60.0
"""Longest silence within an answer that comes line by line, in seconds."""
_LATER = {http.client.REQUEST_TIMEOUT, http.client.TOO_EARLY, http.client.TOO_MANY_REQUESTS}
"""Statuses below 500 after which the same may be asked again."""
_UNREACHABLE = (OSError, http.client.HTTPException, ValueError)
"""What `http.client` raises; ValueError for a header or a path that it cannot send."""

Query = Mapping[str, str | list[str]]
"""Query parameters; one with several values is sent once for each, an empty one not at all."""


class ApiError(Exception):
    """Why a command cannot do its work, in words for the person."""


class TokenRefused(ApiError):
    """The server requires a token, and received none or an invalid one."""


class Refused(ApiError):
    """The server refuses this, however often it is asked."""


class PersonNeeded(ApiError):
    """The server does this for a person alone, and does not take this process for one's."""


class Api:
    """Sends requests to the server for this person and the project of the current folder.

    Without a token it uses the socket for people of a server on this machine, if it exists. With `administer` it acts
    there as the machine's own person, with all rights.
    Each request has its own connection, so several threads may share one `Api`.

    `token` replaces the person's own, "" for none.

    Raises:
        ApiError: If the url or the file of certificates cannot be used.
    """

    def __init__(self, *, administer: bool = False, token: str | None = None) -> None:
        self.config = person_token.with_token(config.load()) if token is None else config.load()._replace(token=token)
        self.project: LocalProject = find_project()
        headers = {"Baton-User": self.config.user, "Baton-Project": self.project.name, "Baton-Root": self.project.root}
        if administer and not self.config.token:
            del headers["Baton-User"]
        self._server = _parsed(self.config.url)
        if self.config.token:
            headers["Authorization"] = f"Bearer {self.config.token}"
        elif self._server.username:
            headers["Authorization"] = _basic(self._server)
        if traceparent := os.environ.get("TRACEPARENT"):
            headers["Traceparent"] = traceparent
        if any(set(value) & {"\n", "\r", "\0"} for value in headers.values()):
            raise ApiError(
                "BATON_USER, BATON_TOKEN or the folder's path contains a line break; a request cannot contain one"
            )
        self._headers = {name: value.encode("utf-8", "surrogateescape") for name, value in headers.items()}
        path = None if self.config.token else socket_path(self.config.url)
        self._socket = path if path is not None and is_person_socket(path) else None
        is_tls = self._server.scheme == "https"
        tls = _tls(self.config.ca_file) if is_tls or self.config.ca_file else None
        self._tls = tls if is_tls else None
        self._proxy = _proxy(self._server)

    @property
    def whom(self) -> str:
        """The person behind the requests; only the server knows a token's owner."""
        return "you" if self.config.token else self.config.user

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Make a request and return the JSON of the answer, None if it has no body.

        Raises:
            ApiError: If the server refuses, in its own words, or cannot be reached.
        """
        with self._answer(method, path, query=query, body=body, headers=headers) as answer:
            content = answer.read()
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise ApiError(_not_baton(f"{self.config.url}{path}", answer.status)) from None

    def pages(self, path: str, query: Query) -> list[Any]:
        """Return the items of all pages of a list. Raise ApiError."""
        items: list[Any] = []
        asked = {**query, "limit": "200"}
        while True:
            page = self.request("GET", path, query=asked)
            items += page["items"]
            if not page.get("next_cursor"):
                return items
            asked["cursor"] = page["next_cursor"]

    def text(self, path: str, query: Query) -> Iterator[str]:
        """Yield each line of a non-JSON answer as it arrives. Raise ApiError."""
        with self._answer("GET", path, query=query) as answer:
            for line in answer:
                yield line.decode().rstrip("\r\n")

    def lines(self, path: str, body: Any) -> Iterator[Any]:
        """Post a body and yield each line of the answer as JSON, as it comes.

        Raises:
            ApiError: If the server refuses, in its own words, or cannot be reached.
        """
        with self._answer("POST", path, body=body, timeout_s=STREAM_S) as answer:
            yield from (json.loads(line) for line in answer if line.strip())

    def content(self, path: str, query: Query) -> Iterator[bytes]:
        """Yield the parts of an answer of any type, as they come.

        Raises:
            ApiError: If the server refuses, in its own words, or cannot be reached.
        """
        with self._answer("GET", path, query=query, timeout_s=STREAM_S) as answer:
            while part := answer.read1(1 << 16):
                yield part

    def events(self, path: str, after: str = "", query: dict[str, str] | None = None) -> Iterator[tuple[str, str, Any]]:
        """Yield the id, type and data of each server-sent event after an id, until the stream ends.

        An event with only an id has the type "" and no data.

        Raises:
            ApiError: If the server refuses, in its own words, or cannot be reached.
        """
        headers = {"Last-Event-ID": after} if after else {}
        event: dict[str, str] = {}
        with self._answer("GET", path, query=query, headers=headers, timeout_s=STREAM_S) as answer:
            for line in answer:
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name:
                    event[name] = value
                elif "data" in event:
                    yield event["id"], event["event"], json.loads(event["data"])
                    event = {}
                elif "id" in event:
                    yield event["id"], "", None
                    event = {}

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and return its successful answer, still unread."""
        sent: dict[str, str | bytes] = self._headers | (headers or {})
        content = None
        if body is not None:
            content, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        given = urlencode({name: value for name, value in (query or {}).items() if value != ""}, doseq=True)
        target = self._server.path.rstrip("/") + path + (f"?{given}" if given else "")
        connection = self.connection(timeout_s)
        try:
            if self._proxy and not self._tls:  # a proxy is sent the whole url
                target = f"http://{self._server.netloc.rpartition('@')[2]}{target}"
                sent |= _proxy_headers(self._proxy)
            connection.request(method, target, body=content, headers=sent)
            answer = connection.getresponse()
            if answer.status // 100 != 2:  # noqa: PLR2004 - 2xx
                raise self._refusal(path, answer)
            yield answer
        except ssl.SSLCertVerificationError as error:
            raise ApiError(
                f"the certificate of `{self.config.url}` is not trusted ({error.verify_message}). For a private CA, set"
                " BATON_CA_FILE to a file with its certificates."
            ) from None
        except _UNREACHABLE as error:
            raise ApiError(
                f"no server answers at `{self.config.url}` ({str(error) or type(error).__name__}). Start one with"
                " `make serve` (or `baton serve`), or set BATON_URL to its address."
            ) from None
        finally:
            connection.close()

    def target(self, path: str) -> str:
        """Return the request target of a path: the whole url for a plain proxy."""
        path = self._server.path.rstrip("/") + path
        is_whole = self._proxy and not self._tls
        return f"http://{self._server.netloc.rpartition('@')[2]}{path}" if is_whole else path

    def connection(self, timeout_s: float) -> http.client.HTTPConnection:
        """Return a new connection to the server, through the proxy if there is one."""
        if self._socket is not None:
            return UnixConnection(self._socket, timeout_s)
        ends = self._proxy or self._server
        host, port = ends.hostname or "", ends.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        port = port or (http.client.HTTP_PORT if self._proxy else http.client.HTTPS_PORT)
        connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self._tls)
        if self._proxy:
            connection.set_tunnel(
                self._server.hostname or "", self._server.port or http.client.HTTPS_PORT, _proxy_headers(self._proxy)
            )
        return connection

    def _refusal(self, path: str, answer: http.client.HTTPResponse) -> ApiError:
        code = ""
        try:
            problem = json.loads(answer.read())
            code = problem["code"]
            text = f"{problem['detail']} ({code})"
            several = problem.get("errors", []) if len(problem.get("errors", [])) > 1 else []
            text = "\n".join((text, *(f"  {one['field']}: {one['message']}" for one in several)))
        except (ValueError, KeyError, TypeError):
            text = _not_baton(f"{self.config.url}{path}", answer.status)
        if code == "person_required":
            return PersonNeeded(f"{text}\n{self._way_for_a_person()}")
        if answer.status == http.client.UNAUTHORIZED:
            source = "BATON_TOKEN is set, but refused" if self.config.token else "BATON_TOKEN is not set"
            return TokenRefused(f"the server does not know you: {source}. {text}")
        # For an unavailable server a proxy answers with 5xx, or in another form than Baton.
        is_final = code and answer.status < http.client.INTERNAL_SERVER_ERROR and answer.status not in _LATER
        return Refused(text) if is_final else ApiError(text)

    def _way_for_a_person(self) -> str:
        """Return the command for a person to run, if an agent's credential is insufficient."""
        from baton.shared.agent_process import own_doubt

        command = shlex.join(["baton", *sys.argv[1:]])
        unlock = "`baton auth unlock`, and then " if self.config.token else ""
        if why := own_doubt():
            return (
                f"An agent cannot do this, even if the person allowed the command ({why})."
                f" The person must run this in their own terminal, outside of any agent: {unlock}`{command}`"
            )
        if self.config.token:
            return f"The current token is for hooks. Run {unlock}`{command}` again."
        return (
            "The server's socket for people cannot be reached. Create a token with `baton db admin-token`, set BATON_TOKEN"
            f" to it, and type `{command}` again."
        )


class UnixConnection(http.client.HTTPConnection):
    """A connection to the socket for people of a server on this machine."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _not_baton(url: str, status: int) -> str:
    return f"`{url}` answered {status}, and not as Baton does; check BATON_URL"


def _parsed(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError as error:
        raise ApiError(f"`BATON_URL` is `{url}`, not a URL: {error}") from None
    if not usable:
        raise ApiError(f"`BATON_URL` is `{url}`, not a URL such as `http://127.0.0.1:8080`")
    return parts


def _tls(ca_file: str) -> ssl.SSLContext:
    try:
        return trusted(ca_file)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ApiError(f"`BATON_CA_FILE` is `{ca_file}`, a file without certificates: {why}") from None


def _proxy(server: SplitResult) -> SplitResult | None:
    """Return the environment's proxy for a server, as curl and browsers do."""
    host = server.hostname or ""
    if host in LOOPBACK:
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get(server.scheme) or proxies.get("all")
    if not url or proxy_bypass(host):
        return None
    proxy = urlsplit(url if "://" in url else f"http://{url}")
    if proxy.scheme != "http":
        raise ApiError(f"the proxy `{url}` cannot be used; allowed: an `http://` proxy, or add `{host}` to NO_PROXY")
    return proxy


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    return {"Proxy-Authorization": _basic(proxy)} if proxy.username else {}


def _basic(parts: SplitResult) -> str:
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
