"""The runner's side of ACP for agents: permissions and workspace files. No terminals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp import RequestError, schema

from baton.rules.call.commands import EDIT_KINDS
from baton.runner import files
from baton.runner.permissions import Permissions, tool_input, tool_name, with_locations

_TITLE = 1_000


class AcpClient:
    """The client side of one connection. `take` receives each update as JSON."""

    def __init__(self, root: Path, permissions: Permissions, take: Callable[[dict[str, Any]], None]) -> None:
        self._root = root
        self._permissions = permissions
        self._take = take
        self._tools: dict[str, str] = {}
        self.cancelled = False

    async def session_update(self, update: Any, **_: Any) -> None:
        """Pass an update on. Must not wait, to keep the order of updates."""
        shown = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        claude = (shown.get("_meta") or {}).get("claudeCode")
        if isinstance(claude, dict) and claude.get("toolName") and shown.get("toolCallId"):
            self._tools[shown["toolCallId"]] = str(claude["toolName"])
        self._take(shown)

    async def request_permission(
        self, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        """Answer with the option for the decision, for this call only if offered."""
        locations = [place.path for place in tool_call.locations or []]
        tool = tool_name(tool_call.kind, self._tools.get(tool_call.tool_call_id, ""))
        request = {
            "title": (tool_call.title or "")[:_TITLE],
            "kind": tool_call.kind or "other",
            "tool_name": tool,
            "tool_input": with_locations(tool_call.kind, tool_input(tool, tool_call.raw_input), locations),
            "options": [{"id": option.option_id, "name": option.name, "kind": option.kind} for option in options],
        }
        places = locations if tool_call.kind in EDIT_KINDS | {"read"} else []
        allow = await self._permissions.allowed(request, places)
        wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
        for kind in wanted:
            for option in options:
                if option.kind == kind and not self.cancelled:
                    outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
                    return schema.RequestPermissionResponse(outcome=outcome)
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))

    async def read_text_file(
        self, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> schema.ReadTextFileResponse:
        """Read a file of the workspace."""
        try:
            return schema.ReadTextFileResponse(content=files.read(self._root, path, first=line or 1, lines=limit))
        except (files.OutsideWorkspace, OSError) as error:
            raise RequestError.invalid_params({"details": str(error)}) from None

    async def write_text_file(self, path: str, content: str, **_: Any) -> schema.WriteTextFileResponse:
        """Write a file of the workspace."""
        try:
            files.write(self._root, path, content)
        except (files.OutsideWorkspace, OSError) as error:
            raise RequestError.invalid_params({"details": str(error)}) from None
        return schema.WriteTextFileResponse()
