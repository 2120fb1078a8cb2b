"""Permission requests of an agent: refused here, or answered by the server or later by a person."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from baton.clients.tool_inputs import UnreadableInput, tool_input_of
from baton.rules.call.commands import EDIT_KINDS
from baton.runner import files
from baton.runner.wire import PermissionReply

Confirm = Literal["always", "by-rules"]
Ask = Callable[[dict[str, Any]], Awaitable[PermissionReply]]
_TOOLS = {
    "read": "Read", "edit": "Edit", "delete": "Edit", "move": "Edit", "search": "Grep", "execute": "Bash",
    "fetch": "WebFetch",
}  # fmt: skip
_PATHS = ("file_path", "path", "notebook_path", "abs_path", "paths")


class Permissions:
    """The requests of one attempt. With `confirm` `always`, only a person's answer (a command) can allow."""

    def __init__(self, root: Path, ask: Ask, *, confirm: Confirm = "by-rules") -> None:
        self._root = root
        self._ask = ask
        self._confirm = confirm
        self._answers: dict[str, asyncio.Future[bool]] = {}
        self._open = 0
        self._last_answer = 0.0

    async def allowed(self, request: dict[str, Any], places: Iterable[str] = ()) -> bool:
        """Return whether the agent may do it. Waits for a person if the server's answer is pending."""
        if any(not files.is_inside(self._root, place) for place in (*places, *named_paths(request["tool_input"]))):
            return False
        self._open += 1
        try:
            answered = await self._ask(request)
            if answered.answer != "pending":
                return answered.answer == "allow" and self._confirm == "by-rules"
            return await self._future(answered.permission)
        finally:
            self._open -= 1
            self._last_answer = time.monotonic()

    def last_wait(self) -> float:
        """Return the end of the agent's last wait for an answer, by the monotonic clock: now during one."""
        return time.monotonic() if self._open else self._last_answer

    def answer(self, permission: str, *, allow: bool) -> None:
        """Store the answer to a request, possibly before anybody waits for it."""
        future = self._future(permission)
        if not future.done():
            future.set_result(allow)

    def _future(self, permission: str) -> "asyncio.Future[bool]":
        if permission not in self._answers:
            self._answers[permission] = asyncio.get_running_loop().create_future()
        return self._answers[permission]


def tool_name(kind: str | None, known: str = "") -> str:
    """Return a tool's name for policies: the agent's own name, or the one of its ACP kind."""
    return known or _TOOLS.get(kind or "", kind or "other")


def tool_input(tool: str, raw: Any) -> dict[str, Any]:
    """Return a call's input as an object. Unreadable input makes the server ask a person."""
    try:
        return tool_input_of(tool, raw)
    except UnreadableInput:
        return {"input": raw}


def with_locations(kind: str | None, given: dict[str, Any], locations: Iterable[str]) -> dict[str, Any]:
    """Return a call's input with its changed locations, so that rules see them independently of the tool."""
    changed = list(locations) if kind in EDIT_KINDS else []
    known = given.get("paths")
    return given | {"paths": [*(known if isinstance(known, list) else []), *changed]} if changed else given


def named_paths(given: dict[str, Any]) -> list[str]:
    """List the paths in a tool call's input."""
    values = (given.get(name) for name in _PATHS)
    values = (one for value in values for one in (value if isinstance(value, list) else [value]))
    return [value for value in values if isinstance(value, str) and value]
