"""The clients whose hooks Baton understands. A new client needs a module here and an entry in `CLIENTS`."""

from typing import Any

from baton.clients.dialects import claude_code, codex, continue_cli, copilot_cli, cursor, gemini, opencode, qwen
from baton.clients.event import Client
from baton.kernel.base.errors import UnknownClient

_MODULES: tuple[Client, ...] = (claude_code, codex, continue_cli, copilot_cli, cursor, gemini, opencode, qwen)
CLIENTS: dict[str, Client] = {module.name: module for module in _MODULES}
"""By the name in `/hooks/{client}`."""
_COPILOT, _CURSOR = copilot_cli.InClaudeSettings(), cursor.InClaudeSettings()


def known_client(name: str) -> Client:
    """Return the client of a name. Raises UnknownClient."""
    client = CLIENTS.get(name)
    if client is None:
        raise UnknownClient(f"`{name}` is not a client that Baton speaks to; allowed: {', '.join(sorted(CLIENTS))}")
    return client


def who_posts(client: Client, payload: dict[str, Any]) -> Client:
    """Return the client that has really sent a payload: one that reads another's settings posts under its name."""
    if client is not claude_code:
        return client
    if copilot_cli.posts(payload):
        return _COPILOT
    if cursor.posts(payload):
        return _CURSOR
    return continue_cli if continue_cli.posts(payload) else client
