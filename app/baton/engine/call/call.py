"""A tool call in the one form that the engine knows; `baton.clients` translates each client's payload into it."""

from typing import Any

import msgspec


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call that an agent is about to make.

    `agent_id` is empty on the main thread and set in every sub-agent; it alone tells an orchestrator from a
    sub-agent (`agent_type` is also set on a main thread that runs a named agent). `project` identifies the project
    (a git remote or a root folder); `project_root` is the project's folder on the developer's machine, where known.
    """

    client: str
    session_id: str
    tool_name: str
    tool_input: dict[str, Any]
    tool_use_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    cwd: str = ""
    project: str = ""
    project_root: str = ""
    permission_mode: str = ""

    @property
    def is_subagent(self) -> bool:
        """Whether a sub-agent makes this call."""
        return self.agent_id != ""
