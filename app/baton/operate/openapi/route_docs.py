"""The body of `/route` and `/route/explain` as the OpenAPI document describes it."""

from typing import Any

_TEXT = {"type": "string", "maxLength": 4096}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_AGENT = {
    "type": "object",
    "description": "An agent. `triggers` are words, or regular expressions between slashes.",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": {"type": "string"},
        "body": {"type": "string"},
        "triggers": _TEXTS,
        "capabilities": _TEXTS,
        "examples": _TEXTS,
    },
    "required": ["name"],
}
BODY: dict[str, Any] = {
    "type": "object",
    "description": "A client's UserPromptSubmit payload as it is. Unknown keys are accepted, and camelCase beside snake_case.",
    "properties": {
        "prompt": {"type": "string", "description": "What the person sent, of any length."},
        "session_id": {**_TEXT, "description": "The agent's session."},
        "agent_id": {
            **_TEXT,
            "description": "The sub-agent that the prompt was written for; such a prompt is not routed.",
        },
        "client": {**_TEXT, "description": "The client's name, for the words of the context."},
        "cwd": {**_TEXT, "description": "The session's folder."},
        "project": {**_TEXT, "description": "The project: a git remote or its root folder."},
        "roster": {
            "description": "A roster's name, or the agents themselves; all that your team pushed without it.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": _AGENT, "maxItems": 2000}],
        },
    },
    "required": ["prompt"],
    "additionalProperties": True,
    "examples": [{"session_id": "5b1f0c9e", "prompt": "The login test fails since yesterday, find out why"}],
}
"""The body of both operations."""
