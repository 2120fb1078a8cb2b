"""Clients and payloads by the caller's names. Unreadable input is the caller's error."""

from typing import Any

from baton.clients.event import Client, HookEvent, UnreadableFieldError, tool_input_of
from baton.clients.registry import CLIENTS
from baton.kernel.base.errors import Invalid, UnknownClient
from baton.kernel.http.fields import optional_text

_SPELLINGS = {
    "session_id": "sessionId", "agent_id": "agentId", "agent_type": "agentType", "cwd": "directory",
    "permission_mode": "permissionMode", "tool_name": "toolName", "tool_use_id": "toolUseId",
}  # fmt: skip
"""Other names of the strings in an API caller's payload."""


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


def read_fields(payload: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of a call in an API caller's payload, in snake_case or camelCase. Raise Invalid."""
    fields: dict[str, Any] = {name: optional_text(payload, name, other) for name, other in _SPELLINGS.items()}
    try:
        return fields | {"tool_input": tool_input_of(fields["tool_name"], payload, "tool_input", "toolInput")}
    except UnreadableFieldError as error:
        raise Invalid(error.field, error.message) from None
