"""The floor F1: raw ASGI and msgspec on uvicorn with uvloop and httptools, and one multiplexed Redis GET a request.

It decides nothing. `python -m bench.floor UNIX_SOCKET` serves it on a free port and prints that.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import uvicorn

from baton.kernel.redis.client import Redis

Message = MutableMapping[str, Any]


class Payload(msgspec.Struct):
    """The floor's part of a payload."""

    session_id: str
    tool_name: str
    tool_input: dict[str, Any]


class Answer(msgspec.Struct):
    """The floor's answer."""

    decision: str
    tool: str


class Floor:
    """Reads a body, decodes it, sends one request to Redis, encodes an answer."""

    def __init__(self, url: str) -> None:
        self._redis = Redis(url, timeout_s=5)
        self._decode = msgspec.json.Decoder(Payload).decode
        self._encode = msgspec.json.Encoder().encode

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] == "lifespan":
            await receive()
            await self._redis.start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._redis.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        message = await receive()
        payload = self._decode(message["body"])
        await self._redis.call(b"GET", payload.session_id.encode())
        body = self._encode(Answer(decision="allow", tool=payload.tool_name))
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until stopped."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2_048)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(Floor(sys.argv[1]), loop="uvloop", http="httptools", access_log=False, log_level="error")
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
