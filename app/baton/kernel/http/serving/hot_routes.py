"""The hook endpoints, dispatched ahead of FastAPI's router."""

import asyncio
import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import parse_qs

import msgspec
from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp
from uuid_utils import uuid7

from baton.kernel.base import errors, logs, trace
from baton.kernel.http.features import Lifecycle
from baton.kernel.http.fields import READING, kind, with_session
from baton.kernel.http.peer import PEER, PERSON, PeerLooks
from baton.shared.caller import Caller

# JSON, with limits on the number of values and on characters.
#
# Decoding blocks the interpreter, even in a thread. Its cost depends on the number of values rather than on bytes: a
# megabyte of text decodes in half a millisecond, a megabyte of short keys in twenty. So values are counted first, without
# building any.

MOST_VALUES = 20_000  # values and keys of a body: about five milliseconds. Tool calls are smaller.
_LONGEST_VALUE = 170  # maximum average length of numbers and white space per value, in bytes
_PIECE = 1 << 20  # bytes counted in one step: two milliseconds

_decode = msgspec.json.Decoder().decode
_HALF = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\0\x1a"
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_FIRST_HALF, _SECOND_HALF = re.compile(_HIGH), re.compile(_LOW)
_LONE_HALF = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")


class HugeNumber:
    """A number beyond floats, such as `1e999`, as text: infinity would become null. msgspec needs a hook for it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _number(text: str) -> float | HugeNumber:
    value = float(text)
    return value if math.isfinite(value) else HugeNumber(text)


def _digits(value: Any) -> bytes:
    if isinstance(value, HugeNumber):
        return value.text.encode()
    raise TypeError(f"`{type(value).__name__}` cannot be encoded")


_encode = msgspec.json.Encoder(enc_hook=lambda value: msgspec.Raw(_digits(value))).encode


class _Response(msgspec.Struct):
    """The unparsed result of a tool in a hook's payload."""

    tool_response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    toolResponse: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


_decode_response = msgspec.json.Decoder(_Response).decode


async def bounded(body: bytes, most: int = MOST_VALUES, *, result: bool = False) -> bytes:
    """Return a body of at most `most` values and keys. Raise TooLarge for a larger one.

    With `result`, an oversized tool result is replaced by null: Baton reads three names of it, and it may have a
    million rows.
    """
    if len(body) <= 2 * most or not await _too_many(body, most):
        return body
    if result:
        body = _without_result(body)
        if not await _too_many(body, most):
            return body
    raise errors.TooLarge(f"the body has more than {most:,} values and keys (or mostly white space); send fewer")


async def _too_many(body: bytes, most: int) -> bool:
    """Return whether JSON has more than `most` values and keys. Yield to the event loop between pieces.

    Every value or key except a container's first follows a comma or colon, so punctuation outside strings counts them.
    """
    found, outside, in_string, at = 1, 0, False, 0
    while at < len(body):
        piece = body[at : at + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # keep escapes whole
            piece = body[at : at + len(piece) + 1]
        at += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"', 2 * most + 2)
        if len(parts) > 2 * most + 2:  # each string is a value or a key
            return True
        marks = b"".join(parts[in_string::2])
        in_string ^= len(parts) % 2 == 0
        found += len(marks) - len(marks.translate(None, b",:[{"))
        outside += len(marks)
        if found > most or outside > _LONGEST_VALUE * most:
            return True
        if at < len(body):
            await asyncio.sleep(0)
    return False


def _without_result(body: bytes) -> bytes:
    try:
        found = _decode_response(_bare(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    for raw in (found.tool_response, found.toolResponse):
        if raw is not msgspec.UNSET:
            body = body.replace(bytes(raw), b"null", 1)
    return body


def whole_characters(body: bytes) -> bytes:
    r"""Replace each escaped NUL (`\u0000`) and lone surrogate (`\ud800`) by U+FFFD: no store accepts them."""
    if b"\\u0000" not in body and b"\\ud" not in body and b"\\uD" not in body:
        return body
    # With this spelling, an escaped backslash cannot look like the start of another escape. No callback per escape: a
    # body may consist of escapes only.
    body = body.replace(b"\\\\", b"\\u005c").replace(b"\\u0000", b"\\ufffd")
    return _LONE_HALF.sub(rb"\\ufffd", body)


def decode_object(body: bytes) -> dict[str, Any]:
    r"""Decode a body into an object. Raise BadJSON, with the position of the error.

    Escaped lone surrogates (`\ud800`) are valid JSON but not encodable. Such a body is read too, because its content
    must be judged. U+FFFD replaces them only in the top-level strings, such as the names of a session or a folder.
    """
    body = _bare(body)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _with_whole_names(_decode_slowly(body))
    if not isinstance(value, dict):
        raise errors.BadJSON(f"the body must be a JSON object, not {kind(value)}")
    return value


def _bare(body: bytes) -> bytes:
    """Return a body in UTF-8, without byte order marks and surrounding blanks and NULs."""
    if body[:1] == b"{" and body[-1:] == b"}":
        return body
    while body.startswith(_BOM):
        body = body[len(_BOM) :]
    encoding = json.detect_encoding(body)
    if encoding.startswith(("utf-16", "utf-32")):
        body = body.decode(encoding, "replace").lstrip("\ufeff").encode("utf-8", "replace")
    return body.strip(_BLANK)


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
LARGE = 4 << 20  # bytes from which a body is decoded in steps


async def decode_large(body: bytes) -> dict[str, Any]:
    """Decode a body like `decode_object`, but yield to the event loop during megabytes of text.

    Large bodies consist of strings in a tool's input, so one level below the top-level fields is decoded in steps.
    """
    if len(body) <= LARGE:
        return decode_object(body)
    try:
        found = await _decode_parts(_bare(body), levels=2)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return decode_object(body)  # reports the error
    return _with_whole_names(found)  # type: ignore[no-any-return]


async def _decode_parts(raw: bytes | memoryview, levels: int) -> Any:
    if len(raw) <= _PIECE:
        return _decode_piece(bytes(raw))
    await asyncio.sleep(0)
    first = bytes(raw[:1])
    if first == b'"':
        return await _decode_text(bytes(raw[1:-1]))
    if first == b"{" and levels:
        return {key: await _decode_parts(memoryview(part), levels - 1) for key, part in _parts(raw).items()}
    return _decode_piece(bytes(raw))


async def _decode_text(text: bytes) -> str:
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = _cut(text, at, at + _PIECE)
        pieces.append(_decode_piece(b'"%b"' % text[at:end]))
        at = end
        await asyncio.sleep(0)
    return "".join(pieces)


def _cut(text: bytes, start: int, end: int) -> int:
    """Return a safe cut at or shortly before `end`: not within an escape, a surrogate pair or a character."""
    if end >= len(text):
        return len(text)
    at = text.rfind(b"\\", end - 12, end)
    if at < 0:
        while text[end] & 0xC0 == 0x80:  # noqa: PLR2004 - a continuation byte of UTF-8
            end -= 1
        return end
    run = at + 1 - len(text[start : at + 1].rstrip(b"\\")) - start
    at -= run % 2 == 0
    return at - 6 if _SECOND_HALF.match(text, at) and _FIRST_HALF.match(text, at - 6) else at


def _decode_piece(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(body, parse_constant=_refuse, parse_float=_number)


def _with_whole_names(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _HALF.sub("\ufffd", part) if isinstance(part, str) else part for key, part in value.items()}


def _decode_slowly(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=_refuse, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise bad_json(error) from None


def bad_json(error: BaseException | None) -> errors.BadJSON:
    """Return the error for an invalid JSON body."""
    match error:
        case UnicodeDecodeError():
            return errors.BadJSON(f"the body is not UTF-8: byte {error.start} cannot be read")
        case RecursionError():
            return errors.BadJSON("the body is nested too deeply")
        case json.JSONDecodeError():
            what = error.msg.lower().removesuffix(" at")
            return errors.BadJSON(f"the body is not JSON: {what} at line {error.lineno}, column {error.colno}")
        case ValueError() if "digits" in str(error):  # Python's message explains how to raise its limit
            return errors.BadJSON("a number in the body has too many digits")
        case _:
            return errors.BadJSON(f"the body is not JSON: {error}")


def encode(value: Any) -> bytes:
    """Encode an answer. Lone surrogates are escaped."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _spelled(msgspec.to_builtins(value, enc_hook=_digits, builtin_types=(bytes,))).encode()


def _spelled(value: Any) -> str:
    """Encode built-in values as JSON. Bytes are the digits of a huge number."""
    if isinstance(value, dict):
        return "{" + ",".join([f"{json.dumps(key)}:{_spelled(part)}" for key, part in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_spelled(part) for part in value]) + "]"
    return value.decode() if isinstance(value, bytes) else json.dumps(value)


# Endpoints: body in, bytes out.

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class Disconnected(Exception):
    """The client disconnected before its body was complete. No answer is needed."""


class Request(msgspec.Struct):
    """A request as seen by an endpoint. Header names are lower case. The body is empty until it is read."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    address: str = ""  # address of the peer: the caller or a proxy; "" on a UNIX socket

    def parameter(self, name: str) -> str:
        """Return a query parameter, or ""."""
        return parse_qs(self.query.decode("latin-1")).get(name, [""])[0] if self.query else ""


class Response(msgspec.Struct, frozen=True):
    """An endpoint's response."""

    body: bytes
    status: int = 200
    headers: Headers = []
    content_type: bytes = b"application/json"


def problem_response(error: errors.BatonError, headers: Headers | None = None) -> Response:
    """Return an error as a problem response."""
    headers = headers or []
    if error.status == errors.Unauthenticated.status:
        headers = [*headers, (b"www-authenticate", b"Bearer")]
    return Response(encode(error.problem()), error.status, headers, b"application/problem+json")


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read a request's body of at most `limit` bytes. Raise Disconnected, or TooLarge for a larger body.

    Up to twice the limit is read and dropped, so that the client can read the answer.
    """
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise Disconnected
    if not message.get("more_body", False):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    chunks, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            chunks.clear()
            if size > 2 * limit:
                break
        else:
            chunks.append(chunk)
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


async def read_start(receive: Receive, limit: int) -> bytes:
    """Read a body of at most `limit` bytes, or return b"" for a larger one."""
    try:
        return await read_body(receive, limit)
    except errors.TooLarge:
        return b""


def _too_large(limit: int) -> errors.TooLarge:
    return errors.TooLarge(f"the body is larger than {limit // (1 << 20)} MiB, the limit of this endpoint")


def head_of(response: Response) -> Headers:
    """Return all headers of a response."""
    return [
        (b"content-type", response.content_type),
        *response.headers,
        (b"content-length", b"%d" % len(response.body)),
    ]


WHOLE = "baton.whole"  # scope key of the server's function that writes a whole response, or returns False


async def respond(scope: Scope, send: Send, response: Response) -> None:
    """Send a response, in one write if possible: a head of its own would wake the client for nothing.

    The answers of a tick leave together, for the same reason, and after what the tick has queued for the log is packed.
    """
    await asyncio.sleep(0)
    headers = head_of(response)
    whole = scope.pop(WHOLE, None)  # popped, as it holds the connection, which holds the scope
    if whole is not None and whole(response.status, headers, response.body):
        return
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


# Host and Origin checks.
#
# On loopback there is no token, so a web page visited by a developer must not be able to post here: neither from its
# own origin, nor through a name that resolves to 127.0.0.1 (DNS rebinding).

LOOPBACK = frozenset({"127.0.0.1", "localhost", "baton.localhost", "::1"})
_HOST = re.compile(r"(?:\[([0-9a-f:.]*:[0-9a-f:.]*)]|([^:]+))(?::[0-9]{0,5})?")
"""A name, or an IPv6 address in brackets, and a port. The whole name is compared with the allowed ones."""


class Guard:
    """Checks the Host of every request, and the Origin if present."""

    def __init__(self, allowed_hosts: Iterable[str]) -> None:
        self._allowed = LOOPBACK | {host.lower() for host in allowed_hosts}

    def refusal(self, headers: dict[bytes, bytes], *, page: bool = False) -> errors.BatonError | None:
        """Return the error for refused headers (names in lower case), or None.

        A `page` is reachable by links from anywhere. It contains no personal data and cannot be framed.
        """
        host = headers.get(b"host", b"")
        if _host_name(host) not in self._allowed:
            return errors.ForbiddenHost(
                f"the Host header names `{host.decode('latin-1')}`; allowed: {', '.join(f'`{h}`' for h in sorted(self._allowed))}"
                " (set BATON_ALLOWED_HOSTS to add one)"
            )
        if page and headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document":
            return None
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2].lower() != host.lower():
            return errors.ForbiddenOrigin(f"a page of `{origin.decode('latin-1')}` may not post here")
        if headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
            return errors.ForbiddenOrigin("a page of another site may not post here")
        return None


@lru_cache(maxsize=64)
def _host_name(host: bytes) -> str | None:
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return found[1] or found[2] if found else None


MAX_ADMIN_BODY = 1 << 20  # maximum body size of FastAPI's routes, in bytes
MAX_ROSTER_BODY = 16 << 20  # maximum size of a pushed roster, in bytes: a thousand agents with their prompts
MOST_ROSTER_VALUES = 100_000  # values and keys of a pushed roster: 2,000 agents with 50 strings each
MAX_REFUSED_BODY = 1 << 20  # bytes read of a hook's body without a valid token, since hooks still get a decision
_ROSTER = re.compile(r"/rosters/[^/]+")

REQUEST_ID = b"x-request-id"

log = logging.getLogger(__name__)
_FIT = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class StartFailed(Exception):
    """The server cannot start, and an operator can fix it. The message is for them."""


class HotRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One POST endpoint. If `path` ends in `/`, the endpoint reads the rest of the path.

    `admit` authenticates the caller from the headers, before the body is read. `answer` gets the whole request.
    `failed` answers refused callers, unreadable bodies and internal errors. Hooks use it to return a decision even
    then; None sends the problem.
    """

    path: str
    max_body: int
    admit: Callable[[dict[bytes, bytes]], Caller]
    answer: Callable[[Request, Caller], Awaitable[Response]]
    failed: Callable[[Request, errors.BatonError], Awaitable[Response]] | None = None
    most_values: int = MOST_VALUES  # maximum number of values and keys of the body
    with_result: bool = False  # whether the body may contain a tool's result, omitted if too large


ARRIVED = "baton.arrived"  # scope key of the request's arrival time, by the loop's clock in seconds


class HotFastAPI(FastAPI):
    """FastAPI with the hook endpoints ahead of its router and middleware."""

    guard: Guard
    admit: Callable[[dict[bytes, bytes]], object]  # refuses changes without a valid token, before their body is read
    open_paths: frozenset[str] = frozenset()  # paths without a token: they issue one
    hot: dict[str, HotRoute]
    lifecycle: Lifecycle
    peers: PeerLooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to FastAPI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        if PEER in scope:
            scope["headers"].append((PERSON, await scope[PEER]))
        headers: dict[bytes, bytes] = dict(scope["headers"])
        name = _arrived(headers)
        try:
            await self._serve(scope, receive, send, headers, name)
        except Disconnected:
            return
        except (errors.TooLarge, errors.Unauthenticated, errors.ForbiddenOrigin) as error:
            await respond(scope, send, problem_response(error, [(REQUEST_ID, name)]))

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
        route = self.hot.get(path) or self.hot.get(path[: path.rfind("/") + 1])
        if route is not None:
            response = await _response(route, _request(scope, headers), receive)
            response.headers.append((REQUEST_ID, name))
            await respond(scope, send, response)
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
        """Start and stop. Operators' mistakes are reported without a stack trace."""
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
    """Return whether a request only reads a page of the console."""
    return scope["method"] == "GET" and (scope["path"] in {"/", "/ui"} or scope["path"].startswith("/ui/"))


def _arrived(headers: dict[bytes, bytes]) -> bytes:
    """Set and return the request's id for logs and records: the one sent, if it is fit for a log. Set its trace."""
    given = headers.get(REQUEST_ID)
    name = given.decode() if given is not None and _FIT.fullmatch(given) else uuid7().hex
    logs.request_id.set(name)
    if (traceparent := headers.get(trace.HEADER)) is not None:
        trace.arrived(traceparent)
    return name.encode()


def _naming(send: Send, name: bytes) -> Send:
    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (REQUEST_ID, name)]
        await send(message)

    return named


async def _limited(receive: Receive, method: str, path: str) -> Receive:
    """Read a body within the limits, and replay it to FastAPI."""
    roster = method == "PUT" and _ROSTER.fullmatch(path)
    body = await read_body(receive, MAX_ROSTER_BODY if roster else MAX_ADMIN_BODY)
    body = whole_characters(await bounded(body, MOST_ROSTER_VALUES if roster else MOST_VALUES))
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        part = next(parts, None)
        return await receive() if part is None else part

    return again


async def _response(route: HotRoute, request: Request, receive: Receive) -> Response:
    if request.method != "POST":
        wrong = errors.MethodNotAllowed(f"`{request.method}` is not allowed here; allowed: `POST`")
        return problem_response(wrong, [(b"allow", b"POST")])
    failed: errors.BatonError
    try:
        caller = route.admit(request.headers)
        request.body = await read_body(receive, route.max_body)
        if len(request.body) > route.most_values:
            request.body = await bounded(request.body, route.most_values, result=route.with_result)
        return await route.answer(request, caller)
    except Disconnected:
        raise
    except errors.BatonError as error:
        failed = error
    except Exception:
        log.exception("`%s` failed", request.path)
        failed = errors.InternalError()
    if route.failed is None:
        return problem_response(failed)
    if isinstance(failed, errors.Unauthenticated | errors.Forbidden) and not request.body:
        request.body = await read_start(receive, MAX_REFUSED_BODY)
    return await route.failed(request, failed)


def _request(scope: Scope, headers: dict[bytes, bytes]) -> Request:
    address = (scope.get("client") or ("",))[0]
    return Request(scope["method"], scope["path"], scope["query_string"], headers, b"", address)


# Routes by first path segment: the router alone needs half a millisecond for two hundred routes.


class RouteIndex:
    """Routes by the first segment of their path. Other requests go to `otherwise`."""

    def __init__(self, routers: Sequence[APIRouter], otherwise: ASGIApp) -> None:
        """Group the routers' routes, in order. Raise ValueError if the first segment of a path is a parameter."""
        self._groups: dict[str, APIRouter] = {}
        self._otherwise = otherwise
        for route in (route for router in routers for route in router.routes):
            path = route.path if isinstance(route, Route) else ""
            if _first(path).startswith("{") or not path:
                raise ValueError(f"`{path}` cannot be found by the first part of its path")
            self._groups.setdefault(_first(path), APIRouter()).routes.append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the routes of its group."""
        group = self._groups.get(_first(scope["path"])) if scope["type"] == "http" else None
        await (group or self._otherwise)(scope, receive, send)


def _first(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""
