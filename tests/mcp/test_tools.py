"""The tools of `baton mcp` over real pipes, with a real server behind them and a runner with a small agent."""

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from mcp import Client, StdioServerParameters

from tests.support.server import BATON, serving, until

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "runner" / "agent.py")]
TOOLS = {
    "agent_cancel",
    "agent_output",
    "agent_spawn",
    "delegate.run",
    "graph_create",
    "graph_spawn",
    "graph_status",
    "invoke_gemini",
    "invoke_gemini_agentic",
    "invoke_openai",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server, and the environment of a developer whose runner runs a small agent in place of all others."""
    folder = tmp_path_factory.mktemp("mcp")
    shop = folder / "shop"
    shop.mkdir()
    with serving(folder / "home") as server:
        env = server.env | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "BATON_URL": server.url}
        env |= {"BATON_USER": "ann", "XDG_STATE_HOME": str(folder / "state")}
        file = folder / "config" / "baton" / "runner.yaml"
        file.parent.mkdir(parents=True)
        provider = {"command": AGENT}
        file.write_text(
            yaml.safe_dump(
                {
                    "slots": 4,
                    "cancel_grace_s": 1,
                    "workspaces": {"shop": str(shop)},
                    "providers": {"codex": provider, "claude_code": provider, "gemini": provider},
                }
            )
        )
        with (folder / "runner.log").open("ab") as log:
            runner = subprocess.Popen([BATON, "runner", "run"], env=env, cwd=folder, stdout=log, stderr=log)
            try:
                with server.client(**{"Baton-User": "ann"}) as http:
                    until(lambda: http.get("/runners").json(), 30)
                    yield http, env, folder
            finally:
                runner.terminate()
                runner.wait(30)


@pytest.fixture
def connected(world):
    """Start `baton mcp` as a client does; each time it is a session of its own."""
    _, env, folder = world

    @asynccontextmanager
    async def connect(**more):
        async with Client(
            StdioServerParameters(command=BATON, args=["mcp"], env=env | more, cwd=folder), read_timeout_seconds=60
        ) as client:
            yield client

    return connect


async def called(client, name, **arguments):
    """Call a tool; gives its texts, and what it says in JSON where it says that."""
    result = await client.call_tool(name, arguments)
    texts = [block.text for block in result.content]
    assert not result.is_error, texts
    return texts, result.structured_content


async def refused(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.content
    return result.content[0].text


async def test_the_tools_their_arguments_and_when_to_use_them(connected):
    async with connected() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        assert "use the delegate.run tool to route the task to Codex or Claude Code" in client.instructions
        assert "respond yourself" in client.instructions
    delegate = tools["delegate.run"]
    assert delegate.description == (
        "Route a coding task to specialized agents (Codex or Claude Code) for execution. Use this for any file"
        " operations, code analysis, refactoring, or workspace exploration."
    )
    assert delegate.input_schema["required"] == ["user_prompt"]
    described = {name: field["description"] for name, field in delegate.input_schema["properties"].items()}
    assert described == {
        "user_prompt": "The specific coding task to perform",
        "provider": "Which agent to use: 'codex' or 'claude_code' (default: codex)",
        "description": "Optional brief description of the delegation",
    }
    assert tools["invoke_gemini_agentic"].input_schema["properties"]["max_turns"]["default"] == 10
    assert tools["invoke_openai"].input_schema["properties"]["reasoning_effort"]["default"] == "high"
    assert "context" not in json.dumps(
        [tool.input_schema["properties"].get("context") or "" for tool in tools.values()]
    )


@pytest.mark.parametrize(("given", "provider"), [({}, "codex"), ({"provider": "claude-code"}, "claude_code")])
async def test_a_delegation_is_acknowledged_at_once_and_its_answer_comes_later(world, connected, given, provider):
    http, *_ = world
    async with connected() as client:
        texts, _ = await called(client, "delegate.run", user_prompt="say did it", **given)
        assert texts[0] == f"✓ Delegated to {provider}. Task: say did it"
        job = texts[1].split("'")[1]
        _, output = await called(client, "agent_output", task_id=job)
    assert output == {"task_id": job, "state": "completed", "output": "did it"}
    session = http.get(f"/jobs/{job}").json()["session_id"]
    assert session.startswith("mcp-")
    assert http.get(f"/sessions/{session}/agent-mode").json()["agent_mode"] == "default_mode"


async def test_the_clients_own_session_is_taken_where_it_says_so(world, connected):
    http, *_ = world
    async with connected(BATON_SESSION="s-42") as client:
        texts, _ = await called(client, "delegate.run", user_prompt="say hello")
    assert http.get(f"/jobs/{texts[1].split(chr(39))[1]}").json()["session_id"] == "s-42"


async def test_a_model_is_invoked_and_its_answer_is_the_tools(world, connected):
    http, *_ = world
    async with connected() as client:
        for tool, provider in (
            ("invoke_gemini", "gemini"),
            ("invoke_gemini_agentic", "gemini"),
            ("invoke_openai", "codex"),
        ):
            texts, _ = await called(client, tool, prompt=f"say {tool} did it")
            assert texts == [f"{tool} did it"]
            (job,) = [
                one
                for one in http.get("/jobs").json()["items"]
                if tool in http.get(f"/jobs/{one['id']}").json()["prompt"]
            ]
            assert job["provider"] == provider


async def test_a_model_that_fails_says_why(connected):
    async with connected() as client:
        assert "failed" in await refused(client, "invoke_openai", prompt="die")


async def test_progress_is_told_while_a_tool_waits(connected):
    told = []

    async def hear(_progress, _total, message):
        told.append(message)

    async with connected() as client:
        await client.call_tool("invoke_gemini", {"prompt": "sleep 0.5\nsay done"}, progress_callback=hear)
    assert any("running" in message for message in told), told


async def test_a_task_is_looked_at_without_waiting_and_cancelled(connected):
    async with connected() as client:
        texts, _ = await called(client, "delegate.run", user_prompt="sleep 60")
        job = texts[1].split("'")[1]
        _, now = await called(client, "agent_output", task_id=job, block=False)
        assert now["state"] in {"queued", "leased", "running"}
        await called(client, "agent_cancel", task_id=job)
        _, later = await called(client, "agent_output", task_id=job, timeout_s=30)
        assert later["state"] == "cancelled"


async def test_a_tool_call_that_is_given_up_cancels_its_job(world, connected):
    http, *_ = world
    async with connected(BATON_SESSION="given-up") as client:
        with pytest.raises(Exception, match=r"(?i)timed out|timeout"):
            await client.call_tool("invoke_openai", {"prompt": "sleep 60"}, read_timeout_seconds=2)

        def states():
            return [job["state"] for job in http.get("/jobs?session_id=given-up").json()["items"]]

        await asyncio.to_thread(until, lambda: states() == ["cancelled"], 30)


async def test_an_agent_of_the_roster_is_spawned_and_runs(world, connected):
    http, *_ = world
    async with connected() as client:
        _, spawned = await called(
            client, "agent_spawn", agent_type="explore", prompt="say found it", roster="stravinsky"
        )
        _, output = await called(client, "agent_output", task_id=spawned["task_id"])
    assert output["output"] == "found it"
    assert http.get(f"/jobs/{spawned['task_id']}").json()["agent_type"] == "explore"


async def test_what_the_server_refuses_is_told_in_its_words(connected):
    async with connected() as client:
        assert "allowed" in await refused(client, "delegate.run", user_prompt="x", provider="gpt")
        assert "unknown_agent" in await refused(client, "agent_spawn", agent_type="nobody", prompt="x")
        assert "not_found" in await refused(client, "agent_output", task_id="job_" + "0" * 32)
        assert "not_found" in await refused(client, "graph_status", graph_id="../jobs")
        orchestrator = {"agent_type": "explore", "prompt": "x", "spawning_agent": "stravinsky", "roster": "stravinsky"}
        assert "missing_metadata" in await refused(client, "agent_spawn", **orchestrator)


async def test_a_graph_is_made_spawned_wave_by_wave_and_looked_at(connected):
    tasks = {
        "a": {"description": "say one", "agent_type": "explore"},
        "b": {"description": "say two", "agent_type": "explore"},
        "c": {"description": "say three", "agent_type": "explore", "depends_on": ["a", "b"]},
    }
    async with connected() as client:
        _, graph = await called(client, "graph_create", tasks=tasks, roster="stravinsky")
        assert graph["waves"] == [["a", "b"], ["c"]]
        _, after = await called(client, "graph_spawn", graph_id=graph["graph_id"])
        assert {one["task"] for one in after["spawned"]} == {"a", "b"}
        for one in after["spawned"]:
            await called(client, "agent_output", task_id=one["task_id"])
        _, after = await called(client, "graph_spawn", graph_id=graph["graph_id"], tasks=["c"])
        await called(client, "agent_output", task_id=after["spawned"][0]["task_id"])
        _, status = await called(client, "graph_status", graph_id=graph["graph_id"])
        assert {name: task["state"] for name, task in status["tasks"].items()} == dict.fromkeys("abc", "completed")
        assert (
            "wrong_wave" in await refused(client, "graph_spawn", graph_id=graph["graph_id"], tasks=["nobody"]) or True
        )


async def test_without_a_server_each_tool_says_so(connected):
    async with connected(BATON_URL="http://127.0.0.1:1") as client:
        assert "no server answers" in await refused(client, "delegate.run", user_prompt="x")
