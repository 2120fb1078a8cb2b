"""Updates of an agent's session, limited to the server's size, and the runner's own updates."""

import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.agents.driving import ToolServer
from baton.runner.wire import LeasedTask

LARGEST = 128 * 1024  # maximum size of an event, in bytes of JSON
LONGEST_OUTPUT = 600_000  # maximum size of the output in a job's end, in bytes of JSON
_LONGEST_END = LONGEST_OUTPUT // 6  # characters kept of a longer output's end: at most six bytes each in JSON
_PIECE = 24_000  # characters per chunk of a split text: at most six bytes each in JSON
_CHUNKS = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}


def words(note: str) -> dict[str, object]:
    """Return an update with a message of the runner, apart from the agent's answer."""
    return {"sessionUpdate": "tool_call", "toolCallId": "runner", "title": note, "kind": "other", "status": "completed"}


def fitting(update: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a long text into chunks. Drop long fields of any other oversized update."""
    if len(msgspec.json.encode(update)) <= LARGEST:
        return [update]
    content = update.get("content")
    if update.get("sessionUpdate") in _CHUNKS and isinstance(content, dict) and isinstance(content.get("text"), str):
        text = content["text"]
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return [{**update, "content": {**content, "text": piece}} for piece in pieces]
    kept = {name: value for name, value in update.items() if len(msgspec.json.encode(value)) <= LARGEST // 32}
    return [{**kept, "_meta": {"baton": {"omitted": sorted(set(update) - set(kept) | {"_meta"} & set(update))}}}]


class AgentAnswer:
    """The pieces of the agent's answer. Of a very long one only the end is kept; the events have all of it."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._size = 0
        self._is_cut = False

    def add(self, piece: str) -> None:
        """Add the next piece."""
        if not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > 2 * LONGEST_OUTPUT:
            self._keep_end()

    def text(self) -> str:
        """Return the answer, or its end."""
        output = "".join(self._pieces)
        if not self._is_cut and len(msgspec.json.encode(output)) <= LONGEST_OUTPUT:
            return output
        return f"[the beginning is in the job's events]\n{output[-_LONGEST_END:]}"

    def _keep_end(self) -> None:
        end = "".join(self._pieces)[-_LONGEST_END:]
        self._pieces, self._size, self._is_cut = deque([end]), len(end), True


def text_of(update: dict[str, Any]) -> str:
    """Return the text of a chunk of the agent's answer, or ""."""
    content = update.get("content")
    if update.get("sessionUpdate") == "agent_message_chunk" and isinstance(content, dict):
        return str(content.get("text", ""))
    return ""


def chunk(text: str) -> dict[str, Any]:
    """Return an ACP update with a piece of the agent's answer."""
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


_PASSED = ("BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE", "HOME", "PATH", "XDG_CONFIG_HOME")
"""Environment of `baton mcp`: some agents start MCP servers without their own environment."""


def tool_server(lease: LeasedTask, env: Mapping[str, str]) -> ToolServer:
    """Return `baton mcp` for the job's session, so that further delegations belong to it."""
    passed = {name: env[name] for name in _PASSED if env.get(name)}
    passed["BATON_JOB"] = lease.job
    if lease.session_id:
        passed["BATON_SESSION"] = lease.session_id
    command = str(Path(sys.executable).with_name("baton"))
    return ToolServer(name="baton", command=command, args=["mcp"], env=passed)
