"""The clients whose hooks Baton understands. A new client needs a module here and an entry in `CLIENTS`."""

from baton.clients import claude_code, codex
from baton.clients.event import Client

CLIENTS: dict[str, Client] = {module.name: module for module in (claude_code, codex)}
"""By the name in `/hooks/{client}`. gemini-cli, copilot-cli and cursor have no file yet."""
