"""Baton's plans and checks of a start, with the real Claude Code: the plan's command runs, agent calls are judged."""

import json
import subprocess

import pytest

from tests.e2e import clients
from tests.e2e.conftest import made
from tests.e2e.model_endpoint import ModelEndpoint, Use

pytestmark = pytest.mark.e2e

SAID = "Delegation reason: cheaper\nExpected outcome: a list\nRequired tools: Read, Grep\n\n[[sub]] work"
CREW = json.dumps({
    name: {"description": "does it", "prompt": "You do it."} for name in ("stravinsky", "explore", "dewey")
})  # fmt: skip


@pytest.mark.parametrize(("agent", "model", "thinking"), [("planner", "opus", 0), ("delphi", "", 2_048)])
def test_the_real_client_takes_the_plan_s_command(server, tmp_path, agent, model, thinking):
    stage = made(server, tmp_path)
    plan = json.loads(
        stage.baton(
            "spawn", agent, "[[main]] go", "--roster", "stravinsky", "--thinking", str(thinking), "--json",
            url=server.url,
        )
    )  # fmt: skip
    with ModelEndpoint({"main": ["the answer"]}) as endpoint:
        env = clients.clean_env(stage.home) | {"ANTHROPIC_BASE_URL": endpoint.url, "ANTHROPIC_API_KEY": "dummy"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"} | plan["env"]
        command = [str(clients.binary(plan["argv"][0])), *plan["argv"][1:]]
        ran = subprocess.run(
            command, input=plan["stdin"], cwd=stage.project, env=env, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        (asked,) = endpoint.thread("main")
    assert (ran.returncode, ran.stdout.strip()) == (0, "the answer"), ran
    assert model in asked.model
    told = json.dumps(asked.body["system"])
    for part in (f"Agent type: {agent}", f"Display model: {plan['display_model']}", f"Task id: {plan['task_id']}"):
        assert part in told
    if thinking:
        assert asked.body["thinking"]["type"] in {"enabled", "adaptive"}


@pytest.fixture
def checked(own_server, tmp_path):
    """A project whose team has switched the rule on."""
    folder = own_server.home / "state" / "policies"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text("rules: {options/spawn-checks: on}\nrosters: [stravinsky, claude-code]\n")
    own_server.stop()
    own_server.start()
    stage = made(own_server, tmp_path)
    stage.install("claude-code")
    return stage


def start(prompt, kind="explore"):
    return Use(
        "Agent", {"description": "some work", "prompt": prompt, "subagent_type": kind, "run_in_background": False}
    )


@pytest.mark.parametrize(
    ("spawner", "prompt", "said"),
    [
        ("stravinsky", "[[sub]] work", "must say why it starts `explore`"),
        ("dewey", SAID, "worker `dewey` cannot spawn worker `explore`"),
        ("stravinsky", SAID.replace("Read, Grep", "Edit"), "has no `Edit`"),
        ("stravinsky", SAID, ""),
    ],
)
def test_an_agent_call_is_held_to_the_checks_of_a_spawn(checked, spawner, prompt, said):
    played = checked.claude(
        {"main": [start(prompt), "bye"], "sub": ["work is done"]}, args=("--agents", CREW, "--agent", spawner)
    )
    (told,) = played.results()
    assert (said or "work is done") in told
    assert bool(played.model.thread("sub")) == (not said)
