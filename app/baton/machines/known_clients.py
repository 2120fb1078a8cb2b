"""Clients and payloads by the caller's names. Unreadable input is the caller's error."""

from typing import Any

from baton.clients.event import Client, HookEvent, UnreadableFieldError, tool_input_of
from baton.clients.registry import CLIENTS
from baton.kernel.base.errors import Invalid, UnknownClient


def known_client(name: str) -> Client:
    """Return the client of a name. Raise UnknownClient."""
    client = CLIENTS.get(name)
    if client is None:
        raise UnknownClient(f"`{name}` is not a supported client; allowed: {', '.join(sorted(CLIENTS))}")
    return client


def read_event(client: Client, payload: dict[str, Any], event: str) -> HookEvent:
    """Read a client's payload. Raise Invalid."""
    try:
        return client.read(payload, event)
    except UnreadableFieldError as error:
        raise Invalid(error.field, error.message) from None


def read_tool_input(tool: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Read the input of an API caller's tool. Raise Invalid."""
    try:
        return tool_input_of(tool, payload, "tool_input", "toolInput")
    except UnreadableFieldError as error:
        raise Invalid(error.field, error.message) from None
