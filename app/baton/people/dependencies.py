"""What FastAPI's routes are handed besides services: who asks, and when the request came."""

from typing import Annotated, cast

from fastapi import Depends, Request

from baton.kernel.base.caller import Caller
from baton.kernel.http.features import of
from baton.kernel.http.hot_routes import ARRIVED
from baton.people.callers import CallerReader

CallerReaderOf = Annotated[CallerReader, Depends(of(CallerReader))]


async def _caller(request: Request, reader: CallerReaderOf) -> Caller:
    return reader.read(dict(request.scope["headers"]))


async def _arrived(request: Request) -> float | None:
    return cast("float | None", request.scope.get(ARRIVED))


CallerOf = Annotated[Caller, Depends(_caller)]
ArrivedAt = Annotated[float | None, Depends(_arrived)]
"""When the request came, by the loop's clock in seconds."""
AUTHENTICATED = Depends(_caller)
"""For routes that serve everybody who has a valid token alike."""
