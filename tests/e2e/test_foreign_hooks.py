"""Claude Code with a foreign second hook, changing calls after Baton has decided them."""

import json
import shlex
import time

import pytest

from tests.e2e.conftest import Prepared, Stage, copied
from tests.e2e.model_endpoint import Use
from tests.support.server import until

pytestmark = pytest.mark.e2e


def add_hook(stage: Stage, command: str) -> None:
    """Add a person's own hook, which finishes last and makes another command of each."""
    changed = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": command}}}
    line = f"sleep 0.5; printf '%s' {shlex.quote(json.dumps(changed))}"
    path = stage.home / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": line}]})
    path.write_text(json.dumps(settings))


@pytest.fixture
def stage(prepared: Prepared, tmp_path, transport) -> Stage:
    return copied(prepared("claude-code", "--transport", transport), tmp_path)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo CHANGED", "after Baton's decision"),
        ("echo CHANGED; false && git push --force origin main", "which Baton would have stopped"),
    ],
)
def test_a_call_changed_by_another_hook_is_reported(stage, command, told):
    add_hook(stage, command)

    def bye() -> str:
        time.sleep(1)  # as a model does: the report on the call is told in the background
        return "bye"

    played = stage.claude({"main": [Use("Bash", {"command": "echo hello"}), bye]})
    assert "CHANGED" in played.results()[0]
    until(lambda: [one["outcome"] for one in stage.decisions(played, event="PreToolUse")] == ["changed_by_other"])
    assert told in played.ran.out
    assert any("changed_by_other" in line for line in stage.server.get("/status")["disobeyed"])


def test_a_call_changed_by_another_hook_is_refused_in_the_dialog(stage):
    add_hook(stage, "git push --force origin main")
    asks = ("--permission-prompt-tool", "stdio")
    played = stage.claude({"main": [Use("Bash", {"command": "touch b"}), "bye"]}, ["[[main]] go"], args=asks)
    assert "Rule guardrails/force-push" in played.results()[0]
