"""Reads payloads as clients post them, for `baton policy`. The server reads them in `baton.clients`."""

import json
from typing import Any, get_args

from baton.cli.options import UsageError
from baton.clients.tool_inputs import UnreadableInput, tool_input_of
from baton.lib.text.yaml_lines import did_you_mean
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts, Level

_CAMEL = {"sessionId": "session_id", "toolName": "tool_name", "toolInput": "tool_input", "agentId": "agent_id"}


class CallError(UsageError):
    """A payload, or an option about it, cannot be used."""


def read_calls(text: str) -> list[dict[str, Any]]:
    """Read one JSON object, or one a line. Raise CallError."""
    # A pretty-printed object has many lines, so the whole is tried before the lines.
    try:
        whole = json.loads(text)
        found = whole if isinstance(whole, list) else [whole]
    except ValueError:
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except ValueError as error:
                    raise CallError(f"line {number} is not JSON: {error}") from None
    if not found:
        raise CallError('no payload; give one such as {"tool_name": "Bash", "tool_input": {"command": "pytest"}}')
    for payload in found:
        if not isinstance(payload, dict):
            raise CallError(f"a payload must be a JSON object, not `{json.dumps(payload)[:40]}`")
    return [{_CAMEL.get(key, key): value for key, value in payload.items()} for payload in found]


def one_call(text: str) -> dict[str, Any]:
    """Read exactly one JSON object. Raise CallError."""
    found = read_calls(text)
    if len(found) != 1:
        raise CallError(f"{len(found)} payloads were given; give one")
    return found[0]


def facts_of(payload: dict[str, Any], level: str, history: tuple[str, ...]) -> Facts:
    """Return the facts for deciding a payload. Raise CallError."""
    levels: dict[str, Level] = {name: name for name in get_args(Level)}
    if level not in levels:
        raise CallError(f"unknown level `{level}`{did_you_mean(level, list(levels))}")
    tool, tool_input = payload.get("tool_name"), payload.get("tool_input", {})
    if not isinstance(tool, str) or not tool:
        raise CallError("a payload needs `tool_name`, a string")
    try:
        tool_input = tool_input_of(tool, tool_input)
    except UnreadableInput as error:
        raise CallError(f"`tool_input` {error}") from None
    texts: dict[str, Any] = {
        key: value
        for key in ("session_id", "agent_id", "agent_type", "cwd", "project", "project_root", "permission_mode")
        if isinstance(value := payload.get(key), str)
    }
    call = ToolCall(client="cli", tool_name=tool, tool_input=tool_input, **{"session_id": "", **texts})
    return Facts(call=call, level=levels[level], history=history)
