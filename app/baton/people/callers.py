"""Who sends a request, read from its headers.

A token sets user, team and role. Without one, on loopback, user and team are what the headers say, and the request has
the credential of hooks and agents, unless it came from a person's terminal (`kernel/http/peer.py`).
"""

import re
from typing import Annotated, Literal, cast

from fastapi import Depends, Request

from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Unauthenticated
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import of
from baton.kernel.http.peer import PERSON, PROVEN
from baton.kernel.http.serving.hot_routes import ARRIVED
from baton.people.permissions import require
from baton.people.terminal_codes import TerminalCodes
from baton.people.tokens import Tokens

LONGEST_HEADER = 1024
"""How much of a header's value is read, in bytes."""
REMEMBERED = 1_024
"""How many sets of headers a process caches: a client sends the same ones with every call."""
PROTOCOL = "1"
"""The version of the headers between shim and server."""

_TRUE = {"1", "true", "yes", "on"}
_HEADERS = (
    b"baton-user",
    b"baton-team",
    b"baton-project",
    b"baton-root",
    b"baton-work-items",
    b"baton-disabled",
    b"baton-orchestrator-disabled",
    b"baton-on-failure",
    b"baton-debug",
    b"baton-protocol",
    b"baton-accept-rewrites",
    b"baton-installed",
    b"baton-digests",
    b"baton-manifest",
    b"baton-machine",
    b"baton-client",
    PERSON,
)
"""The headers that describe a caller, except for the token."""
_AI_AGENT = re.compile(r"[a-z-]{1,40}_(\d{1,6}(?:-\d{1,6}){0,3})(?:_|$)", re.ASCII)
_HeaderValues = tuple[bytes | None, ...]


def header(headers: dict[bytes, bytes], name: bytes) -> str:
    """Read a header as UTF-8 text without control characters; "" where it is absent."""
    raw = headers.get(name)
    if not raw:
        return ""
    text = raw[:LONGEST_HEADER].decode("utf-8", "replace").strip()
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


class CallerReader:
    """Reads callers from headers; what the headers leave out comes from the settings."""

    def __init__(self, settings: Settings, tokens: Tokens, codes: TerminalCodes) -> None:
        self._tokens = tokens
        self._codes = codes
        self._required = settings.auth_on
        self._organisation = settings.organisation
        self._team = settings.team
        self._user = settings.default_user
        self._on_failure: Literal["allow", "block"] = settings.on_failure
        self._known: dict[tuple[Principal | None, _HeaderValues], Caller] = {}

    def read(self, headers: dict[bytes, bytes]) -> Caller:
        """Read a caller.

        Raises:
            Unauthenticated: Tokens are required, and this request has no valid one.
        """
        if b"baton-person" in headers and not self._required and self._codes.is_proof(header(headers, b"baton-person")):
            headers = headers | {PERSON: PROVEN}
        principal = self._of_token(headers)
        values = tuple(map(headers.get, _HEADERS))
        caller = self._known.get((principal, values))
        if caller is None:
            caller = self._read(principal, headers)
            # Reading takes longer than all else in a fast decision, and long values would fill the cache.
            if sum(map(len, filter(None, values))) <= LONGEST_HEADER:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[principal, values] = caller
        return caller

    def _of_token(self, headers: dict[bytes, bytes]) -> Principal | None:
        if self._required:
            return self._tokens.check(_bearer(headers))
        if b"authorization" not in headers:
            return None
        try:
            return self._tokens.check(_bearer(headers))
        except Unauthenticated:
            # Where no token is needed, an old one in a developer's settings must not put their rules out of force.
            return None

    def read_for_call(self, headers: dict[bytes, bytes]) -> Caller:
        """Read the caller of a request that an agent sends while it works.

        Raises:
            Unauthenticated: Tokens are required, and this request has no valid one.
            Forbidden: The token's role has no agents.
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
            disabled=header(headers, b"baton-disabled").lower() in _TRUE,
            mode_off=header(headers, b"baton-orchestrator-disabled").lower() in _TRUE,
            on_failure=self.on_failure(headers),
            debug=header(headers, b"baton-debug").lower() in _TRUE,
            protocol=header(headers, b"baton-protocol"),
            accepts_rewrites=_names(header(headers, b"baton-accept-rewrites")),
            installed=tuple(filter(None, header(headers, b"baton-installed").split(":"))),
            digests=header(headers, b"baton-digests"),
            manifest=header(headers, b"baton-manifest"),
            machine=header(headers, b"baton-machine"),
            client_version=_version(header(headers, b"baton-client")),
        )

    def on_failure(self, headers: dict[bytes, bytes]) -> Literal["allow", "block"]:
        """Read which answer the client wants when no decision can be made."""
        failure = header(headers, b"baton-on-failure")
        return "block" if failure == "block" else "allow" if failure == "allow" else self._on_failure

    def _trusted(self, headers: dict[bytes, bytes]) -> Principal:
        """Trust the headers; whoever sends no `Baton-User` is the machine's own user, who sees everything.

        That is what agents can do, too, so the credential is theirs, unless the request came from a terminal.
        """
        user = header(headers, b"baton-user")
        return Principal(
            organisation=self._organisation,
            team=header(headers, b"baton-team") or self._team,
            user=user or self._user,
            role="developer" if user else "admin",
            agent=headers.get(PERSON) != PROVEN,
        )


def _names(text: str) -> frozenset[str]:
    """Read a list of tools, separated by commas."""
    return frozenset(name for one in text.split(",") if (name := one.strip()))


def _bearer(headers: dict[bytes, bytes]) -> str:
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _caller(request: Request, reader: Annotated[CallerReader, Depends(of(CallerReader))]) -> Caller:
    return reader.read(dict(request.scope["headers"]))


async def _arrived(request: Request) -> float | None:
    return cast("float | None", request.scope.get(ARRIVED))


CallerReaderOf = Annotated[CallerReader, Depends(of(CallerReader))]
CallerOf = Annotated[Caller, Depends(_caller)]
ArrivedAt = Annotated[float | None, Depends(_arrived)]
"""When the request came, by the loop's clock in seconds."""
AUTHENTICATED = Depends(_caller)
"""For routes that serve everybody with a valid token alike."""


def _version(agent: str) -> str:
    """Return the version in what agent clients set as AI_AGENT (`claude-code_2-1-329_harness`), "" if there is none."""
    found = _AI_AGENT.match(agent)
    return found[1].replace("-", ".") if found else ""
