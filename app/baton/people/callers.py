"""Reads who asks, and from where, out of a request's headers. It gives no rights: `baton.people.permissions` does.

With `BATON_AUTH=on` the token decides user, team and role; else, on loopback, the headers are trusted as they are.
"""

from typing import Literal

from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.settings import Settings
from baton.people.permissions import require
from baton.people.tokens import Tokens

LONGEST_HEADER = 1024
"""Bytes of a header's value that are looked at."""
REMEMBERED = 1_024
"""Sets of headers whose meaning a process remembers: a client says the same with each of its calls."""
PROTOCOL = "1"
"""The version of the headers between shim and server."""

_TRUE = {"1", "true", "yes", "on"}
_SAID = (
    b"baton-user",
    b"baton-team",
    b"baton-project",
    b"baton-root",
    b"baton-work-items",
    b"baton-job",
    b"baton-disabled",
    b"baton-on-failure",
    b"baton-debug",
    b"baton-protocol",
)
"""The headers that a caller is read from, but for the token."""
_Said = tuple[bytes | None, ...]


def header(headers: dict[bytes, bytes], name: bytes) -> str:
    """Read a header as UTF-8 text without control characters; "" where it is absent."""
    raw = headers.get(name)
    if not raw:
        return ""
    text = raw[:LONGEST_HEADER].decode("utf-8", "replace").strip()
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


class CallerReader:
    """Turns headers into a caller; what they leave open comes from the settings."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._tokens = tokens if settings.auth_on else None
        self._organisation = settings.organisation
        self._team = settings.team
        self._user = settings.default_user
        self._on_failure: Literal["allow", "block"] = settings.on_failure
        self._known: dict[tuple[Principal | None, _Said], Caller] = {}

    def read(self, headers: dict[bytes, bytes]) -> Caller:
        """Read a caller.

        Raises:
            Unauthenticated: tokens are asked for, and this request has no valid one.
        """
        principal = None if self._tokens is None else self._tokens.check(_bearer(headers))
        said = tuple(map(headers.get, _SAID))
        caller = self._known.get((principal, said))
        if caller is None:
            caller = self._read(principal, headers)
            if sum(map(len, filter(None, said))) <= LONGEST_HEADER:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[principal, said] = caller
        return caller

    def read_for_call(self, headers: dict[bytes, bytes]) -> Caller:
        """Read a caller whose agent is at work.

        Raises:
            Unauthenticated: tokens are asked for, and this request has no valid one.
            Forbidden: the token's role has no agents.
        """
        caller = self.read(headers)
        require(caller.principal, "calls.make")
        return caller

    def _read(self, principal: Principal | None, headers: dict[bytes, bytes]) -> Caller:
        count = header(headers, b"baton-work-items")
        return Caller(
            principal=principal or self._trusted(headers),
            project=header(headers, b"baton-project"),
            root=header(headers, b"baton-root"),
            work_items=int(count) if count.isascii() and count.isdigit() else None,
            job=header(headers, b"baton-job"),
            disabled=header(headers, b"baton-disabled").lower() in _TRUE,
            on_failure=self.on_failure(headers),
            debug=header(headers, b"baton-debug").lower() in _TRUE,
            protocol=header(headers, b"baton-protocol"),
        )

    def on_failure(self, headers: dict[bytes, bytes]) -> Literal["allow", "block"]:
        """Read the answer that is wanted where no decision can be made, whoever asks."""
        failure = header(headers, b"baton-on-failure")
        return "block" if failure == "block" else "allow" if failure == "allow" else self._on_failure

    def _trusted(self, headers: dict[bytes, bytes]) -> Principal:
        """Take the headers' word; the machine's own person, who sends no `Baton-User`, sees everything."""
        user = header(headers, b"baton-user")
        return Principal(
            organisation=self._organisation,
            team=header(headers, b"baton-team") or self._team,
            user=user or self._user,
            role="developer" if user else "admin",
        )


def _bearer(headers: dict[bytes, bytes]) -> str:
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
