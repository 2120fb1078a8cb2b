"""Server-sent events. Streams end with the server; lost readers are not logged as errors."""

import contextlib
from collections.abc import AsyncIterator, Callable

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

PING_S = 15  # interval of pings on a silent stream, in seconds
GRACE_S = 3.0  # time for a stream to end when the server stops, in seconds
SEND_S = 30.0  # timeout for a reader to accept an event, in seconds


class EventStream(EventSourceResponse):
    """A stream of events. `stopping` is set when the server stops; `ping` creates the pings."""

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
        """Send until the stream ends or the reader times out. A timeout is not an error of the server."""
        with contextlib.suppress(SendTimeoutError):
            await super().__call__(scope, receive, send)
