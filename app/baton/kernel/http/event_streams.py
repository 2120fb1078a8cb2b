"""Answers of server-sent events that end with the server, and without a fault in the log when nobody reads them."""

import contextlib
from collections.abc import AsyncIterator, Callable

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

PING_S = 15
"""How often a silent stream sends a ping, in seconds."""
GRACE_S = 3.0
"""How long a stream has to end by itself when the server stops, in seconds."""
SEND_S = 30.0
"""How long a reader may take to accept an event, in seconds."""


class EventStream(EventSourceResponse):
    """A stream of events; `stopping` is set when the server stops, `ping` makes what a silent stream sends."""

    def __init__(
        self,
        events: AsyncIterator[ServerSentEvent],
        stopping: anyio.Event,
        ping: Callable[[], ServerSentEvent] | None = None,
    ) -> None:
        super().__init__(
            events,
            ping=PING_S,
            ping_message_factory=ping,
            sep="\n",
            send_timeout=SEND_S,
            shutdown_event=stopping,
            shutdown_grace_period=GRACE_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, or until the reader accepts nothing for too long, which is not an error of the server."""
        with contextlib.suppress(SendTimeoutError):
            await super().__call__(scope, receive, send)
