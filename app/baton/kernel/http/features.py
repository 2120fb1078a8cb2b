"""How a route gets the service that it calls: by its type, as a typed dependency."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar, cast

import msgspec
from fastapi import Request

T = TypeVar("T")


class Features:
    """The services of a running server, one of each type."""

    def __init__(self) -> None:
        self._services: dict[type, object] = {}

    def add(self, feature: msgspec.Struct) -> None:
        """Add every service of a feature, by its type."""
        for name in feature.__struct_fields__:
            service = getattr(feature, name)
            self._services[type(service)] = service

    def get(self, kind: type[T]) -> T:
        """Return the service of a type. Raise KeyError if no feature has one."""
        return cast("T", self._services[kind])


@cache
def of(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return a dependency that finds the service of a type: `Annotated[Modes, Depends(of(Modes))]`."""

    async def find(request: Request) -> T:  # `async`, because FastAPI calls anything else in a thread
        return cast("Features", request.app.state.features).get(kind)

    return find
