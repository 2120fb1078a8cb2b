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
    """The agent cannot do the job; `code` is stable, the text is for people. `output` is what the job then has as its output."""

    def __init__(self, code: str, detail: str, output: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.output = output


class ThreadLost(AgentError):
    """The agent does not have the session that it was to resume; it did nothing, and may be started again without it."""

    def __init__(self, detail: str) -> None:
        super().__init__("thread_lost", detail)


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


NO_THREAD = "the agent cannot take up its thread again; it is given a summary of it instead"


def with_recap(task: Task) -> str:
    """Return the prompt behind a summary of the thread, for an agent that does not remember it."""
    if not task.recap:
        return task.prompt
    return f"<earlier>\nWhat was said and done before, as a summary:\n\n{task.recap}\n</earlier>\n\n{task.prompt}"


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
