"""opencode, driven with the plugin written by `baton hooks install`: messages to its models, on the wire."""

import socket
from pathlib import Path

import pytest

from tests.e2e.conftest import QUALITY, Prepared, Server, Stage, copied, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import free_port

pytestmark = pytest.mark.e2e

SWITCH_OFF = "baton mode disable"


def bash(command: str) -> Use:
    return Use("bash", {"command": command, "description": "do it"})


def read(stage: Stage, name: str) -> Use:
    return Use("read", {"filePath": str(stage.project / name)})


def edit(stage: Stage) -> Use:
    return Use("edit", {"filePath": str(stage.project / "a.py"), "oldString": "x = 1", "newString": "x = 2"})


def task(kind: str) -> Use:
    return Use("task", {"description": "work", "prompt": "[[sub]] work", "subagent_type": kind})


def is_edited(stage: Stage) -> bool:
    return (stage.project / "a.py").read_text() == "x = 2\n"


@pytest.fixture
def stage(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("opencode"), tmp_path)


@pytest.fixture
def strict(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("opencode", strict=True), tmp_path)


def test_an_orchestrator_is_refused_and_its_agents_are_exempt(strict):
    script: list[Step] = [read(strict, "a.py"), read(strict, "b.py"), edit(strict), bash("python -m pytest -q")]
    played = strict.opencode(
        {
            "main": [*script, task("general"), "bye"],
            "sub": [read(strict, "b.py"), read(strict, "a.py"), edit(strict), "ok"],
        }
    )
    assert "orchestrator mode is on" in played.told()
    assert "subagent_type='…'" in played.told()
    first, second, edited, tests, _agent = played.results()
    assert "x = 1" in first
    assert "Multiple read calls" in second
    assert "edit is implementation work" in edited
    assert "subagent_type='general'" in edited
    assert SWITCH_OFF in tests
    assert all("x = 1" in result for result in played.results("sub")[:2])
    assert is_edited(strict)
    found = strict.decisions(played, event="PreToolUse", at_least=8)
    shown = [(d["tool"], d["effect"], bool(d.get("agent_id"))) for d in found]
    assert shown[1:4] == [("Read", "deny", False), ("Edit", "deny", False), ("Bash", "deny", False)]
    assert [(tool, who) for tool, _, who in shown[4:]] == [
        ("Agent", False), ("Read", True), ("Read", True), ("Edit", True)
    ]  # fmt: skip


def test_an_ignored_model_is_not_reported_as_set(stage):
    played = stage.opencode({"main": [task("explore"), "bye"], "sub": ["done"]})
    assert {asked.model for asked in played.model.thread("sub")} == {"a-model"}
    [found] = stage.decisions(played, event="PreToolUse")
    assert found["effect"] != "rewrite"
    assert not found.get("model_injected")


def test_guidance_lets_the_edit_through_and_tells_the_model(stage):
    stage.baton("mode", "enable", "--level", "guidance")
    played = stage.opencode({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage)
    assert "edit is implementation work" in played.told()


def test_guardrails_hold_without_a_mode_and_a_question_is_refused_with_the_way_out(stage):
    danger = bash("git push --force origin main")
    played = stage.opencode({"main": [danger, bash(SWITCH_OFF), task("general"), "bye"], "sub": [danger, "done"]})
    assert "BATON" in played.results()[0]
    assert "baton approve apr_" in played.results()[1]
    assert "BATON" in played.results("sub")[0]


def test_an_accepted_rewrite_replaces_the_call(stage):
    with (stage.home / ".config" / "baton" / "config").open("a") as config:
        config.write("BATON_ACCEPT_REWRITES=Bash\n")
    played = stage.opencode({"main": [bash("echo rude"), "bye"]})
    assert "polite" in played.results()[0]
    assert "rude" not in played.results()[0]


def test_a_prompt_that_several_fit_gets_a_shortlist(stage):
    stage.write_quality_team(".opencode/agent")
    told = stage.opencode({"main": ["bye"]}, QUALITY).told()
    assert "## Candidates" in told
    assert "(task tool, subagent_type)" in told


def test_a_prompt_is_led_to_the_agent_that_it_is_for(stage):
    stage.write_agent(".opencode/agent", "git-master", "Handles git: squashes, rebases and orders commits.")
    asked = "[[main]] squash my last three git commits into one, git master style"
    told = stage.opencode({"main": ["bye"]}, asked).told()
    assert "## Agent Selection" in told
    assert "call the task tool with subagent_type='git-master'" in told


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_dies_lets_the_call_pass_or_not_as_installed(own_server, tmp_path, flags, edited):
    stage = made(own_server, tmp_path)
    stage.install("opencode", *flags)

    def die() -> Step:
        own_server.stop()
        return edit(stage)

    played = stage.opencode({"main": [read(stage, "a.py"), die, "bye"]})
    assert is_edited(stage) is edited
    assert ("refuses connections" in played.told()) is not edited


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_hangs_lets_the_call_pass_or_not_as_installed(tmp_path, flags, edited):
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are accepted, and never answered
        stage = made(Server(tmp_path / "nowhere", port=mute.getsockname()[1]), tmp_path)
        stage.install("opencode", *flags)
        stage.opencode({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_without_a_server_a_prompt_is_answered_or_refused_as_installed(tmp_path: Path, flags, edited):
    stage = made(Server(tmp_path / "nowhere", port=free_port()), tmp_path)
    stage.install("opencode", *flags)
    played = stage.opencode({"main": [read(stage, "a.py"), edit(stage), "bye"]})
    assert is_edited(stage) is edited
    assert any("x = 1" in asked.text() for asked in played.model.thread("main")) is edited
