"""Gemini CLI, driven with the hooks written by `baton hooks install`: messages to its models, on the wire."""

import shutil
import socket
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import QUALITY, Prepared, Server, Stage, copied, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import free_port

pytestmark = pytest.mark.e2e

SWITCH_OFF = "baton mode disable"


def shell(command: str) -> Use:
    return Use("run_shell_command", {"command": command, "description": "do it"})


def read(stage: Stage, name: str) -> Use:
    return Use("read_file", {"file_path": str(stage.project / name)})


def edit(stage: Stage) -> Use:
    given = {"file_path": str(stage.project / "a.py"), "instruction": "edit", "old_string": "x = 1"}
    return Use("replace", {**given, "new_string": "x = 2"})


def invoke(agent: str = "generalist") -> Use:
    return Use("invoke_agent", {"agent_name": agent, "prompt": "[[sub]] work"})


def thinking(use: Use) -> Step:
    """A model takes its time for its first answer; what comes at once is of the main agent's turn."""
    time.sleep(0.5)
    return use


FINISHED = Use("complete_task", {"result": {"response": "sub done"}})
FOUND = {"SummaryOfFindings": "s", "ExplorationTrace": [], "RelevantLocations": []}
REPORTED = Use("complete_task", {"report": FOUND})


def is_edited(stage: Stage) -> bool:
    return (stage.project / "a.py").read_text() == "x = 2\n"


@pytest.fixture
def stage(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("gemini"), tmp_path)


@pytest.fixture
def strict(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("gemini", strict=True), tmp_path)


def test_an_orchestrator_is_refused_and_its_running_agents_are_exempt(strict):
    script: list[Step] = [read(strict, "a.py"), read(strict, "b.py"), edit(strict), shell("python -m pytest -q")]
    played = strict.gemini(
        {
            "main": [*script, invoke(), shell("echo x > a.py"), "bye"],
            "sub": [lambda: thinking(read(strict, "b.py")), read(strict, "a.py"), edit(strict), FINISHED],
        }
    )
    assert "orchestrator mode is on" in played.told()
    assert "invoke_agent(agent_name='…', prompt='…')" in played.told()
    first, second, edited, tests, agent, after = played.results()
    assert "x = 1" in first
    assert "Multiple read_file calls" in second
    assert "replace is implementation work" in edited
    assert "agent_name='generalist'" in edited
    assert SWITCH_OFF in tests
    assert "sub done" in agent
    assert SWITCH_OFF in after
    assert is_edited(strict)
    found = strict.decisions(played, event="PreToolUse", at_least=10)
    shown = [(d["tool"], d["effect"], d.get("agent_type", "")) for d in found]
    assert shown[1:4] == [("Read", "deny", ""), ("Edit", "deny", ""), ("Bash", "deny", "")]
    assert [(tool, who) for tool, _, who in shown[4:]] == [
        ("Agent", ""),
        ("Read", "generalist"),
        ("Read", "generalist"),
        ("Edit", "generalist"),
        ("complete_task", "generalist"),
        ("Bash", ""),
    ]
    assert {d["client"] for d in found} == {"gemini"}


def test_calls_of_the_main_agent_are_not_its_agents(strict):
    beside = Use("invoke_agent", {"agent_name": "codebase_investigator", "prompt": "[[beside]] look"})
    calls = (invoke(), shell("echo main > main.txt"), beside)
    played = strict.gemini(
        {
            "main": [calls, "bye"],
            "sub": [lambda: thinking(shell("echo sub > sub.txt")), FINISHED],
            # A tool that it has: one that it lacks is refused by Gemini unasked, and its model's next request closes both.
            "beside": [lambda: thinking(read(strict, "b.py")), REPORTED],
        }
    )
    assert SWITCH_OFF in played.results()[1]
    assert not (strict.project / "main.txt").exists()
    assert (strict.project / "sub.txt").exists()
    assert "Termination Reason: GOAL" in played.results()[2]


def test_an_unstarted_agent_gives_no_exemption(strict):
    rule = '[[rule]]\ntoolName = "invoke_agent"\ndecision = "ask_user"\npriority = 999\n'
    policies = strict.home / ".gemini" / "policies"
    policies.mkdir(parents=True)
    (policies / "agents.toml").write_text(rule)
    played = strict.gemini({"main": [invoke(), edit(strict), "bye"], "sub": [FINISHED]})
    assert not is_edited(strict)
    assert not played.model.thread("sub")


def test_guidance_lets_the_edit_through_and_tells_the_model_with_its_result(stage):
    stage.baton("mode", "enable", "--level", "guidance")
    played = stage.gemini({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage)
    assert "replace is implementation work" in played.results()[1]


def test_guardrails_hold_without_a_mode_and_a_question_is_refused_with_the_way_out(stage):
    danger = shell("git push --force origin main")
    played = stage.gemini(
        {
            "main": [danger, shell(SWITCH_OFF), shell("rm ~/.gemini/settings.json"), invoke(), "bye"],
            "sub": [lambda: thinking(danger), FINISHED],
        }
    )
    assert "BATON" in played.results()[0]
    assert "baton approve apr_" in played.results()[1]
    assert "baton approve apr_" in played.results()[2]
    assert "BATON" in played.results("sub")[0]


def test_an_accepted_rewrite_replaces_the_call(stage):
    with (stage.home / ".config" / "baton" / "config").open("a") as config:
        config.write("BATON_ACCEPT_REWRITES=Bash\n")
    played = stage.gemini({"main": [shell("echo rude"), "bye"]})
    assert "Output: polite" in played.results()[0]


def test_an_ignored_model_is_not_reported_as_set(stage):
    played = stage.gemini({"main": [invoke("codebase_investigator"), "bye"], "sub": [FINISHED]})
    [found] = [d for d in stage.decisions(played, event="PreToolUse") if d["tool"] == "Agent"]
    assert found["effect"] != "rewrite"
    assert not found.get("model_injected")


def test_a_prompt_that_several_fit_gets_a_shortlist(stage):
    stage.write_quality_team(".gemini/agents")
    told = stage.gemini({"main": ["bye"]}, QUALITY).told()
    assert "## Candidates" in told
    assert "(invoke_agent tool, agent_name)" in told


def test_a_prompt_is_led_to_the_agent_that_it_is_for(stage):
    stage.write_agent(".gemini/agents", "git-master", "Handles git: squashes, rebases and orders commits.")
    asked = "[[main]] squash my last three git commits into one, git master style"
    told = stage.gemini({"main": ["bye"]}, asked).told()
    assert "## Agent Selection" in told
    assert "call the invoke_agent tool with agent_name='git-master'" in told


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_dies_lets_the_call_pass_or_not_as_installed(own_server, tmp_path, flags, edited):
    stage = made(own_server, tmp_path)
    stage.install("gemini", *flags)

    def die() -> Step:
        own_server.stop()
        return edit(stage)

    played = stage.gemini({"main": [read(stage, "a.py"), die, "bye"]})
    assert is_edited(stage) is edited
    assert "refuses connections" in (played.ran.err if edited else played.told())


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_hangs_lets_the_call_pass_or_not_as_installed(tmp_path, flags, edited):
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are accepted, and never answered
        stage = made(Server(tmp_path / "nowhere", port=mute.getsockname()[1]), tmp_path)
        stage.install("gemini", *flags)
        played = stage.gemini({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert bool(played.model.asked) is edited


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_without_a_server_a_prompt_is_answered_or_refused_as_installed(tmp_path: Path, flags, edited):
    stage = made(Server(tmp_path / "nowhere", port=free_port()), tmp_path)
    stage.install("gemini", *flags)
    played = stage.gemini({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert bool(played.model.asked) is edited


def test_without_baton_a_warning_is_shown_and_the_client_works(strict):
    shutil.rmtree(strict.home / ".local" / "share" / "baton")
    played = strict.gemini({"main": [read(strict, "a.py"), edit(strict), "bye"]})
    assert is_edited(strict)
    assert "Baton is not installed on this machine" in played.ran.err


def test_baton_disabled_skips_the_rules(strict):
    played = strict.gemini({"main": [read(strict, "a.py"), edit(strict), "bye"]}, env={"BATON_DISABLED": "1"})
    assert is_edited(strict)
    assert "orchestrator mode is on" not in played.told()
