"""Copilot CLI, driven with the hooks written by `baton hooks install`: messages to its models, on the wire."""

import shutil
import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import QUALITY, Prepared, Server, Stage, copied, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import free_port

pytestmark = pytest.mark.e2e

SWITCH_OFF = "baton mode disable"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
GPT = {"COPILOT_MODEL": "gpt-5.2-codex"}


def bash(command: str) -> Use:
    return Use("bash", {"command": command, "description": "do it"})


def view(stage: Stage, name: str) -> Use:
    return Use("view", {"path": str(stage.project / name)})


def edit(stage: Stage) -> Use:
    return Use("edit", {"path": str(stage.project / "a.py"), "old_str": "x = 1", "new_str": "x = 2"})


def task(kind: str, **more: str) -> Use:
    given = {"agent_type": kind, "name": "work", "description": "work", "prompt": "[[sub]] work", "mode": "sync"}
    return Use("task", {**given, **more})


def is_edited(stage: Stage) -> bool:
    return (stage.project / "a.py").read_text() == "x = 2\n"


@pytest.fixture
def stage(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("copilot-cli"), tmp_path)


@pytest.fixture
def strict(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("copilot-cli", strict=True), tmp_path)


def test_an_orchestrator_is_refused_and_its_agents_are_exempt(strict):
    script: list[Step] = [view(strict, "a.py"), view(strict, "b.py"), edit(strict), bash("python -m pytest -q")]
    played = strict.copilot(
        {"main": [*script, task("explore"), "bye"], "sub": [view(strict, "a.py"), view(strict, "b.py"), "sub done"]}
    )
    assert "orchestrator mode is on" in played.told()
    assert "agent_type='…'" in played.told()
    first, second, edited, tests, agent = played.results()
    assert "x = 1" in first
    assert "Multiple view calls" in second
    assert "edit is implementation work" in edited
    assert "task(agent_type='general-purpose'" in edited
    assert "task(agent_type=" in tests
    assert SWITCH_OFF in tests
    assert "sub done" in agent
    assert not is_edited(strict)
    assert all("x = 1" in result for result in played.results("sub"))
    shown = [(d["tool"], d["effect"], bool(d.get("agent_id"))) for d in strict.decisions(played, event="PreToolUse")]
    assert shown[1:5] == [
        ("Read", "deny", False),
        ("Edit", "deny", False),
        ("Bash", "deny", False),
        ("Agent", "rewrite", False),
    ]
    assert [who for _, _, who in shown[5:]] == [True, True]


def test_an_agent_gets_the_model_of_its_roster_unless_it_names_one(stage):
    played = stage.copilot({"main": [task("explore"), "bye"], "sub": ["done"]})
    assert [asked.model for asked in played.model.thread("sub")] == ["claude-haiku-4.5"]
    played = stage.copilot({"main": [task("explore", model="gpt-5-mini"), "bye"], "sub": ["done"]})
    assert [asked.model for asked in played.model.thread("sub")] == ["gpt-5-mini"]


def test_a_patch_of_a_gpt_model_is_refused(strict):
    played = strict.copilot({"main": [Use("apply_patch", PATCH), "bye"]}, env=GPT)
    assert SWITCH_OFF in played.results()[0]
    assert not is_edited(strict)


def test_guidance_lets_the_edit_through_and_tells_the_model(stage):
    stage.baton("mode", "enable", "--level", "guidance")
    played = stage.copilot({"main": [edit(stage), "bye"]})
    assert is_edited(stage)
    assert "edit is implementation work" in played.told()


def test_guardrails_hold_without_a_mode_and_in_a_sub_agent_and_a_question_is_refused(stage):
    danger, question = bash("git push --force origin main"), bash("baton mode disable")
    played = stage.copilot({"main": [danger, question, task("explore"), "bye"], "sub": [danger, "done"]})
    assert "BATON" in played.results()[0]
    assert "unable to ask user" in played.results()[1]
    assert "let them run it" in played.results()[1]
    assert "BATON" in played.results("sub")[0]


def test_an_accepted_rewrite_replaces_the_call(stage):
    assert "rude" in stage.copilot({"main": [bash("echo rude"), "bye"]}).results()[0]
    with (stage.home / ".config" / "baton" / "config").open("a") as config:
        config.write("BATON_ACCEPT_REWRITES=Bash\n")
    assert "polite" in stage.copilot({"main": [bash("echo rude"), "bye"]}).results()[0]


def test_a_prompt_that_several_fit_gets_a_shortlist(stage):
    stage.write_quality_team(".github/agents")
    told = stage.copilot({"main": ["bye"]}, QUALITY).told()
    assert "## Candidates" in told
    assert "(task tool, agent_type)" in told


def test_a_prompt_is_led_to_the_agent_that_it_is_for(stage):
    stage.write_agent(".github/agents", "git-master", "Handles git: squashes, rebases and orders commits.")
    asked = "[[main]] squash my last three git commits into one, git master style"
    told = stage.copilot({"main": ["bye"]}, asked).told()
    assert "## Agent Selection" in told
    assert "call the task tool with agent_type='git-master'" in told


def test_hooks_in_claude_settings_answer_in_copilot_s_dialect(prepared, tmp_path):
    stage = copied(prepared("claude-code", "--scope", "project", strict=True), tmp_path)
    script: list[Step] = [view(stage, "a.py"), view(stage, "b.py"), edit(stage), task("explore"), "bye"]
    played = stage.copilot(
        {"main": script, "sub": [view(stage, "a.py"), view(stage, "b.py"), "done"]}, args=("--trust-folder",)
    )
    assert "orchestrator mode is on" in played.told()
    assert "Multiple view calls" in played.results()[1]
    assert "edit is implementation work" in played.results()[2]
    assert [asked.model for asked in played.model.thread("sub")] == ["claude-haiku-4.5"] * 3
    assert all("x = 1" in result for result in played.results("sub"))
    assert {d["client"] for d in stage.decisions(played)} == {"copilot-cli"}


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_dies_lets_the_call_pass_or_not_as_installed(own_server, tmp_path, flags, edited):
    stage = made(own_server, tmp_path)
    stage.install("copilot-cli", *flags)

    def die() -> Step:
        own_server.stop()
        return edit(stage)

    played = stage.copilot({"main": [view(stage, "a.py"), die, "bye"]})
    assert is_edited(stage) is edited
    assert ("refuses connections" in played.told()) is True


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_hangs_lets_the_call_pass_or_not_as_installed(tmp_path, flags, edited):
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are accepted, and never answered
        stage = made(Server(tmp_path / "nowhere", port=mute.getsockname()[1]), tmp_path)
        stage.install("copilot-cli", *flags)
        played = stage.copilot({"main": [edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert bool(played.model.asked) is edited


@pytest.mark.parametrize(("flags", "asked"), [((), True), (("--fail-closed",), False)])
def test_without_a_server_a_prompt_is_answered_or_refused_as_installed(tmp_path: Path, flags, asked):
    stage = made(Server(tmp_path / "nowhere", port=free_port()), tmp_path)
    stage.install("copilot-cli", *flags)
    played = stage.copilot({"main": [edit(stage), "bye"]})
    assert bool(played.model.asked) is asked
    assert is_edited(stage) is asked


def test_without_baton_one_warning_is_shown_and_the_client_works(strict):
    shutil.rmtree(strict.home / ".local" / "share" / "baton")
    played = strict.copilot({"main": [view(strict, "a.py"), edit(strict), "bye"]})
    assert is_edited(strict)
    assert played.told().count("Baton is not installed on this machine") == 1


def test_baton_disabled_skips_the_rules(strict):
    played = strict.copilot({"main": [edit(strict), "bye"]}, env={"BATON_DISABLED": "1"})
    assert is_edited(strict)
    assert "orchestrator mode is on" not in played.told()
