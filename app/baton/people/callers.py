"""Reads a request's caller from its headers.

A token sets user, team and role. Without one, on loopback, user and team come from the headers. The request then has
the credential of hooks and agents, unless it came from a person's terminal (`kernel/http/peer.py`).
"""

from collections.abc import Callable
from typing import Annotated, Literal, cast, get_args

import anyio
import msgspec
from fastapi import Depends, Request

from baton.kernel.base.errors import Unauthenticated
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import Lifecycle, of
from baton.kernel.http.peer import PERSON, PROVEN
from baton.kernel.http.serving.hot_routes import ARRIVED
from baton.people.tokens import Tokens
from baton.people.users import Named, Users, require
from baton.rules.call.call import Principal
from baton.shared.caller import LONGEST_HEADER, Caller, caller_of, header, on_failure_of
from baton.shared.storable import generation, project_name

REMEMBERED = 1_024  # number of header sets cached per process: a client sends the same ones with every call
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
    b"baton-worktrees",
    b"baton-models",
    b"baton-digests",
    b"baton-manifest",
    b"baton-machine",
    b"baton-client",
    b"baton-ignored",
    PERSON,
)  # the headers of a caller, except for the token
_HeaderValues = tuple[bytes | None, ...]


class CallerReader:
    """Reads callers from headers. Missing values come from the settings."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._tokens = tokens
        self._required = settings.auth_on
        self._organisation = settings.organisation
        self._team = settings.team
        self._user = settings.default_user
        self._on_failure: Literal["allow", "block"] = settings.on_failure
        self._known: dict[tuple[Principal | None, int, _HeaderValues], Caller] = {}

    def read(self, headers: dict[bytes, bytes]) -> Caller:
        """Read a caller. Raise Unauthenticated without a valid token, if tokens are required."""
        principal = self._of_token(headers)
        values = tuple(map(headers.get, _HEADERS))
        known = (principal, generation(), values)
        caller = self._known.get(known)
        if caller is None:
            caller = self._read(principal, headers)
            # Reading is the slowest part of a fast decision. Long values would fill the cache.
            if sum(map(len, filter(None, values))) <= LONGEST_HEADER:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[known] = caller
        return caller

    def _of_token(self, headers: dict[bytes, bytes]) -> Principal | None:
        if self._required:
            return self._tokens.check(_bearer(headers))
        if b"authorization" not in headers:
            return None
        try:
            return self._tokens.check(_bearer(headers))
        except Unauthenticated:
            # Without required tokens, an old one in a developer's settings must not disable their rules.
            return None

    def read_for_call(self, headers: dict[bytes, bytes]) -> Caller:
        """Read the caller of an agent's request. Raise Unauthenticated, or Forbidden for a role without agents."""
        caller = self.read(headers)
        require(caller.principal, "calls.make")
        return caller

    def unknown(self, headers: dict[bytes, bytes]) -> Caller:
        """Read a caller with an invalid token: nobody, without any permission to relax rules."""
        nobody = Principal(organisation=self._organisation, team="", user="", role="", agent=True)
        return msgspec.structs.replace(
            self._read(nobody, headers), project="", disabled=False, mode_off=False, accepts_rewrites=frozenset()
        )

    def _read(self, principal: Principal | None, headers: dict[bytes, bytes]) -> Caller:
        return caller_of(principal or self._trusted(headers), headers, self._on_failure, project_name)

    def on_failure(self, headers: dict[bytes, bytes]) -> Literal["allow", "block"]:
        """Return the client's chosen answer if no decision is possible."""
        return on_failure_of(headers, self._on_failure)

    def _trusted(self, headers: dict[bytes, bytes]) -> Principal:
        """Trust the headers. Without `Baton-User` it is the machine's own user, who sees everything.

        Agents can send these headers too, so the credential is theirs, unless the request came from a terminal.
        """
        user = header(headers, b"baton-user")
        return Principal(
            organisation=self._organisation,
            team=header(headers, b"baton-team") or self._team,
            user=user or self._user,
            role="developer" if user else "admin",
            agent=headers.get(PERSON) != PROVEN,
        )


def _bearer(headers: dict[bytes, bytes]) -> str:
    scheme, _, token = header(headers, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


_PLACES = {"/mode", "/patterns/search", "/policies", "/policies/agents", "/policies/rules", "/routing/rosters"}
"""Paths that take the project or user of a call to come, which need not be known yet."""


async def _caller(request: Request, reader: Annotated[CallerReader, Depends(of(CallerReader))]) -> Caller:
    """Read the caller, and refuse a filter by an unknown name. Invisible users' names are neither refused nor told."""
    caller = reader.read(dict(request.scope["headers"]))
    given = request.query_params
    filtered = request.method in {"GET", "POST"} and not request.path_params and request.url.path not in _PLACES
    for kind in filter(given.get, get_args(Named)) if given and filtered else ():
        users = await of(Users)(request)
        name = project_name(given[kind]) if kind == "project" else given[kind]
        if kind != "user" or users.covers(caller.principal, "users.read", name):
            await users.check_known(caller, kind, name)
    return caller


async def _arrived(request: Request) -> float | None:
    return cast("float | None", request.scope.get(ARRIVED))


CallerReaderOf = Annotated[CallerReader, Depends(of(CallerReader))]
CallerOf = Annotated[Caller, Depends(_caller)]
UsersOf = Annotated[Users, Depends(of(Users))]
ArrivedAt = Annotated[float | None, Depends(_arrived)]  # the request's arrival time, by the loop's clock in seconds
AUTHENTICATED = Depends(_caller)  # for routes open to every valid token


# The caller of a stream: its token is checked again, since it may be revoked or change its role.


def caller_of_stream(
    request: Request, callers: CallerReader, lifecycle: Lifecycle, stopping: anyio.Event
) -> Callable[[], Caller | None]:
    """Return a function for the current caller: None once the server stops or the token is refused."""
    headers = dict(request.scope["headers"])

    def now() -> Caller | None:
        if stopping.is_set() or lifecycle.phase != "ready":
            return None
        try:
            return callers.read(headers)
        except Unauthenticated:
            return None

    return now
