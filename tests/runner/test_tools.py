"""The tools passed to a roster's agent, and to no other agent."""

import json
import sys
from pathlib import Path

import pytest

from baton.runner.agents.claude_print import ClaudePrint
from baton.runner.agents.driving import AgentRun
from baton.runner.agents.updates import tool_server
from baton.runner.config import Provider
from baton.runner.wire import LeasedTask
from tests.runner.conftest import ended

LEASE = LeasedTask(job="job_1", attempt=1, token="t", provider="codex", workspace="", prompt="go", session_id="s-1")
ENV = {"BATON_URL": "http://x", "BATON_TOKEN": "s3cret", "PATH": "/bin", "OTHER": "o", "BATON_USER": ""}
# An agent that says which MCP servers it was given.
SPY = """\
import json, sys
for line in sys.stdin:
    got = json.loads(line)
    method, params = got.get("method"), got.get("params") or {}
    def send(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
    if method == "initialize":
        send(id=got["id"], result={"protocolVersion": 1})
    elif method == "session/new":
        names = [[one["name"], one["args"], sorted(v["name"] for v in one["env"])] for one in params["mcpServers"]]
        send(id=got["id"], result={"sessionId": "s"})
    elif method == "session/prompt":
        content = {"type": "text", "text": json.dumps(names)}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        send(method="session/update", params={"sessionId": "s", "update": update})
        send(id=got["id"], result={"stopReason": "end_turn"})
"""


def test_they_are_those_of_the_session_that_the_job_belongs_to():
    server = tool_server(LEASE, ENV)
    assert (server.name, server.args, Path(server.command).name) == ("baton", ["mcp"], "baton")
    assert server.env == {
        "BATON_URL": "http://x",
        "BATON_TOKEN": "s3cret",
        "PATH": "/bin",
        "BATON_JOB": "job_1",
        "BATON_SESSION": "s-1",
    }


@pytest.mark.parametrize(("agent_type", "given"), [("explore", True), ("", False)])
async def test_only_an_agent_of_a_roster_is_given_them(server, running, tmp_path, agent_type, given):
    script = tmp_path / "spy.py"
    script.write_text(SPY)
    job = server.give("go", agent_type=agent_type)
    async with running(provider={"command": [sys.executable, "-I", "-S", str(script)]}):
        finish = await ended(server, job)
    told = json.loads(finish["output"])
    assert [(name, arguments) for name, arguments, _ in told] == ([("baton", ["mcp"])] if given else [])


def test_no_secret_is_on_a_command_line(drives):
    task = AgentRun(prompt="go", folder=Path(), tools=tool_server(LEASE, ENV))
    command = ClaudePrint(Provider(command=["claude"]), task, None, None).command()
    config = json.loads(command[command.index("--mcp-config") + 1])
    assert config["mcpServers"]["baton"]["env"] == {"BATON_SESSION": "s-1"}
    assert command[command.index("--allowedTools") + 1] == "mcp__baton"
    assert "s3cret" not in " ".join(command)
    driver = drives("agents.acp_driver", "AcpDriver")(Provider(command=["agent"]), task, None, None)
    assert driver.command() == ["agent"]
