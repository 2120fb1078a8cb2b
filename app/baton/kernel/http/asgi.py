"""The plumbing of an ASGI endpoint that stands ahead of the router: body in, bytes out."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import msgspec

from baton.kernel.base.errors import BatonError, TooLarge, Unauthenticated

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

WHOLE = "baton.whole"
"""Our ASGI extension, by which `baton.kernel.http.serving.protocol` takes an answer in one piece: scope, status, headers and body.

It gives False for one that must be sent in parts after all.
"""

_encode = msgspec.json.Encoder().encode


class Disconnected(Exception):
    """The client went away before its body was complete; nobody waits for an answer."""


class Request(msgspec.Struct, frozen=True):
    """What an endpoint sees of a request. Header names are lower case."""

    method: str
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    address: str = ""
    """The other end of the connection: the caller's, or a proxy's; "" on a unix socket."""

    def with_body(self, body: bytes) -> "Request":
        """Return the request with its body."""
        return Request(self.method, self.path, self.query, self.headers, body, self.address)

    def parameter(self, name: str) -> str:
        """Read one query parameter; "" where it is absent."""
        return parse_qs(self.query.decode("latin-1")).get(name, [""])[0] if self.query else ""


class Response(msgspec.Struct, frozen=True):
    """What an endpoint answers."""

    body: bytes
    status: int = 200
    headers: Headers = []
    content_type: bytes = b"application/json"


def problem_response(error: BatonError, headers: Headers | None = None) -> Response:
    """Return an error in the one documented shape."""
    headers = headers or []
    if error.status == Unauthenticated.status:
        headers = [*headers, (b"www-authenticate", b"Bearer")]
    return Response(_encode(error.problem()), error.status, headers, b"application/problem+json")


async def read_body(receive: Receive, limit: int) -> bytes:
    """Read a request's body of at most `limit` bytes.

    Raises:
        TooLarge: As soon as the body is known to be larger; what is left of it is read and dropped, so that the
            client gets to see the answer.
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
    """Read a body that is at most `limit` bytes, for an answer that does without; b"" for a larger one."""
    try:
        return await read_body(receive, limit)
    except TooLarge:
        return b""


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit // (1 << 20)} MiB, the most that this endpoint takes")


def head_of(response: Response) -> Headers:
    """Return all headers of a response."""
    return [
        (b"content-type", response.content_type),
        *response.headers,
        (b"content-length", b"%d" % len(response.body)),
    ]


async def respond(scope: Scope, send: Send, response: Response) -> None:
    """Send a response to the request of this scope."""
    body = response.body
    headers = head_of(response)
    extensions = scope.get("extensions")
    if extensions and WHOLE in extensions and extensions[WHOLE](scope, response.status, headers, body):
        return
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
