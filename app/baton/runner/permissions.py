"""Permission requests of an agent: refused here, answered by the server at once, or later by a person."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from baton.runner import files
from baton.runner.wire import PermissionAnswer

Ask = Callable[[dict[str, Any]], Awaitable[PermissionAnswer]]
_TOOLS = {
    "read": "Read", "edit": "Edit", "delete": "Edit", "move": "Edit", "search": "Grep", "execute": "Bash",
    "fetch": "WebFetch",
}  # fmt: skip
_PATHS = ("file_path", "path", "notebook_path", "abs_path")


class Permissions:
    """The requests of one attempt. `ask` sends one to the server; `answer` takes a person's answer."""

    def __init__(self, root: Path, ask: Ask) -> None:
        self._root = root
        self._ask = ask
        self._answers: dict[str, asyncio.Future[bool]] = {}

    async def allowed(self, request: dict[str, Any], places: Iterable[str] = ()) -> bool:
        """Return whether the agent may do it; waits for a person if the server has no answer yet."""
        if any(not files.is_inside(self._root, place) for place in (*places, *named_paths(request["tool_input"]))):
            return False
        answered = await self._ask(request)
        if answered.answer != "pending":
            return answered.answer == "allow"
        return await self._future(answered.permission)

    def answer(self, permission: str, *, allow: bool) -> None:
        """Take the answer to a request; it may come before anybody waits for it."""
        future = self._future(permission)
        if not future.done():
            future.set_result(allow)

    def _future(self, permission: str) -> "asyncio.Future[bool]":
        if permission not in self._answers:
            self._answers[permission] = asyncio.get_running_loop().create_future()
        return self._answers[permission]


def tool_name(kind: str | None, known: str = "") -> str:
    """Return the tool's name as policies know it: the agent's own name for it, else the name of its kind in ACP."""
    return known or _TOOLS.get(kind or "", kind or "other")


def tool_input(raw: Any) -> dict[str, Any]:
    """Return a call's input as an object."""
    return raw if isinstance(raw, dict) else {} if raw is None else {"input": raw}


def named_paths(given: dict[str, Any]) -> list[str]:
    """List the paths that a tool call names in its input."""
    return [value for name in _PATHS if isinstance(value := given.get(name), str) and value]
