"""The supported clients. A new client needs a module here and an entry in `CLIENTS`."""

from typing import Any

from baton.clients import claude_code, codex, copilot_cli, cursor, gemini, opencode, qwen
from baton.clients.event import Client
from baton.clients.spec import Spec

_MODULES: tuple[Client, ...] = (claude_code, codex, copilot_cli, opencode, gemini, qwen, cursor)
CLIENTS: dict[str, Client] = {module.name: module for module in _MODULES}  # by the name in `/hooks/{client}`
SPECS: dict[str, Spec] = {module.name: module.SPEC for module in _MODULES}
_COPILOT, _CURSOR = copilot_cli.CopilotInClaudeSettings(), cursor.CursorInClaudeSettings()


def who_posts(client: Client, payload: dict[str, Any]) -> Client:
    """Return the actual client of a payload: clients that read another's settings use its name."""
    if client is not claude_code:
        return client
    if copilot_cli.posts(payload):
        return _COPILOT
    return _CURSOR if cursor.posts(payload) else client


def words_of(client: str) -> Spec:
    """Return the client whose terms to use in a message. The default is Claude Code."""
    return SPECS.get(client, claude_code.SPEC)


def can_ask(client: str) -> bool:
    """Return whether a client can ask a person. Callers of the API can."""
    return client not in SPECS or SPECS[client].ask.startswith("asks")


def can_block(client: str, event: str) -> bool:
    """Return whether a client can refuse an event."""
    return client in SPECS and event in SPECS[client].proven and "block" in SPECS[client].proven[event].honoured


def takes_context(client: str, event: str) -> bool:
    """Return whether a client passes the context of an answer to its model. Unlisted ones do."""
    listed = SPECS[client].proven.get(event) if client in SPECS else None
    return listed is None or "context" in listed.honoured
