"""One hook on its way through the relay."""

import os
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from baton.relay.wire import Fields
from baton.shared.record_ids import id_at

CALL_ID = "Baton-Id"
"""The header with the id of a call's decision: server and relay record a call under the same id, so it is stored once."""
_IDENTITY = ("authorization", "baton-user", "baton-team")


class HookRequest(NamedTuple):
    """A client's hook: its target, body and headers, and the id of its decision."""

    client: str
    event: str
    about: str
    body: bytes
    headers: Fields
    id: str

    @property
    def owner(self) -> str:
        """The digest of the identity that the hook has."""
        return sha256(repr(sorted(self.identity)).encode()).hexdigest()

    @property
    def identity(self) -> Fields:
        """The headers with the hook's identity."""
        return [(low, value) for name, value in self.headers if (low := name.lower()) in _IDENTITY]


def place_of(target: str) -> tuple[str, str, str]:
    """Return the client, the event and the question of a hook's target."""
    path, _, query = target.partition("?")
    found: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        found.setdefault(name, _plain(value))
    return path.removeprefix("/hooks/"), found.get("event", ""), found.get("about", "")


def _plain(value: str) -> str:
    value = value.replace("+", " ")
    return unquote(value) if "%" in value else value


def hook_of(target: str, body: bytes, headers: Fields, now: datetime) -> HookRequest:
    """Read a hook's request."""
    return HookRequest(*place_of(target), body, headers, id_at(now, os.urandom(10)))
