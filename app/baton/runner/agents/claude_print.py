"""Drives `claude -p` without the ACP adapter: its JSON lines become ACP updates and permission requests.

It starts in half of the adapter's time. The format of the questions (`--permission-prompt-tool stdio`) is the one of
Anthropic's Agent SDK.
"""

import asyncio
from typing import Any

import msgspec

from baton.runner.agents import driving
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import chunk, fitting
from baton.runner.config import Provider
from baton.runner.permissions import Permissions, named_paths, tool_input

_FLAGS = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
    "--include-partial-messages", "--permission-prompt-tool", "stdio", "--disallowedTools", "AskUserQuestion",
)  # fmt: skip
_KINDS = {
    "Bash": "execute",
    "Edit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "WebFetch": "fetch",
}


class ClaudePrint(driving.AgentDriver):
    """One run of `claude -p`. The prompt is written to standard input, the thinking budget to the environment."""

    def __init__(
        self, provider: Provider, task: driving.AgentRun, permissions: Permissions, tell: driving.EventSink
    ) -> None:
        super().__init__(provider, task, permissions, tell)
        self._asking: set[asyncio.Task[None]] = set()
        self._messages: dict[str, dict[str, int]] = {}
        self._cancelled = self._begun = False
        self._tree: ProcessTree | None = None

    def command(self) -> list[str]:
        """Return the command line with the configured model, mode, system prompt and session to resume."""
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
        """Write the prompt, answer the agent's questions, and read the stream to its end."""
        self._tree = tree
        await driving.send(tree, {"type": "user", "message": {"role": "user", "content": self._task.prompt}})
        result: dict[str, Any] | None = None
        try:
            async for line in tree.stdout:
                event = driving.parsed(line)
                self._take(event)
                if event.get("type") == "result":
                    result = event
                    tree.stdin.close()
                elif event.get("type") == "control_request":
                    self._asking.add(asyncio.create_task(self._answer(tree, event)))
        finally:
            for asking in self._asking:
                asking.cancel()
            await asyncio.gather(*self._asking, return_exceptions=True)
        if result is None:
            if self._cancelled:
                return "cancelled"
            raise ConnectionError("it ended without a result")
        self.usage = _usage(result)
        if result.get("is_error") and self._task.agent_session and not self._begun:
            raise driving.ThreadLost(f"it has no session `{self._task.agent_session}`")
        if result.get("is_error") and not self._cancelled:
            raise driving.AgentError("agent_failed", str(result.get("result") or result.get("subtype") or "it failed"))
        return "cancelled" if self._cancelled else "end_turn"

    async def cancel(self) -> None:
        """Interrupt the agent, like Ctrl-C."""
        self._cancelled = True
        if self._tree:
            self._tree.interrupt()

    async def _answer(self, tree: ProcessTree, event: dict[str, Any]) -> None:
        """Ask for a tool call, and send the decision. The agent learns of any other request that it is unknown here."""
        asked, request_id = driving.as_object(event.get("request")), event.get("request_id")
        if asked.get("subtype") != "can_use_tool":
            error = {"subtype": "error", "request_id": request_id, "error": "this client does not know the request"}
            await driving.send(tree, {"type": "control_response", "response": error})
            return
        tool = str(asked.get("tool_name", ""))
        given = tool_input(tool, asked.get("input"))
        about = given.get("command") or next(iter(named_paths(given)), "")
        request = {
            "title": f"{tool} {about}".strip()[:driving.LONGEST_TITLE], "kind": _KINDS.get(tool, "other"),
            "tool_name": tool, "tool_input": given, "options": driving.ONCE,
        }  # fmt: skip
        allow = await self._permissions.allowed(request) and not self._cancelled
        answer = (
            {"behavior": "allow", "updatedInput": asked.get("input") or {}}
            if allow
            else {"behavior": "deny", "message": driving.REFUSED}
        )
        success = {"subtype": "success", "request_id": request_id, "response": answer}
        await driving.send(tree, {"type": "control_response", "response": success})

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("type") == "system" and event.get("subtype") == "init":
            self._begun = True
            self._tell("agent.session", {"id": str(event.get("session_id", ""))})
        message = driving.as_object(event.get("message"))
        if event.get("type") == "assistant" and message.get("usage"):
            self._count(str(message.get("id", "")), driving.as_object(message["usage"]))
        for update in _updates(event):
            for one in fitting(update):
                self._tell("session.update", {"update": one})

    def _count(self, message: str, told: dict[str, Any]) -> None:
        """Sum up and report usage so far: it counts even if the run never ends."""
        used = _tokens(told)
        if self._messages.get(message) == used:  # the same message again, with its next part
            return
        self._messages[message] = used
        self.usage |= {name: sum(one[name] for one in self._messages.values()) for name in used}
        meta = {"baton": {"usage": dict(self.usage)}}
        self._tell("session.update", {"update": {"sessionUpdate": "usage_update", "_meta": meta}})


def _tools(task: driving.AgentRun) -> str:
    """Return the tools as arguments for `claude`. Secrets stay in the environment, hidden from other users."""
    if task.tools is None:
        return ""
    server = task.tools
    session = {name: value for name, value in server.env.items() if name == "BATON_SESSION"}
    servers = {server.name: {"command": server.command, "args": server.args, "env": session}}
    return msgspec.json.encode({"mcpServers": servers}).decode()


def _updates(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Translate a line into updates: text, tool calls and their results. Skip sub-agents' text."""
    # A sub-agent's text belongs to its tool call, with a result of its own.
    delta = driving.as_object(driving.as_object(event.get("event")).get("delta"))
    if event.get("type") == "stream_event" and not event.get("parent_tool_use_id"):
        text = delta.get("text") if delta.get("type") == "text_delta" else None
        return [chunk(text)] if text else []
    content = driving.as_object(event.get("message")).get("content")
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
    usage: dict[str, float] = {**_tokens(driving.as_object(result.get("usage")))}
    if isinstance(result.get("total_cost_usd"), int | float):
        usage["cost_usd"] = float(result["total_cost_usd"])
    return usage
