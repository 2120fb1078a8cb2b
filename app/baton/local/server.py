"""The way from the command line to the server: its public HTTP API, like any client's. It prints nothing."""

import json
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2

from baton.local import config
from baton.local.project import Project, find_project

TIMEOUT_S = 10.0
UNAUTHENTICATED = 401
STREAM_S = 60.0
"""Longest silence within an answer that comes line by line, in seconds."""
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class ApiError(Exception):
    """What kept the command from its work, in words for the person."""


class TokenRefused(ApiError):
    """The server asks for a token, and this one is none that it takes."""


class Api:
    """Speaks to the server for this person and the project of the current folder.

    With `administer`, and no token, it speaks for the machine's own person, who may do everything on loopback.

    Raises:
        ApiError: for a url or a file of certificates that cannot be used.
    """

    def __init__(self, *, administer: bool = False) -> None:
        self.config = config.load()
        self.project: Project = find_project()
        headers = {"Baton-User": self.config.user, "Baton-Project": self.project.name, "Baton-Root": self.project.root}
        if administer and not self.config.token:
            del headers["Baton-User"]
        if self.config.token:
            headers["Authorization"] = f"Bearer {self.config.token}"
        try:
            self._client = httpx2.Client(
                base_url=self.config.url,
                headers=[(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in headers.items()],
                timeout=TIMEOUT_S,
                trust_env=urlsplit(self.config.url).hostname not in _LOOPBACK,
                verify=ssl.create_default_context(cafile=self.config.ca_file) if self.config.ca_file else True,
            )
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ApiError(f"`BATON_CA_FILE` is `{self.config.ca_file}`, which holds no certificates: {why}") from None
        except (ValueError, httpx2.InvalidURL) as error:
            raise ApiError(f"`BATON_URL` is `{self.config.url}`, which is no url: {error}") from None

    @property
    def whom(self) -> str:
        """Name the person that this speaks for; only the server knows whose a token is."""
        return "you" if self.config.token else self.config.user

    def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Make a request and give what the answer's JSON holds, None where it has none.

        Raises:
            ApiError: with the server's own words, or why it could not be asked.
        """
        try:
            response = self._client.request(method, path, params=query, json=body, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._nobody(error) from None
        if response.is_success:
            return response.json() if response.content else None
        if response.status_code == UNAUTHENTICATED:
            source = "BATON_TOKEN is set, but refused" if self.config.token else "BATON_TOKEN is not set"
            raise TokenRefused(f"the server does not know you: {source}. {_told(response)}")
        raise ApiError(_told(response))

    def pages(self, path: str, query: dict[str, str]) -> list[Any]:
        """Give the items of all pages of a list. Raises ApiError."""
        items, asked = [], query | {"limit": "200"}
        while True:
            page = self.request("GET", path, query=asked)
            items += page["items"]
            if not page.get("next_cursor"):
                return items
            asked["cursor"] = page["next_cursor"]

    def lines(self, path: str, body: Any) -> Iterator[Any]:
        """Post a body and give each line of the answer as JSON, as it comes.

        Raises:
            ApiError: with the server's own words, or why it could not be asked.
        """
        try:
            with self._client.stream("POST", path, json=body, timeout=STREAM_S) as response:
                if not response.is_success:
                    response.read()
                    raise ApiError(_told(response))
                yield from (json.loads(line) for line in _lines(response) if line)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._nobody(error) from None

    def events(self, path: str, after: int = 0) -> Iterator[tuple[int, str, Any]]:
        """Give each server-sent event after a number: its own number, its type, its data; ends when the stream does.

        Raises:
            ApiError: with the server's own words, or why it could not be asked.
        """
        headers = {"Last-Event-ID": str(after)} if after else {}
        event: dict[str, str] = {}
        try:
            with self._client.stream("GET", path, headers=headers, timeout=STREAM_S) as response:
                if not response.is_success:
                    response.read()
                    raise ApiError(_told(response))
                for line in _lines(response):
                    name, _, value = line.partition(": ")
                    if name:
                        event[name] = value
                    elif "data" in event:
                        yield int(event["id"]), event["event"], json.loads(event["data"])
                        event = {}
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._nobody(error) from None

    def _nobody(self, error: Exception) -> ApiError:
        return ApiError(
            f"no server answers at `{self.config.url}` ({error or type(error).__name__}). Start one with"
            " `make serve` (or `baton serve`), or set BATON_URL to where it runs."
        )


def _lines(response: httpx2.Response) -> Iterator[str]:
    """Give an answer's lines; `iter_lines` would end them at U+2028 and the like too, which stand in JSON as they are."""
    rest = b""
    for part in response.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()


def _told(response: httpx2.Response) -> str:
    try:
        problem = response.json()
        more = problem.get("errors", []) if len(problem.get("errors", [])) > 1 else []
        told = f"{problem['detail']} ({problem['code']})"
        return "\n".join((told, *(f"  {one['field']}: {one['message']}" for one in more)))
    except (ValueError, KeyError, TypeError):
        return f"`{response.request.url}` answered {response.status_code}, which is no answer of Baton's"


def show_json(value: Any) -> None:
    """Print a value for a script."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
