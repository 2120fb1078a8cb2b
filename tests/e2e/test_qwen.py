"""Qwen Code, driven with the hooks written by `baton hooks install`: messages to its models, on the wire."""

import shutil
import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import Prepared, Server, Stage, copied, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import free_port

pytestmark = pytest.mark.e2e

SWITCH_OFF = "baton mode disable"


def shell(command: str) -> Use:
    return Use("run_shell_command", {"command": command, "description": "do it", "is_background": False})


def read(stage: Stage, name: str) -> Use:
    return Use("read_file", {"file_path": str(stage.project / name)})


def edit(stage: Stage) -> Use:
    return Use("edit", {"file_path": str(stage.project / "a.py"), "old_string": "x = 1", "new_string": "x = 2"})


def agent(kind: str = "general-purpose", *, background: bool = False) -> Use:
    given = {"description": "work", "prompt": "[[sub]] work", "subagent_type": kind}
    return Use("agent", {**given, "run_in_background": background})


def is_edited(stage: Stage) -> bool:
    return (stage.project / "a.py").read_text() == "x = 2\n"


@pytest.fixture
def stage(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("qwen"), tmp_path)


@pytest.fixture
def strict(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("qwen", strict=True), tmp_path)


def test_an_orchestrator_is_refused_and_its_agents_are_exempt(strict):
    script: list[Step] = [read(strict, "a.py"), read(strict, "b.py"), edit(strict), shell("python -m pytest -q")]
    played = strict.qwen(
        {
            "main": [*script, agent(), shell("echo x > a.py"), "bye"],
            "sub": [read(strict, "b.py"), read(strict, "a.py"), edit(strict), "sub done"],
        }
    )
    assert "orchestrator mode is on" in played.told()
    assert "agent(description='…', prompt='…', subagent_type='…')" in played.told()
    first, second, edited, tests, agent_result, after = played.results()
    assert "x = 1" in first
    assert "Multiple read_file calls" in second
    assert "edit is implementation work" in edited
    assert "subagent_type='general-purpose'" in edited
    assert SWITCH_OFF in tests
    assert "sub done" in agent_result
    assert SWITCH_OFF in after
    assert is_edited(strict)
    found = strict.decisions(played, event="PreToolUse", at_least=9)
    shown = [(d["tool"], d["effect"], d.get("agent_type", "")) for d in found]
    assert shown[1:4] == [("Read", "deny", ""), ("Edit", "deny", ""), ("Bash", "deny", "")]
    assert [(tool, who) for tool, _, who in shown[4:]] == [
        ("Agent", ""),
        ("Read", "general-purpose"),
        ("Read", "general-purpose"),
        ("Edit", "general-purpose"),
        ("Bash", ""),
    ]
    assert {d["client"] for d in found} == {"qwen"}


def test_calls_of_the_main_agent_are_not_its_agents(strict):
    played = strict.qwen(
        {"main": [agent(background=True), edit(strict), "bye"], "sub": [shell("echo sub > sub.txt"), "sub done"]}
    )
    assert SWITCH_OFF in played.results()[1]
    assert not is_edited(strict)
    assert (strict.project / "sub.txt").exists()


def test_guidance_lets_the_edit_through_and_tells_the_model_with_its_result(stage):
    stage.baton("mode", "enable", "--level", "guidance")
    played = stage.qwen({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage)
    assert "edit is implementation work" in played.results()[1]


def test_guardrails_apply_without_a_mode_and_headless_questions_are_refused(stage):
    danger = shell("git push --force origin main")
    played = stage.qwen(
        {
            "main": [danger, shell(SWITCH_OFF), shell("rm ~/.qwen/settings.json"), agent(), "bye"],
            "sub": [danger, "sub done"],
        }
    )
    assert all("BATON" in result for result in played.results()[:3])
    assert "BATON" in played.results("sub")[0]
    assert (stage.home / ".qwen" / "settings.json").exists()


def test_an_ignored_change_is_not_reported_as_made(stage):
    with (stage.home / ".config" / "baton" / "config").open("a") as config:
        config.write("BATON_ACCEPT_REWRITES=Bash\n")
    played = stage.qwen({"main": [shell("echo rude"), agent("Explore"), "bye"], "sub": ["done"]})
    assert "Output: rude" in played.results()[0]
    found = stage.decisions(played, event="PreToolUse", at_least=2)
    assert all(one["effect"] != "rewrite" and not one.get("model_injected") for one in found)


def test_a_prompt_is_led_to_the_agent_that_it_is_for(stage):
    asked = "[[main]] squash my last three git commits into one, git master style"
    with stage.pushed(
        "git-master", "Handles git: squashes, rebases and orders commits."
    ):  # headless it starts no session, at which it could tell of its own
        told = stage.qwen({"main": ["bye"]}, asked).told()
    assert "## Agent Selection" in told
    assert "call the agent tool with subagent_type='git-master'" in told


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_dies_lets_the_call_pass_or_not_as_installed(own_server, tmp_path, flags, edited):
    stage = made(own_server, tmp_path)
    stage.install("qwen", *flags)

    def die() -> Step:
        own_server.stop()
        return edit(stage)

    played = stage.qwen({"main": [read(stage, "a.py"), die, "bye"]})
    assert is_edited(stage) is edited
    # The prompt after a round of tools tells it, or is refused, which ends the run.
    assert ("refuses connections" in played.told()) is edited


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_hangs_lets_the_call_pass_or_not_as_installed(tmp_path, flags, edited):
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are accepted, and never answered
        stage = made(Server(tmp_path / "nowhere", port=mute.getsockname()[1]), tmp_path)
        stage.install("qwen", *flags)
        played = stage.qwen({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert bool(played.model.asked) is edited


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_without_a_server_a_prompt_is_answered_or_refused_as_installed(tmp_path: Path, flags, edited):
    stage = made(Server(tmp_path / "nowhere", port=free_port()), tmp_path)
    stage.install("qwen", *flags)
    played = stage.qwen({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert bool(played.model.asked) is edited


def test_without_baton_a_warning_is_shown_and_the_client_works(strict):
    shutil.rmtree(strict.home / ".local" / "share" / "baton")
    played = strict.qwen({"main": [read(strict, "a.py"), edit(strict), "bye"]})
    assert is_edited(strict)
    assert "Baton is not installed on this machine" in played.told()


def test_baton_disabled_skips_the_rules(strict):
    played = strict.qwen({"main": [read(strict, "a.py"), edit(strict), "bye"]}, env={"BATON_DISABLED": "1"})
    assert is_edited(strict)
    assert "orchestrator mode is on" not in played.told()
