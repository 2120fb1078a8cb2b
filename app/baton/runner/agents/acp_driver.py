"""Drives an agent over the Agent Client Protocol: session, model, mode, prompt, cancel."""

import asyncio
import contextlib
from typing import Any, cast

from acp import PROTOCOL_VERSION, Client, RequestError, connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    Implementation,
    McpServerStdio,
)

from baton.runner.agents.acp_client import AcpClient
from baton.runner.agents.driving import NO_THREAD, AgentDriver, AgentError, AgentRun, EventSink, with_recap
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import fitting, words
from baton.runner.config import Provider
from baton.runner.permissions import Permissions

_CLOSE_S = 2.0
_CAPABILITIES = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=False)
_CLIENT = Implementation(name="baton-runner", version="1")


class AcpDriver(AgentDriver):
    """One session of one agent, for one prompt."""

    def __init__(self, provider: Provider, task: AgentRun, permissions: Permissions, tell: EventSink) -> None:
        super().__init__(provider, task, permissions, tell)
        self._client = AcpClient(task.folder, permissions, self._take)
        self._connection: ClientSideConnection | None = None
        self._session = ""
        self._appends = self._resumed = False
        self._listening = False

    async def work(self, tree: ProcessTree) -> str:
        """Open a session, set model and mode, send the prompt, and wait for the end of the turn."""
        connection = connect_to_agent(cast("Client", self._client), tree.stdin, tree.stdout)
        self._connection = connection
        try:
            hello = await connection.initialize(PROTOCOL_VERSION, _CAPABILITIES, _CLIENT)
            if hello.protocol_version != PROTOCOL_VERSION:
                raise AgentError(
                    "agent_protocol", f"the agent speaks ACP {hello.protocol_version}, not {PROTOCOL_VERSION}"
                )
            self._appends = bool(hello.agent_info and "claude" in hello.agent_info.name)
            options = await self._open(connection, hello.agent_capabilities or AgentCapabilities())
            self._tell("agent.session", {"id": self._session})
            await self._set(connection, options)
            self._listening = True
            if self._client.cancelled:
                return "cancelled"
            answer = await connection.prompt(session_id=self._session, prompt=[text_block(self._prompt())])
        except RequestError as error:
            raise AgentError("agent_refused", _told(error)) from None
        usage = answer.usage
        if usage:
            read = usage.input_tokens + (usage.cached_read_tokens or 0) + (usage.cached_write_tokens or 0)
            cached = usage.cached_read_tokens or 0
            self.usage |= {"input_tokens": read, "cached_tokens": cached, "output_tokens": usage.output_tokens}
        return str(answer.stop_reason)

    async def cancel(self) -> None:
        """Send `session/cancel`. Later permission requests are answered with `cancelled`."""
        self._client.cancelled = True
        if self._connection and self._session:
            with contextlib.suppress(ConnectionError, OSError, TimeoutError):
                await asyncio.wait_for(self._connection.cancel(self._session), _CLOSE_S)

    async def close(self) -> None:
        """Close the connection, without waiting for an unresponsive agent."""
        if self._connection:
            with contextlib.suppress(ConnectionError, OSError, TimeoutError):
                await asyncio.wait_for(self._connection.close(), _CLOSE_S)

    async def _open(self, connection: ClientSideConnection, able: AgentCapabilities) -> list[Any]:
        """Resume the named session if the agent still has it, or start a new one. Return its options."""
        task, folder, tools = self._task, str(self._task.folder), self._tools()
        if task.agent_session:
            with contextlib.suppress(RequestError):
                if able.session_capabilities and able.session_capabilities.resume is not None:
                    resumed = await connection.resume_session(
                        session_id=task.agent_session, cwd=folder, mcp_servers=tools
                    )
                    self._session, self._resumed = task.agent_session, True
                    return list(resumed.config_options or [])
                if able.load_session:  # replays the whole past, already on the server
                    loaded = await connection.load_session(session_id=task.agent_session, cwd=folder, mcp_servers=tools)
                    self._session, self._resumed = task.agent_session, True
                    return list(loaded.config_options or [])
        if task.recap:
            self._tell("session.update", {"update": words(NO_THREAD)})
        meta: dict[str, Any] = (
            {"systemPrompt": {"append": task.system_prompt}} if self._appends and task.system_prompt else {}
        )
        began = await connection.new_session(cwd=folder, mcp_servers=tools, **meta)
        self._session = began.session_id
        return list(began.config_options or [])

    def _tools(self) -> list[Any]:
        server = self._task.tools
        if server is None:
            return []
        env = [EnvVariable(name=name, value=value) for name, value in server.env.items()]
        return [McpServerStdio(name=server.name, command=server.command, args=server.args, env=env)]

    async def _set(self, connection: ClientSideConnection, options: list[Any]) -> None:
        for category, value in (("mode", self._provider.mode), ("model", self._task.model)):
            if not value:
                continue
            option = next((one for one in options if category in {one.category, one.id}), None)
            if option is None and category == "mode":
                await connection.set_session_mode(session_id=self._session, mode_id=value)
                continue
            offered = _values(option)
            if option is None or value not in offered:
                allowed = ", ".join(f"`{one}`" for one in offered) or "none"
                raise AgentError(
                    f"{category}_not_offered", f"the agent has no {category} `{value}`; it offers: {allowed}"
                )
            await connection.set_config_option(config_id=option.id, session_id=self._session, value=value)

    def _prompt(self) -> str:
        """Return the prompt, preceded by the system prompt unless the agent accepts one (Claude's adapter)."""
        prompt = self._task.prompt if self._resumed else with_recap(self._task)
        if self._task.system_prompt and not self._appends:
            return f"{self._task.system_prompt}\n\n{prompt}"
        return prompt

    def _take(self, update: dict[str, Any]) -> None:
        if not self._listening:  # the past of a loaded session, the agent's list of commands
            return
        cost = update.get("cost") if update.get("sessionUpdate") == "usage_update" else None
        if isinstance(cost, dict) and cost.get("currency") == "USD":
            self.usage["cost_usd"] = float(cost.get("amount") or 0)
        for one in fitting(update):
            self._tell("session.update", {"update": one})


def _values(option: Any) -> list[str]:
    found: list[str] = []
    for one in getattr(option, "options", None) or []:
        found += [inner.value for inner in one.options] if hasattr(one, "options") else [one.value]
    return found


def _told(error: RequestError) -> str:
    details = error.data.get("details") or error.data.get("message") if isinstance(error.data, dict) else error.data
    return f"{error}: {details}" if details else str(error)
