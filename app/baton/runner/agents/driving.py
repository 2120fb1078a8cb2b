"""The common interface of agents' drivers: input, output, errors."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.agents.process import ProcessTree
from baton.runner.config import Provider
from baton.runner.permissions import Permissions
from baton.runner.wire import AgentTask


class AgentError(Exception):
    """The agent cannot do the job. `code` is stable, the message is for people, `output` is the job's output."""

    def __init__(self, code: str, detail: str, output: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.output = output


class ThreadLost(AgentError):
    """The agent lacks the session to resume. It did nothing, and may be restarted without it."""

    def __init__(self, detail: str) -> None:
        super().__init__("thread_lost", detail)


class ToolServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server for the agent: command and additional environment."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str]


class AgentRun(AgentTask, frozen=True, kw_only=True):
    """An agent's input, working folder and tools."""

    folder: Path
    tools: ToolServer | None = None


NO_THREAD = "the agent cannot resume its thread; it gets a summary instead"


def with_recap(task: AgentRun) -> str:
    """Return the prompt after a summary of the thread, for an agent without it."""
    if not task.recap:
        return task.prompt
    return f"<earlier>\nWhat was said and done before, as a summary:\n\n{task.recap}\n</earlier>\n\n{task.prompt}"


EventSink = Callable[[str, dict[str, Any]], None]  # receives an event's type and body. Must not wait.


class AgentDriver(ABC):
    """One agent, from start to end. `usage` has the known tokens and costs, in the server's format."""

    def __init__(self, provider: Provider, task: AgentRun, permissions: Permissions, tell: EventSink) -> None:
        self._provider = provider
        self._task = task
        self._permissions = permissions
        self._tell = tell
        self.usage: dict[str, float] = {}

    def command(self) -> list[str]:
        """Return the command line that starts the agent."""
        return self._provider.command

    @abstractmethod
    async def work(self, tree: ProcessTree) -> str:
        """Send the agent its task, and return ACP's stop reason. Raise AgentError, or ConnectionError if it died."""

    @abstractmethod
    async def cancel(self) -> None:
        """Ask the agent to stop. `work` then returns if the agent obeys."""

    async def close(self) -> None:  # noqa: B027 - most have nothing else open
        """Release what is open besides the pipes, before they are closed."""


ONCE = [{"id": kind, "name": name, "kind": kind} for kind, name in (("allow_once", "Allow"), ("reject_once", "Reject"))]
"""The options of a request by an agent without options of its own."""
LONGEST_TITLE = 1_000
REFUSED = "This call was refused. Do not try it in another way; go on without it."


async def send(tree: ProcessTree, message: dict[str, Any]) -> None:
    """Write a line of JSON to the agent."""
    tree.stdin.write(msgspec.json.encode(message) + b"\n")
    await tree.stdin.drain()


def parsed(line: bytes) -> dict[str, Any]:
    """Return a line's JSON object, or {}: agents print other lines, too."""
    try:
        return as_object(msgspec.json.decode(line))
    except msgspec.DecodeError:
        return {}


def as_object(value: Any) -> dict[str, Any]:
    """Return an object, or {} for anything else: some lines have strings in the same fields."""
    return value if isinstance(value, dict) else {}
