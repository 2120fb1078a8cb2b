"""Whose a stream is while it goes on: its token is read again, because it may be revoked or get another role."""

from collections.abc import Callable

import anyio
from fastapi import Request

from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Unauthenticated
from baton.kernel.http.lifecycle import Lifecycle
from baton.people.callers import CallerReader


def caller_of_stream(
    request: Request, callers: CallerReader, lifecycle: Lifecycle, stopping: anyio.Event
) -> Callable[[], Caller | None]:
    """Return a function that returns the caller as of now, None once the server stops or the token is refused."""
    headers = dict(request.scope["headers"])

    def now() -> Caller | None:
        if stopping.is_set() or lifecycle.phase != "ready":
            return None
        try:
            return callers.read(headers)
        except Unauthenticated:
            return None

    return now
