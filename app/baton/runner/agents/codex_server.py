"""Drives `codex app-server` without the ACP adapter: its items become ACP updates, its approvals permission requests.

It starts in half of the adapter's time. The messages are those of `codex app-server generate-json-schema`.
"""

import asyncio
import contextlib
from typing import Any

from baton.runner.agents.driving import (
    LONGEST_TITLE,
    NO_THREAD,
    ONCE,
    AgentDriver,
    AgentError,
    AgentRun,
    EventSink,
    as_object,
    parsed,
    send,
    with_recap,
)
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import chunk, fitting, words
from baton.runner.config import Provider
from baton.runner.permissions import Permissions

_CLIENT = {"clientInfo": {"name": "baton-runner", "version": "1"}}
_KINDS = {"commandExecution": "execute", "fileChange": "edit", "webSearch": "fetch", "mcpToolCall": "other"}
_STATES = {"completed": "completed", "inProgress": "in_progress"}
_UNKNOWN = -32601  # JSON-RPC: the method does not exist
_TOKENS = {"input_tokens": "inputTokens", "cached_tokens": "cachedInputTokens", "output_tokens": "outputTokens"}


class CodexServer(AgentDriver):
    """One turn of one Codex thread over JSON-RPC. A provider's mode is Codex's sandbox."""

    def __init__(self, provider: Provider, task: AgentRun, permissions: Permissions, tell: EventSink) -> None:
        super().__init__(provider, task, permissions, tell)
        self._tree: ProcessTree | None = None
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._turn: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._here: dict[str, str] = {}
        self._changed: dict[str, list[str]] = {}
        self._streamed: set[str] = set()
        self._cancelled = False

    async def work(self, tree: ProcessTree) -> str:
        """Open a thread, send the prompt, answer the approvals, and wait for the end of the turn."""
        self._tree = tree
        reading = asyncio.create_task(self._read(tree))
        try:
            await self._request("initialize", **_CLIENT)
            prompt = await self._open()
            if self._cancelled:
                return "cancelled"
            text = [{"type": "text", "text": prompt, "text_elements": []}]
            begun = await self._request("turn/start", threadId=self._here["threadId"], input=text)
            self._here["turnId"] = str(as_object(begun.get("turn")).get("id"))
            if self._cancelled:
                await self.cancel()
            turn = await self._turn
        finally:
            for task in (reading, *self._asking):
                task.cancel()
            await asyncio.gather(reading, *self._asking, return_exceptions=True)
        tree.stdin.close()
        if turn.get("status") == "failed" and not self._cancelled:
            raise AgentError("agent_failed", str(as_object(turn.get("error")).get("message") or "it failed"))
        return "end_turn" if turn.get("status") == "completed" else "cancelled"

    async def cancel(self) -> None:
        """Interrupt the turn. Later approvals are declined."""
        self._cancelled = True
        if self._tree and "turnId" in self._here:
            with contextlib.suppress(ConnectionError, OSError):
                await send(self._tree, {"id": 0, "method": "turn/interrupt", "params": self._here})

    async def _open(self) -> str:
        """Resume the task's thread or start a new one. Return the prompt for it."""
        task, server = self._task, self._task.tools
        tools = {server.name: {"command": server.command, "args": server.args, "env": server.env}} if server else {}
        settings = {
            "cwd": str(task.folder), "model": task.model or None, "sandbox": self._provider.mode or None,
            "approvalPolicy": "on-request", "developerInstructions": task.system_prompt or None,
            "config": {f"mcp_servers.{name}": server for name, server in tools.items()},
        }  # fmt: skip
        prompt, opened = task.prompt, {}
        if task.agent_session:
            with contextlib.suppress(AgentError):
                opened = await self._request(
                    "thread/resume", threadId=task.agent_session, excludeTurns=True, **settings
                )
        if not opened:
            if task.recap:
                self._tell("session.update", {"update": words(NO_THREAD)})
            opened = await self._request("thread/start", **settings)
            prompt = with_recap(task)
        self._here = {"threadId": str(as_object(opened.get("thread")).get("id"))}
        self._tell("agent.session", {"id": self._here["threadId"]})
        return prompt

    async def _request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its result. Raise AgentError for an error, ConnectionError without an answer."""
        assert self._tree is not None  # noqa: S101 - set by work
        number = len(self._replies) + 1
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        await send(self._tree, {"id": number, "method": method, "params": params})
        answer = await reply
        if "error" in answer:
            raise AgentError("agent_refused", str(as_object(answer["error"]).get("message") or "it refused"))
        return as_object(answer.get("result"))

    async def _read(self, tree: ProcessTree) -> None:
        """Distribute the server's lines until it ends."""
        async for line in tree.stdout:
            message = parsed(line)
            method, params = str(message.get("method", "")), as_object(message.get("params"))
            if not method:
                reply = self._replies.get(message.get("id", 0))
                if reply and not reply.done():
                    reply.set_result(message)
            elif "id" in message:
                self._asking.add(asyncio.create_task(self._answer(tree, message["id"], method, params)))
            else:
                self._take(method, params)
        for waiting in (*self._replies.values(), self._turn):
            if not waiting.done():
                waiting.set_exception(ConnectionError("it ended without a result"))
                waiting.exception()  # nobody may wait for it: that is no error of its own

    async def _answer(self, tree: ProcessTree, number: Any, method: str, params: dict[str, Any]) -> None:
        """Ask for an approval and send the decision. Codex learns of any other request that it is unknown here."""
        places: list[str] = []
        if method == "item/commandExecution/requestApproval":
            tool, kind, about = "Bash", "execute", str(params.get("command") or params.get("reason") or "")
            given = {"command": params["command"]} if params.get("command") else {"input": params}
        elif method == "item/fileChange/requestApproval":
            places = [*self._changed.get(str(params.get("itemId")), []), *_named(params, "grantRoot")]
            tool, kind, about = "Edit", "edit", ", ".join(places)
            given = {"paths": places}
        elif method == "mcpServer/elicitation/request" and params.get("mode") == "form":
            tool, kind, about = f"mcp__{params.get('serverName')}", "other", str(params.get("message") or "")
            given = as_object(as_object(params.get("_meta")).get("tool_params"))
        else:
            error = {"code": _UNKNOWN, "message": "this client does not know the request"}
            await send(tree, {"id": number, "error": error})
            return
        title = f"{tool} {about}".strip()[:LONGEST_TITLE]
        request = {"title": title, "kind": kind, "tool_name": tool, "tool_input": given, "options": ONCE}
        own = self._task.tools is not None and tool == f"mcp__{self._task.tools.name}"
        allow = (own or await self._permissions.allowed(request, places)) and not self._cancelled
        decision = "accept" if allow else "decline"
        answer = {"action": decision, "content": {}} if tool.startswith("mcp__") else {"decision": decision}
        await send(tree, {"id": number, "result": answer})

    def _take(self, method: str, params: dict[str, Any]) -> None:
        if params.get("threadId") != self._here.get("threadId"):  # a sub-agent's, or of no thread
            return
        item = as_object(params.get("item"))
        if method == "turn/completed" and not self._turn.done():
            self._turn.set_result(as_object(params.get("turn")))
        elif method == "thread/tokenUsage/updated":
            self._count(as_object(as_object(params.get("tokenUsage")).get("last")))
        elif method == "item/agentMessage/delta":
            self._streamed.add(str(params.get("itemId")))
            self._show(chunk(str(params.get("delta", ""))))
        elif method == "item/completed" and item.get("type") == "agentMessage":
            if item.get("id") not in self._streamed:
                self._show(chunk(str(item.get("text", ""))))
        elif method in ("item/started", "item/completed") and item.get("type") in _KINDS:
            self._show(self._call(item, begun=method == "item/started"))

    def _call(self, item: dict[str, Any], *, begun: bool) -> dict[str, Any]:
        """Return the update of a tool call's start or end. Keep a change's files for its approval."""
        kind, call = str(item["type"]), {"toolCallId": str(item.get("id"))}
        if not begun:
            output = item.get("aggregatedOutput") or item.get("result") or item.get("error")
            state = _STATES.get(str(item.get("status")), "failed")
            return {"sessionUpdate": "tool_call_update", **call, "status": state, "rawOutput": output}
        changes = [as_object(one) for one in item.get("changes") or []]
        paths = [
            path for one in changes for path in (*_named(one, "path"), *_named(as_object(one.get("kind")), "move_path"))
        ]
        self._changed[call["toolCallId"]] = paths
        given = {name: item[name] for name in ("command", "cwd", "changes", "arguments", "query") if name in item}
        title = str(item.get("command") or ", ".join(paths) or item.get("query") or item.get("tool") or kind)
        return {
            "sessionUpdate": "tool_call", **call, "title": title[:LONGEST_TITLE], "kind": _KINDS[kind],
            "status": "in_progress", "rawInput": given, "locations": [{"path": path} for path in paths],
        }  # fmt: skip

    def _count(self, last: dict[str, Any]) -> None:
        """Sum up and report usage so far: it counts even if the run never ends."""
        for ours, theirs in _TOKENS.items():
            self.usage[ours] = self.usage.get(ours, 0) + int(last.get(theirs) or 0)
        self._show({"sessionUpdate": "usage_update", "_meta": {"baton": {"usage": dict(self.usage)}}})

    def _show(self, update: dict[str, Any]) -> None:
        for one in fitting(update):
            self._tell("session.update", {"update": one})


def _named(given: dict[str, Any], name: str) -> list[str]:
    return [str(given[name])] if given.get(name) else []
