"""Updates of an agent's session: cut to a size that the server accepts, and those by which the runner itself speaks."""

from collections import deque
from typing import Any

import msgspec

LARGEST = 128 * 1024
"""Longest event that is sent, in bytes of JSON."""
LONGEST_OUTPUT = 600_000
"""Longest output that a job's end carries, in bytes of JSON."""
_LONGEST_END = LONGEST_OUTPUT // 6
"""Characters of the end that is kept of a longer one: at most six bytes each in JSON."""
_PIECE = 24_000
"""Characters of one piece of a text that is split: at most six bytes each in JSON."""
_CHUNKS = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"}


def words(note: str) -> dict[str, object]:
    """Return an update by which the runner says something to who follows, apart from the agent's answer."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": "runner",
        "title": note,
        "kind": "other",
        "status": "completed",
    }


def fitting(update: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a long text into several chunks; in any other update that is too long leave out the long fields."""
    size = len(msgspec.json.encode(update))
    if size <= LARGEST:
        return [update]
    content = update.get("content")
    if update.get("sessionUpdate") in _CHUNKS and isinstance(content, dict) and isinstance(content.get("text"), str):
        text = content["text"]
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return [{**update, "content": {**content, "text": piece}} for piece in pieces]
    kept = {name: value for name, value in update.items() if len(msgspec.json.encode(value)) <= LARGEST // 32}
    return [{**kept, "_meta": {"baton": {"omitted": sorted(set(update) - set(kept) | {"_meta"} & set(update))}}}]


class Answer:
    """The pieces of the agent's answer; of a very long one only the end is kept, since the events have all of it."""

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
    """Return the text of a chunk of the agent's answer, "" for any other update."""
    content = update.get("content")
    if update.get("sessionUpdate") == "agent_message_chunk" and isinstance(content, dict):
        return str(content.get("text", ""))
    return ""


def chunk(text: str) -> dict[str, Any]:
    """Return an update with a piece of the agent's answer, in ACP's shape."""
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
