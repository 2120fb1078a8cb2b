"""Dependency injection of services by type."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Literal, TypeVar, cast

import msgspec
from fastapi import Request

T = TypeVar("T")


class Features:
    """The services of a running server, one per type."""

    def __init__(self) -> None:
        self._services: dict[type, object] = {}

    def add(self, feature: msgspec.Struct) -> None:
        """Add a feature's services by type. Raise TypeError for a second service of one type."""
        for name in feature.__struct_fields__:
            service = getattr(feature, name)
            if self._services.setdefault(type(service), service) is not service:
                raise TypeError(f"`{type(feature).__name__}.{name}` is a second `{type(service).__name__}`")

    def get(self, kind: type[T]) -> T:
        """Return the service of a type. Raise KeyError if there is none."""
        return cast("T", self._services[kind])


@cache
def of(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return a dependency for the service of a type: `Annotated[Modes, Depends(of(Modes))]`."""

    async def find(request: Request) -> T:  # `async`: FastAPI runs sync dependencies in a thread
        return cast("Features", request.app.state.features).get(kind)

    return find


# The server's phase, used by streams, polls and `/readyz`.

Phase = Literal["starting", "ready", "draining"]


class Lifecycle:
    """The phase of one server process."""

    def __init__(self) -> None:
        self.phase: Phase = "starting"
