"""The endpoints that agents wait for, dispatched ahead of FastAPI's router."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import msgspec
from fastapi import FastAPI
from uuid_utils import uuid7

from baton.kernel.base import logs, trace
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import (
    BatonError,
    Forbidden,
    ForbiddenOrigin,
    InternalError,
    MethodNotAllowed,
    TooLarge,
    Unauthenticated,
)
from baton.kernel.http.asgi import (
    Disconnected,
    Message,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    problem_response,
    read_body,
    read_start,
    respond,
)
from baton.kernel.http.cookies import READING, with_session
from baton.kernel.http.guards.origin_guard import Guard
from baton.kernel.http.json_io import MOST_VALUES, bounded, whole_characters
from baton.kernel.http.lifecycle import Lifecycle
from baton.kernel.http.peer import PeerLooks

MAX_ADMIN_BODY = 1 << 20
"""Bytes of a body that FastAPI's routes take."""
MAX_ROSTER_BODY = 16 << 20
"""Bytes of a roster that is pushed: a thousand agents with their prompts."""
MOST_ROSTER_VALUES = 100_000
"""Values and keys of a roster that is pushed: two thousand agents with fifty texts each."""
MAX_REFUSED_BODY = 64 << 10
"""Bytes of a refused hook's body that are read, to know its event."""
_ROSTER = re.compile(r"/rosters/[^/]+")

REQUEST_ID = b"x-request-id"

log = logging.getLogger(__name__)
_FIT = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class StartFailed(Exception):
    """The server cannot start, for a reason that an operator can mend; the text is for them."""


class HotRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One POST endpoint. `path` ends in `/` when the rest of the path is the endpoint's to read.

    `admit` reads from the headers who asks, and refuses whom the endpoint does not serve, before the body is read.
    `answer` gets the whole request. `failed` answers when the caller is refused, the body could not be read or the
    endpoint broke: for hooks even then a decision; None sends the problem.
    """

    path: str
    max_body: int
    admit: Callable[[dict[bytes, bytes]], Caller]
    answer: Callable[[Request, Caller], Awaitable[Response]]
    failed: Callable[[Request, BatonError], Response] | None = None
    most_values: int = MOST_VALUES
    """Values and keys of the body that are decoded."""
    with_result: bool = False
    """Whether the body may carry a tool's result, which is left out where it is too large."""


ARRIVED = "baton.arrived"
"""Where a request's scope tells when it came, by the loop's clock in seconds, to those that judge by it."""


class HotFastAPI(FastAPI):
    """FastAPI with the agents' endpoints in front of its router and its middleware."""

    guard: Guard
    admit: Callable[[dict[bytes, bytes]], object]
    """Refuses a request that changes something and has no valid token, before its body is read."""
    open_paths: frozenset[str] = frozenset()
    """Paths that need no token, since they are how one is got."""
    hot: dict[str, HotRoute]
    lifecycle: Lifecycle
    peers: PeerLooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection's request, or hand it to FastAPI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        name = _arrived(headers)
        try:
            await self._serve(scope, receive, send, headers, name)
        except Disconnected:
            return
        except (TooLarge, Unauthenticated, ForbiddenOrigin) as error:
            await respond(scope, send, problem_response(error, [(REQUEST_ID, name)]))

    def hot_route(self, path: str) -> HotRoute | None:
        """Return the route that answers a path ahead of FastAPI's router."""
        return self.hot.get(path) or self.hot.get(path[: path.rfind("/") + 1])

    async def answer_hot(self, route: HotRoute, request: Request) -> Response:
        """Answer a request to a hot route that was received whole and has no cookies.

        The protocol calls it without ASGI between; `__call__` answers other requests to the same routes with the same steps.
        """
        name = _arrived(request.headers)
        refusal = self.guard.refusal(request.headers)
        return problem_response(refusal) if refusal is not None else await _named(route, request, None, name)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes], name: bytes
    ) -> None:
        refusal = self.guard.refusal(headers, page=_is_page(scope))
        if refusal is not None:
            await respond(scope, send, problem_response(refusal))
            return
        if b"cookie" in headers:
            headers = with_session(scope["method"], headers)
            scope["headers"] = list(headers.items())
        path: str = scope["path"]
        route = self.hot_route(path)
        if route is not None:
            await respond(scope, send, await _named(route, _request(scope, headers), receive, name))
            return
        scope[ARRIVED] = asyncio.get_running_loop().time()
        if scope["method"] in READING:
            limited = receive
        else:
            if path not in self.open_paths:
                self.admit(headers)
            limited = await _limited(receive, scope["method"], path)
        await super().__call__(scope, limited, _naming(send, name))

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and stop; what an operator can mend is told in its own words, without a stack."""
        await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.router.lifespan_context(self))
            except StartFailed as failed:
                await send({"type": "lifespan.startup.failed", "message": str(failed)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _is_page(scope: Scope) -> bool:
    """Return whether a request reads a page of the console, and nothing else."""
    return scope["method"] == "GET" and (scope["path"] in {"/", "/ui"} or scope["path"].startswith("/ui/"))


def _arrived(headers: dict[bytes, bytes]) -> bytes:
    """Note the id and the trace of a request for its logs and records, and return the id.

    It is the one that the caller (or a proxy) gave it; a new one where there is none that is fit for a log.
    """
    given = headers.get(REQUEST_ID)
    name = given.decode() if given is not None and _FIT.fullmatch(given) else uuid7().hex
    logs.request_id.set(name)
    if (traceparent := headers.get(trace.HEADER)) is not None:
        trace.arrived(traceparent)
    return name.encode()


def _naming(send: Send, name: bytes) -> Send:
    """Send the request's id with the answer."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (REQUEST_ID, name)]
        await send(message)

    return named


async def _limited(receive: Receive, method: str, path: str) -> Receive:
    """Read the body of a request that changes something, so that FastAPI never holds more than it should."""
    roster = method == "PUT" and _ROSTER.fullmatch(path)
    body = await read_body(receive, MAX_ROSTER_BODY if roster else MAX_ADMIN_BODY)
    body = whole_characters(await bounded(body, MOST_ROSTER_VALUES if roster else MOST_VALUES))
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        part = next(parts, None)
        return await receive() if part is None else part

    return again


async def _named(route: HotRoute, request: Request, receive: Receive | None, name: bytes) -> Response:
    """Let an endpoint answer, with the request's id; see `_response`."""
    response = await _response(route, request, receive)
    response.headers.append((REQUEST_ID, name))
    return response


async def _response(route: HotRoute, request: Request, receive: Receive | None) -> Response:
    """Let an endpoint answer. With `receive` None the request has its body already.

    Raises:
        Disconnected: If the client went away before the body was complete.
    """
    if request.method != "POST":
        wrong = MethodNotAllowed(f"`{request.method}` is not allowed here; allowed: `POST`")
        return problem_response(wrong, [(b"allow", b"POST")])
    failed: BatonError
    try:
        caller = route.admit(request.headers)
        if receive is not None:
            request = request.with_body(await read_body(receive, route.max_body))
        if len(request.body) > route.most_values:
            request = request.with_body(await bounded(request.body, route.most_values, result=route.with_result))
        return await route.answer(request, caller)
    except Disconnected:
        raise
    except BatonError as error:
        failed = error
    except Exception:
        log.exception("`%s` failed", request.path)
        failed = InternalError()
    if route.failed is None:
        return problem_response(failed)
    if isinstance(failed, Unauthenticated | Forbidden) and receive is not None and not request.body:
        request = request.with_body(await read_start(receive, MAX_REFUSED_BODY))
    return route.failed(request, failed)


def _request(scope: Scope, headers: dict[bytes, bytes]) -> Request:
    address = (scope.get("client") or ("",))[0]
    return Request(scope["method"], scope["path"], scope["query_string"], headers, b"", address)
