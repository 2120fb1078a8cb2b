"""Codex, driven with the hooks.json written by `baton hooks install`: messages to its model, on the wire."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Prepared, Server, Stage, copied, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import free_port

pytestmark = pytest.mark.e2e

SWITCH_OFF = "baton mode disable"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
EXPLAINED = "try {{ text(await {call}) }} catch (error) {{ text(String(error)) }}"


def bash(command: str, **more: str) -> Use:
    """A shell line, as Codex's models send one: JavaScript that calls the tool."""
    return Use("exec", EXPLAINED.format(call=f"tools.exec_command({json.dumps({'cmd': command, **more})})"))


def patch() -> Use:
    return Use("exec", EXPLAINED.format(call=f"tools.apply_patch({json.dumps(PATCH)})"))


def spawn(**more: str) -> Use:
    task = {"task_name": "work", "message": "[[sub]] work", "fork_turns": "none"}
    return Use("spawn_agent", {**task, **more}, namespace="collaboration")


WAIT = Use("wait_agent", {"timeout_ms": 10_000}, namespace="collaboration")


def is_edited(stage: Stage) -> bool:
    return (stage.project / "a.py").read_text() == "x = 2\n"


@pytest.fixture
def stage(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("codex"), tmp_path)


@pytest.fixture
def strict(prepared: Prepared, tmp_path: Path) -> Stage:
    return copied(prepared("codex", strict=True), tmp_path)


def test_a_patch_is_refused_with_a_reason_that_reaches_the_model(strict):
    played = strict.codex({"main": [patch(), "bye"]})
    assert "apply_patch" in played.results()[0]
    assert SWITCH_OFF in played.results()[0]
    assert not is_edited(strict)


def test_a_patch_through_the_shell_is_refused(strict):
    played = strict.codex({"main": [bash(f"apply_patch <<'EOF'\n{PATCH}EOF\n"), "bye"]})
    assert SWITCH_OFF in played.results()[0]
    assert not is_edited(strict)


def test_a_test_run_is_refused_and_git_status_is_not(strict):
    played = strict.codex({"main": [bash("python -m pytest -q"), bash("git status --short || echo none"), "bye"]})
    tests, status = played.results()
    assert SWITCH_OFF in tests
    assert SWITCH_OFF not in status


def test_a_write_into_the_project_from_another_folder_is_refused(strict):
    played = strict.codex({"main": [bash("echo y > project/a.py", workdir=".."), "bye"]})
    assert SWITCH_OFF in played.results()[0]
    assert (strict.project / "a.py").read_text() == "x = 1\n"


def test_a_question_becomes_a_refusal_with_the_reason(strict):
    played = strict.codex({"main": [bash(SWITCH_OFF), "bye"]})
    assert "BATON" in played.results()[0]
    assert "let them run it" in played.results()[0]
    assert json.loads(strict.baton("mode", "status", "--json"))["enabled"]
    assert [d["effect"] for d in strict.decisions(played) if d["event"] == "PreToolUse"] == ["ask"]


@pytest.fixture
def accepting(stage: Stage) -> Stage:
    """A developer whose config file lets policies rewrite what the shell is asked for."""
    with (stage.home / ".config" / "baton" / "config").open("a") as config:
        config.write("BATON_ACCEPT_REWRITES=Bash\n")
    return stage


def test_an_unaccepted_rewrite_has_no_effect(stage):
    played = stage.codex({"main": [bash("echo rude"), "bye"]})
    assert "rude" in played.results()[0]


def test_a_rewrite_replaces_the_call(accepting):
    played = accepting.codex({"main": [bash("echo rude"), "bye"]})
    assert "polite" in played.results()[0]
    assert "rude" not in played.results()[0]


def test_the_direct_shell_tool_is_decided_and_rewritten_too(accepting):
    direct = [Use("exec_command", {"cmd": "echo rude"}), Use("exec_command", {"cmd": SWITCH_OFF}), "bye"]
    rewritten, refused = accepting.codex({"main": direct}, model="a-model-that-codex-does-not-know").results()
    assert "polite" in rewritten
    assert "BATON" in refused


def test_a_session_gets_the_orchestrator_s_directives(strict):
    assert "orchestrator mode is on" in strict.codex({"main": ["bye"]}).told()


def test_guidance_lets_the_patch_through_and_tells_the_model(stage):
    stage.baton("mode", "enable", "--level", "guidance")
    played = stage.codex({"main": [patch(), "bye"]})
    assert is_edited(stage)
    assert "level: guidance" in played.told()
    assert "`apply_patch`" in played.told().partition("custom_tool_call")[2]


def test_a_sub_agent_does_the_same_things_freely(strict):
    work = [patch(), bash("python -m pytest --version"), "sub done"]
    played = strict.codex({"main": [spawn(), WAIT, "bye"], "sub": work})
    assert is_edited(strict)
    assert len(played.results("sub")) == 2
    assert not [r for r in played.results("sub") if SWITCH_OFF in r]
    assert {d["tool"] for d in strict.decisions(played, at_least=4) if d.get("agent_id")} >= {"apply_patch", "Bash"}


def test_a_spawned_agent_keeps_its_model(strict):
    played = strict.codex({"main": [spawn(model="gpt-6-luna"), spawn(task_name="other"), WAIT, "bye"], "sub": ["done"]})
    assert sorted(asked.model for asked in played.model.thread("sub")) == ["gpt-6-luna", "gpt-6.1-sol"]


def test_guardrails_hold_without_a_mode_and_in_a_sub_agent(stage):
    danger = bash("git push --force origin main")
    played = stage.codex({"main": [danger, spawn(), WAIT, "bye"], "sub": [danger, "sub done"]})
    assert all("BATON" in r for r in (played.results()[0], played.results("sub")[0]))
    assert [bool(d.get("agent_id")) for d in stage.decisions(played, effect="deny", at_least=2)] == [False, True]


def test_mode_disable_ends_it(stage):
    stage.baton("mode", "enable")
    stage.baton("mode", "disable")
    stage.codex({"main": [patch(), "bye"]})
    assert is_edited(stage)


def test_baton_disabled_skips_the_rules_and_is_recorded(strict):
    played = strict.codex({"main": [patch(), "bye"]}, env={"BATON_DISABLED": "1"})
    assert is_edited(strict)
    assert [d["event"] for d in strict.decisions(played, overridden="true")] == ["SessionStart"]


@pytest.mark.parametrize(("flags", "edited"), [((), True), (("--fail-closed",), False)])
def test_a_server_that_dies_lets_the_call_pass_or_not_as_installed(own_server, tmp_path, flags, edited):
    stage = made(own_server, tmp_path)
    stage.install("codex", *flags)

    def die() -> Step:
        own_server.stop()
        return patch()

    played = stage.codex({"main": [bash("pwd"), die, "bye"]})
    assert is_edited(stage) is edited
    assert ("refused" in played.results()[1]) is not edited


@pytest.mark.parametrize(("flags", "asked"), [((), True), (("--fail-closed",), False)])
def test_without_a_server_a_session_works_or_does_not_start_as_installed(tmp_path: Path, flags, asked):
    stage = made(Server(tmp_path / "nowhere", port=free_port()), tmp_path)
    stage.install("codex", *flags)
    played = stage.codex({"main": [patch(), "bye"]})
    assert bool(played.model.asked) is asked
    assert is_edited(stage) is asked


def test_a_prompt_is_led_to_the_agent_that_it_is_for(stage):
    with stage.pushed(
        "git-master", "Handles git: squashes, rebases and orders commits."
    ):  # it has no agents of its own to tell of
        played = stage.codex({"main": ["bye"]}, "[[main]] squash my last three git commits into one, git master style")
    assert "## Agent Selection" in played.told()
    assert "spawn_agent for `git-master`" in played.told()
