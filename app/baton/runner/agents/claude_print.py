"""Drives `claude -p`, for machines without the ACP adapter; permission requests of Claude are refused, nobody is asked.

Its stream of JSON lines is translated into updates in ACP's shape.
"""

from typing import Any

import msgspec

from baton.runner.agents.driving import AgentError, EventSink, Task, ThreadLost
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import chunk, fitting
from baton.runner.config import Provider
from baton.runner.permissions import Permissions

_FLAGS = ("-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages")


class ClaudePrint:
    """One run of `claude -p`; the prompt goes to standard input, the thinking budget into the environment."""

    def __init__(self, provider: Provider, task: Task, _permissions: Permissions, tell: EventSink) -> None:
        self._provider = provider
        self._task = task
        self._tell = tell
        self.usage: dict[str, float] = {}
        self._messages: dict[str, dict[str, int]] = {}
        self._cancelled = self._begun = False
        self._tree: ProcessTree | None = None

    def command(self) -> list[str]:
        """Return the command line: model, mode, system prompt and the session to resume, as far as they are set."""
        task = self._task
        more = {
            "--model": task.model,
            "--permission-mode": self._provider.mode,
            "--append-system-prompt": task.system_prompt,
            "--resume": task.agent_session,
            "--mcp-config": _tools(task),
            "--allowedTools": f"mcp__{task.tools.name}" if task.tools else "",
        }
        return [
            *self._provider.command,
            *_FLAGS,
            *(part for flag, value in more.items() if value for part in (flag, value)),
        ]

    async def work(self, tree: ProcessTree) -> str:
        """Write the prompt, and read the stream to its end."""
        self._tree = tree
        tree.stdin.write(self._task.prompt.encode())
        await tree.stdin.drain()
        tree.stdin.close()
        result: dict[str, Any] | None = None
        async for line in tree.stdout:
            event = _parsed(line)
            self._take(event)
            if event.get("type") == "result":
                result = event
        if result is None:
            if self._cancelled:
                return "cancelled"
            raise ConnectionError("it ended without a result")
        self.usage = _usage(result)
        if result.get("is_error") and self._task.agent_session and not self._begun:
            raise ThreadLost(f"it has no session `{self._task.agent_session}`")
        if result.get("is_error") and not self._cancelled:
            raise AgentError("agent_failed", str(result.get("result") or result.get("subtype") or "it failed"))
        return "cancelled" if self._cancelled else "end_turn"

    async def cancel(self) -> None:
        """Interrupt the agent, as Ctrl-C does."""
        self._cancelled = True
        if self._tree:
            self._tree.interrupt()

    async def close(self) -> None:
        """Do nothing: only the pipes are open."""

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("type") == "system" and event.get("subtype") == "init":
            self._begun = True
            self._tell("agent.session", {"id": str(event.get("session_id", ""))})
        message = _object(event.get("message"))
        if event.get("type") == "assistant" and message.get("usage"):
            self._count(str(message.get("id", "")), _object(message["usage"]))
        for update in _updates(event):
            for one in fitting(update):
                self._tell("session.update", {"update": one})

    def _count(self, message: str, told: dict[str, Any]) -> None:
        """Add up what the messages used so far, and pass it on: it counts even if the run never comes to its end."""
        used = _tokens(told)
        if self._messages.get(message) == used:  # the same message again, with its next part
            return
        self._messages[message] = used
        self.usage |= {name: sum(one[name] for one in self._messages.values()) for name in used}
        meta = {"baton": {"usage": dict(self.usage)}}
        self._tell("session.update", {"update": {"sessionUpdate": "usage_update", "_meta": meta}})


def _tools(task: Task) -> str:
    """Return the agent's tools as `claude` takes them; secrets go into the environment, which other users cannot read."""
    if task.tools is None:
        return ""
    server = task.tools
    session = {name: value for name, value in server.env.items() if name == "BATON_SESSION"}
    servers = {server.name: {"command": server.command, "args": server.args, "env": session}}
    return msgspec.json.encode({"mcpServers": servers}).decode()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return event if isinstance(event, dict) else {}


def _object(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else: other lines have texts under the same names."""
    return value if isinstance(value, dict) else {}


def _updates(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Translate a line into updates: text pieces, tool calls and their results; a sub-agent's text is left out."""
    # A sub-agent's text belongs to the tool call that started it, which reports its own result.
    delta = _object(_object(event.get("event")).get("delta"))
    if event.get("type") == "stream_event" and not event.get("parent_tool_use_id"):
        text = delta.get("text") if delta.get("type") == "text_delta" else None
        return [chunk(text)] if text else []
    content = _object(event.get("message")).get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if event.get("type") == "assistant":
        return [_call(block) for block in blocks if block.get("type") == "tool_use"]
    if event.get("type") == "user":
        return [_result(block) for block in blocks if block.get("type") == "tool_result"]
    return []


def _call(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "sessionUpdate": "tool_call", "toolCallId": block.get("id", ""), "title": block.get("name", ""),
        "status": "in_progress", "rawInput": block.get("input"),
        "_meta": {"claudeCode": {"toolName": block.get("name", "")}},
    }  # fmt: skip


def _result(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "sessionUpdate": "tool_call_update", "toolCallId": block.get("tool_use_id", ""),
        "status": "failed" if block.get("is_error") else "completed", "rawOutput": block.get("content"),
    }  # fmt: skip


def _tokens(told: dict[str, Any]) -> dict[str, int]:
    counts = {name: int(value) for name, value in told.items() if isinstance(value, int)}
    cached = counts.get("cache_read_input_tokens", 0)
    return {
        "input_tokens": counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0) + cached,
        "cached_tokens": cached,
        "output_tokens": counts.get("output_tokens", 0),
    }


def _usage(result: dict[str, Any]) -> dict[str, float]:
    usage: dict[str, float] = {**_tokens(_object(result.get("usage")))}
    if isinstance(result.get("total_cost_usd"), int | float):
        usage["cost_usd"] = float(result["total_cost_usd"])
    return usage
