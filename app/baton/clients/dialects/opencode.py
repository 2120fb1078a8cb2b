"""opencode's dialect: what Baton's plugin (`hooks/opencode-plugin.js`) posts, and the answers that it carries out.

The plugin is Baton's own, so answers have Claude Code's form. opencode cannot ask from a plugin: a question is refused.
"""

from typing import Any

import msgspec

from baton.clients.dialects import claude_code
from baton.clients.event import HookAnswer, HookEvent, text

name = "opencode"
_TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "read": "Read",
    "grep": "Grep",
    "glob": "Glob",
    "list": "LS",
    "task": "Agent",
    "patch": "apply_patch",
    "multiedit": "MultiEdit",
    "todowrite": "TodoWrite",
    "todoread": "TodoRead",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "skill": "Skill",
    "question": "AskUserQuestion",
}
"""Its tools by the names that the engine knows; the same kind of tool, with opencode's own arguments."""


def read(payload: dict[str, Any], event: str) -> HookEvent:
    """Read an event. A sub-agent has a session of its own: it belongs to the one at the root of its parents."""
    native = text(payload, "event") or event
    session, given, output = (_part(payload, key) for key in ("session", "input", "output"))
    own = text(session, "id") or text(given, "sessionID")
    tool = text(given, "tool")
    return HookEvent(
        client=name,
        name=claude_code.known_event(native),
        native_name=native,
        session_id=text(session, "root") or own,
        agent_id=own if text(session, "parent") else "",
        agent_type=text(session, "agent"),
        cwd=text(payload, "directory"),
        tool_name=_TOOLS.get(tool, tool),
        tool_input=_arguments(_part(output, "args") or _part(given, "args")),
        tool_use_id=text(given, "callID"),
        source=text(payload, "source"),
        prompt=_prompt(output.get("parts")),
    )


def render(event: str, answer: HookAnswer) -> dict[str, Any]:
    """Render an answer for the plugin."""
    if answer.effect == "ask":
        answer = msgspec.structs.replace(answer, effect="deny")
    return claude_code.render(event, answer)


def _part(payload: dict[str, Any], key: str) -> dict[str, Any]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    patch = given.get("patchText")  # rules know a patch by the key that Codex has for it
    return given | {"command": patch} if isinstance(patch, str) else given


def _prompt(parts: Any) -> str:
    said = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    return "\n".join(text(one, "text") for one in said if one.get("type") == "text" and not one.get("synthetic"))
