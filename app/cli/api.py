"""The way from the command line to the server: its public HTTP API, like any client's. It prints nothing."""

import json
import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx2

from app.cli import config
from app.cli.project import Project, find_project

TIMEOUT_S = 10.0
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class ApiError(Exception):
    """What kept the command from its work, in words for the person."""


class Api:
    """Speaks to the server for this person and the project of the current folder."""

    def __init__(self) -> None:
        self.config = config.load()
        self.project: Project = find_project()
        headers = {"Baton-User": self.config.user, "Baton-Project": self.project.name, "Baton-Root": self.project.root}
        if self.config.token:
            headers["Authorization"] = f"Bearer {self.config.token}"
        self._client = httpx2.Client(
            base_url=self.config.url,
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            timeout=TIMEOUT_S,
            trust_env=urlsplit(self.config.url).hostname not in _LOOPBACK,
            verify=ssl.create_default_context(cafile=self.config.ca_file) if self.config.ca_file else True,
        )

    def request(self, method: str, path: str, *, query: dict[str, str] | None = None, body: Any = None) -> Any:
        """Make a request and give what the answer's JSON holds, None where it has none.

        Raises:
            ApiError: with the server's own words, or why it could not be asked.
        """
        try:
            response = self._client.request(method, path, params=query, json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ApiError(
                f"no server answers at `{self.config.url}` ({error or type(error).__name__}). Start one with"
                " `make serve` (or `baton serve`), or set BATON_URL to where it runs."
            ) from None
        if response.is_success:
            return response.json() if response.content else None
        raise ApiError(_told(response))


def _told(response: httpx2.Response) -> str:
    try:
        problem = response.json()
        return f"{problem['detail']} ({problem['code']})"
    except (ValueError, KeyError, TypeError):
        return f"`{response.request.url}` answered {response.status_code}, which is no answer of Baton's"


def show_json(value: Any) -> None:
    """Print a value for a script."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
