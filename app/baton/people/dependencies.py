"""What FastAPI's routes are handed: the services and the caller. It holds no state of its own."""

from typing import Annotated, cast

from fastapi import Depends, Request

from baton.kernel.base.caller import Caller
from baton.kernel.http.hot_routes import ARRIVED
from baton.people.callers import CallerReader
from baton.registry import Services


def _services(request: Request) -> Services:
    return cast("Services", request.app.state.services)


def _caller(request: Request) -> Caller:
    reader = cast("CallerReader", request.app.state.callers)
    return reader.read(dict(request.scope["headers"]))


def _arrived(request: Request) -> float | None:
    return cast("float | None", request.scope.get(ARRIVED))


ServicesOf = Annotated[Services, Depends(_services)]
CallerOf = Annotated[Caller, Depends(_caller)]
ArrivedAt = Annotated[float | None, Depends(_arrived)]
"""When the request came, by the loop's clock in seconds."""
AUTHENTICATED = Depends(_caller)
"""For routes that serve everybody who has a valid token alike."""
