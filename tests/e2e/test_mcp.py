"""A real Claude Code delegating through `baton mcp`: to a real Codex, and through a thin wrapper to its target."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import clients
from tests.e2e.conftest import BATON, Server
from tests.e2e.model_endpoint import ModelEndpoint, Script, Step, Use
from tests.e2e.test_runner import Laptop

pytestmark = pytest.mark.e2e

PLUGIN = Path(__file__).parents[2] / "hooks" / "claude-code-plugin"
SMALL_AGENT = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "runner" / "agent.py")]
Made = Callable[[Script], Laptop]


@pytest.fixture
def laptop(server: Server, tmp_path: Path) -> Iterator[Made]:
    """A laptop with a runner, whose Gemini is a small agent that does what its prompt says."""
    made: list[Laptop] = []

    def make(script: Script) -> Laptop:
        model = ModelEndpoint(script)
        model.__enter__()
        made.append(Laptop(server, tmp_path / "home", model, more={"gemini": {"command": SMALL_AGENT}}))
        made[-1].start()
        made[-1].until(lambda: " serves " in (made[-1].home / "runner.log").read_text())  # a job waits for no runner
        return made[-1]

    yield make
    for one in made:
        if one.process:
            one.process.terminate()
            one.process.wait(30)
        one.model.__exit__()


def person(laptop: Laptop) -> dict[str, str]:
    """What tells `baton` whose it is and where the server is."""
    return {"BATON_URL": laptop.server.url, "BATON_USER": laptop.home.parent.name}


def played(laptop: Laptop) -> clients.Ran:
    """Run Claude Code in the laptop's project, with `baton mcp` as its tools."""
    env = person(laptop)
    servers = {"mcpServers": {"baton": {"command": str(BATON), "args": ["mcp"], "env": env}}}
    args = ("--mcp-config", json.dumps(servers), "--allowedTools", "mcp__baton")
    return clients.claude("[[main]] go", home=laptop.home, cwd=laptop.project, model_url=laptop.model.url, args=args)


def then(laptop: list[Laptop], thread: str, step: Callable[[str], Step]) -> Callable[[], Step]:
    """Make the next step of what the thread's last tool call gave back."""
    return lambda: step(laptop[0].model.results(thread)[-1])


def task_id(told: str) -> str:
    found = re.search(r"job_[0-9a-f]+", told)
    assert found, told
    return found[0]


def test_claude_delegates_to_codex_and_waits_for_its_answer(laptop: Made) -> None:
    made: list[Laptop] = []
    delegate = Use("mcp__baton__delegate_run", {"user_prompt": "[[sub]] go", "description": "some work"})
    script: Script = {
        "main": [
            delegate,
            then(made, "main", lambda told: Use("mcp__baton__agent_output", {"task_id": task_id(told)})),
            "bye",
        ],
        "sub": ["codex did it"],
    }
    made.append(laptop(script))
    ran = played(made[0])
    acknowledged, answer = made[0].model.results("main")
    assert "✓ Delegated to codex. Task: [[sub]] go" in acknowledged, ran.out
    assert "codex did it" in answer
    told = next(asked for asked in made[0].model.thread("main") if asked.tools)
    assert "mcp__baton__invoke_gemini_agentic" in json.dumps(told.body)


def test_a_thin_wrapper_reaches_its_target(laptop: Made) -> None:
    made: list[Laptop] = []
    spawn = {"agent_type": "explore", "prompt": "[[wrapper]] find it", "roster": "stravinsky"}
    hand_on = Use("mcp__baton__invoke_gemini_agentic", {"prompt": "say gemini found it"})
    script: Script = {
        "main": [
            Use("mcp__baton__agent_spawn", spawn),
            then(made, "main", lambda told: Use("mcp__baton__agent_output", {"task_id": task_id(told)})),
            "bye",
        ],
        "wrapper": [hand_on, then(made, "wrapper", lambda told: f"it says: {told}")],
    }
    made.append(laptop(script))
    ran = played(made[0])
    assert "gemini found it" in made[0].model.results("wrapper")[-1], ran.out
    assert "it says: gemini found it" in made[0].model.results("main")[-1]
    systems = [json.dumps(asked.body["system"]) for asked in made[0].model.thread("wrapper")]
    assert any("invoke_gemini_agentic" in system for system in systems)
    jobs = made[0].call("GET", "/jobs")["items"]
    assert {(job["provider"], job["state"]) for job in jobs} == {("claude_code", "completed"), ("gemini", "completed")}
    assert len({job["session_id"] for job in jobs}) == 1


def test_the_plugins_command_brings_the_tool_and_calls_it(laptop: Made) -> None:
    delegate = Use("mcp__plugin_baton_baton__delegate_run", {"user_prompt": "[[sub]] go", "provider": "codex"})
    one = laptop({"main": [delegate, "bye"], "sub": ["codex did it"]})
    env = person(one) | {"PATH": f"{BATON.parent}:{clients.clean_env(one.home)['PATH']}"}
    ran = clients.claude(
        "/baton:delegate codex [[main]] go",
        home=one.home,
        cwd=one.project,
        model_url=one.model.url,
        args=("--plugin-dir", str(PLUGIN)),
        env=env,
    )
    (acknowledged,) = one.model.results("main")
    assert "✓ Delegated to codex. Task: [[sub]] go" in acknowledged, ran.out
