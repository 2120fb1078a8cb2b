"""The dialect of Continue's `cn`, by its source: Claude Code's events and answers, also from Claude Code's settings."""

from typing import Any

import msgspec

from baton.clients.dialects import claude_code
from baton.clients.event import HookAnswer, HookEvent

name = "continue"
TOOLS = {
    "Bash": "Bash",
    "Edit": "Edit",
    "MultiEdit": "MultiEdit",
    "Write": "Write",
    "Read": "Read",
    "Search": "Grep",
    "List": "LS",
    "Fetch": "WebFetch",
    "Subagent": "Agent",
    "Skills": "Skill",
    "Checklist": "TodoWrite",
    "AskQuestion": "AskUserQuestion",
    "CheckBackgroundJob": "BashOutput",
}
"""Its tools by the names that the engine knows; the same kind of tool, with Continue's own arguments."""


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read any event of the client; its payloads have Claude Code's shape."""
    found = claude_code.read_as(name, payload, event)
    return msgspec.structs.replace(found, tool_name=TOOLS.get(found.tool_name, found.tool_name))


def posts(payload: dict[str, Any]) -> bool:
    """Return whether a payload that came as Claude Code's is Continue's: it has no transcript, and says so with an empty text."""
    return payload.get("transcript_path") == "" and "prompt_id" not in payload


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer in Claude Code's form."""
    return claude_code.render(event, answer)
