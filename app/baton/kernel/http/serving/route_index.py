"""Finds a request's route among those whose paths begin with the same word.

The router asks one route after the other whether it matches: with some two hundred, half a millisecond for each request.
"""

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


class RouteIndex:
    """Routes by the first part of their path; a request whose first part none has goes to `otherwise`."""

    def __init__(self, routers: Sequence[APIRouter], otherwise: ASGIApp) -> None:
        """Group the routes of routers, in their order.

        Raises:
            ValueError: If the first part of a path is a parameter: it would belong to every group.
        """
        self._groups: dict[str, APIRouter] = {}
        self._otherwise = otherwise
        for route in (route for router in routers for route in router.routes):
            path = route.path if isinstance(route, Route) else ""
            if _first(path).startswith("{") or not path:
                raise ValueError(f"`{path}` cannot be found by the first part of its path")
            self._groups.setdefault(_first(path), APIRouter()).routes.append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to the routes of its group."""
        group = self._groups.get(_first(scope["path"])) if scope["type"] == "http" else None
        await (group or self._otherwise)(scope, receive, send)


def _first(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""
