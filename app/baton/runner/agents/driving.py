"""What all ways of driving an agent have in common: their input, their output, their errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from baton.runner.agents.process import ProcessTree
from baton.runner.config import Provider
from baton.runner.permissions import Permissions
from baton.runner.wire import AgentTask


class AgentError(Exception):
    """The agent cannot do the job; `code` is stable, the text is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class ToolServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server that the agent starts: its command, and what is added to its environment."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str]


class Task(AgentTask, frozen=True, kw_only=True):
    """What an agent is given, the folder in which it works, and the tools that it is handed."""

    folder: Path
    tools: ToolServer | None = None


EventSink = Callable[[str, dict[str, Any]], None]
"""Takes an event's type and body; must not wait."""


class Driver(Protocol):
    """One agent, from its start to its end. Whoever passed the process tree ends it.

    `usage` is what is known of tokens and cost so far, in the shape that the server takes.
    """

    usage: dict[str, float]

    def __init__(self, provider: Provider, task: Task, permissions: Permissions, tell: EventSink, /) -> None:
        """Keep the arguments; start nothing."""

    def command(self) -> list[str]:
        """Return the command line that starts the agent."""

    async def work(self, tree: ProcessTree) -> str:
        """Send the agent its task and wait for its end; return ACP's stop reason.

        Raises:
            AgentError: If the agent cannot do the task.
            ConnectionError: If the agent died.
        """

    async def cancel(self) -> None:
        """Ask the agent to stop; `work` returns by itself if the agent obeys."""

    async def close(self) -> None:
        """Release the pipes, before they are closed."""
