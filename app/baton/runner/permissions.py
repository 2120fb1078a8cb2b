"""Permission requests of an agent: refused here, answered by the server at once, or later by a person."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from baton.runner import files
from baton.runner.wire import PermissionAnswer
from baton.shared.tool_kinds import EDIT_KINDS

Confirm = Literal["always", "by-rules"]
Ask = Callable[[dict[str, Any]], Awaitable[PermissionAnswer]]
_TOOLS = {
    "read": "Read", "edit": "Edit", "delete": "Edit", "move": "Edit", "search": "Grep", "execute": "Bash",
    "fetch": "WebFetch",
}  # fmt: skip
_PATHS = ("file_path", "path", "notebook_path", "abs_path", "paths")


class Permissions:
    """The requests of one attempt. `ask` sends one to the server; `answer` takes a person's answer.

    With `confirm` `always`, an `allow` of the server counts only as a person's answer, which comes as a command.
    """

    def __init__(self, root: Path, ask: Ask, *, confirm: Confirm = "by-rules") -> None:
        self._root = root
        self._ask = ask
        self._confirm = confirm
        self._answers: dict[str, asyncio.Future[bool]] = {}
        self._open = 0
        self._last_answer = 0.0

    async def allowed(self, request: dict[str, Any], places: Iterable[str] = ()) -> bool:
        """Return whether the agent may do it; waits for a person if the server has no answer yet."""
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
        """Return when the agent last waited for an answer, by the monotonic clock: now if it does."""
        return time.monotonic() if self._open else self._last_answer

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


def with_locations(kind: str | None, given: dict[str, Any], locations: Iterable[str]) -> dict[str, Any]:
    """Return a call's input with the places that it changes, so that rules see them whatever the tool calls them."""
    changed = list(locations) if kind in EDIT_KINDS else []
    known = given.get("paths")
    return given | {"paths": [*(known if isinstance(known, list) else []), *changed]} if changed else given


def named_paths(given: dict[str, Any]) -> list[str]:
    """List the paths that a tool call names in its input."""
    values = (value for name in _PATHS for value in _listed(given.get(name)))
    return [value for value in values if isinstance(value, str) and value]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
