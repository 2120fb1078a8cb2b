"""What every way of driving an agent has in common: what it is given and what it gives. It drives none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from baton.runner.agents.process import Tree
from baton.runner.config import Provider
from baton.runner.permissions import Permissions


class AgentError(Exception):
    """The agent cannot do the job; `code` is stable, the text is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class ToolServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server that the agent starts: its command, and what its environment has beside the agent's."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is to do, where. Empty fields are the agent's own choice."""

    prompt: str
    folder: Path
    system_prompt: str = ""
    model: str = ""
    agent_session: str = ""
    thinking_budget: int = 0
    tools: ToolServer | None = None


Tell = Callable[[str, dict[str, Any]], None]
"""Takes an event's type and body; never waits."""


class Driver(Protocol):
    """One agent, from its start to its end. The tree is ended by whom it was given to.

    `usage` is what is known of tokens and cost so far, in the shape that the server takes.
    """

    usage: dict[str, float]

    def __init__(self, provider: Provider, task: Task, permissions: Permissions, tell: Tell, /) -> None:
        """Keep what is needed; starts nothing."""

    def command(self) -> list[str]:
        """Give the command line that starts the agent."""

    async def work(self, tree: Tree) -> str:
        """Give the agent its task and wait for its end; gives its own word for why it ended, as ACP has them.

        Raises:
            AgentError: it cannot do the task.
            ConnectionError: it died.
        """

    async def cancel(self) -> None:
        """Ask the agent to stop; `work` then ends by itself if the agent heeds it."""

    async def close(self) -> None:
        """Let go of the pipes, before they are closed."""
