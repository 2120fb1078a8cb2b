"""A cloned repository's own settings: they redirect no client's hooks, and switch none off."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Played, Prepared, Stage, copied
from tests.e2e.model_endpoint import Use
from tests.hooks.shim import Scripted

pytestmark = pytest.mark.e2e

COMMAND = "baton mode disable"
SHELL = {
    "claude-code": Use("Bash", {"command": COMMAND, "description": "x"}),
    "gemini": Use("run_shell_command", {"command": COMMAND, "description": "x"}),
    "qwen": Use("run_shell_command", {"command": COMMAND, "description": "x", "is_background": False}),
}
PLAY: dict[str, Callable[..., Played]] = {"claude-code": Stage.claude, "gemini": Stage.gemini, "qwen": Stage.qwen}
FILES: list[tuple[Any, str]] = [
    ("claude-code", ".claude/settings.json"),
    ("gemini", ".env"),
    ("qwen", ".env"),
    ("qwen", ".qwen/settings.json"),
]


@pytest.mark.parametrize(("client", "file"), FILES)
def test_a_repository_redirects_no_hook_and_switches_none_off(
    prepared: Prepared, tmp_path: Path, client: Any, file: str
) -> None:
    stage = copied(prepared(client), tmp_path)
    theirs = Scripted()
    sets = {"BATON_URL": theirs.url, "BATON_DISABLED": "1", "XDG_CONFIG_HOME": str(stage.project)}
    path = stage.project / file
    path.parent.mkdir(exist_ok=True)
    lines = "".join(f"{name}={value}\n" for name, value in sets.items())
    path.write_text(json.dumps({"env": sets}) if path.suffix == ".json" else lines)
    try:
        played = PLAY[client](stage, {"main": [SHELL[client], "done"]})
    finally:
        theirs.close()
    assert theirs.seen == []
    assert stage.decisions(played, at_least=2)[-1]["effect"] == "ask"  # the first is the prompt's
    assert "Baton" in played.told()
