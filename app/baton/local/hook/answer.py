"""Words the hook's own answers for each client, and rejects untrusted answers of a server."""

import json
from collections.abc import Iterator
from typing import Any

from baton.local.hook.clients import place_of

_ANSWER_KEYS = frozenset({
    "systemMessage", "hookSpecificOutput", "hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput",
    "modifiedArgs", "tool_input", "additionalContext", "decision", "reason", "behavior", "message", "updated_input",
    "permission", "user_message", "agent_message", "additional_context", "continue",
})  # fmt: skip
_AGENT_KEYS = frozenset({
    "model", "subagent_type", "agent_type", "agent_name", "prompt", "description", "task_name", "fork_turns",
    "reasoning_effort", "run_in_background", "resume", "isolation", "name", "team_name", "mode", "max_turns", "context_tier",
})  # fmt: skip
REWRITES = ("updatedInput", "modifiedArgs", "updated_input", "tool_input")
DROPPED = (
    "Baton dropped an answer of its server, which would have changed what a tool does or allowed it in your place."
)


def is_harmless(client: str, event: str, body: str) -> bool:
    """Return whether an answer only refuses, asks, says something, or words an agent call.

    A compromised server may do these. An input with other keys would be another tool's, and an `allow` would skip the
    client's own question.
    """
    # Baton escapes no printable letter. An escaped one could spell any of these words unseen.
    plain = body.replace("\\\\", "")
    if any(f"\\u00{digit}" in plain for digit in "234567"):
        return False
    try:
        pairs = list(_pairs(json.loads(body, object_pairs_hook=tuple)))
    except (ValueError, RecursionError):
        return False
    keys = {key for key, _ in pairs}
    rewrites = bool(keys & set(REWRITES))
    allows = any(word in {"allow", "approve"} for pair in pairs for word in pair if isinstance(word, str))
    if allows and not (event == "PreToolUse" and place_of(client).allows in keys):
        return False
    return not rewrites or keys <= _ANSWER_KEYS | _AGENT_KEYS


def holds_refusal(body: str) -> bool:
    """Return whether a dropped answer contains a refusal or a question, which must not be lost."""
    return any(word in body for word in ('"deny"', '"ask"', '"block"'))


def refusal(client: str, event: str, text: str) -> str:
    """Return a refusal of an event in a client's dialect, "" for an event without refusals."""
    if event not in {"PreToolUse", "UserPromptSubmit"}:
        return ""
    place = place_of(client)
    if event == "UserPromptSubmit":
        key, effect, reason = place.blocks
        return _line({key: effect, reason: text})
    if place.denies:
        key, *reasons = place.denies
        return _line({key: "deny", **dict.fromkeys(reasons, text)})
    said = {"permissionDecision": "deny", "permissionDecisionReason": text}
    return _line({"hookSpecificOutput": {"hookEventName": event, **said}})


def warning(client: str, event: str, text: str) -> str:
    """Return a message to the person, or to the model if the client shows the person nothing."""
    if key := place_of(client).says:
        return _line({key: text})
    return _line({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, at any depth; texts in lists with the key ""."""
    if isinstance(value, tuple):
        for key, held in value:
            yield key, held
            yield from _pairs(held)
    elif isinstance(value, list):
        for held in value:
            if isinstance(held, str):
                yield "", held
            yield from _pairs(held)
