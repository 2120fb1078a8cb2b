"""The clients whose hooks Baton understands. A new client needs a module here and an entry in `CLIENTS`."""

from typing import Any

from baton.clients import claude_code, codex, copilot_cli, gemini, opencode, qwen
from baton.clients.event import Client

_MODULES: tuple[Client, ...] = (claude_code, codex, copilot_cli, gemini, opencode, qwen)
CLIENTS: dict[str, Client] = {module.name: module for module in _MODULES}
"""By the name in `/hooks/{client}`."""
_IN_CLAUDE_SETTINGS = copilot_cli.InClaudeSettings()


def who_posts(client: Client, payload: dict[str, Any]) -> Client:
    """Return the client that has really sent a payload: one that reads another's settings posts under its name."""
    if client is claude_code and copilot_cli.posts(payload):
        return _IN_CLAUDE_SETTINGS
    return client
