"""A violation by an edit of the real Claude Code is reported to its model with the next prompt, once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server, Stage, made
from tests.e2e.model_endpoint import Step, Use
from tests.support.server import until

pytestmark = pytest.mark.e2e
ADVISORY = "- **Never eval** (80% confidence): `a.py`: parse it"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A project whose team has one pattern in force."""
    server = Server(tmp_path / "server")
    server.start()
    stage = made(server, tmp_path)
    stage.install("claude-code")
    yield stage
    server.stop()


def add_pattern(stage: Stage) -> str:
    check = ("--forbidden", r"eval\(", "--message", "parse it", "--language", "python")
    return str(json.loads(stage.baton("patterns", "add", "Never eval", *check, "--approve", "--json"))["id"])


def test_a_violating_edit_is_reported_with_the_next_prompt(stage: Stage) -> None:
    pattern = add_pattern(stage)
    path = str(stage.project / "a.py")
    edit = Use("Edit", {"file_path": path, "old_string": "x = 1", "new_string": "x = eval(y)"})

    def counted() -> dict[str, Any]:
        return {one["id"]: one for one in stage.server.get("/patterns")["items"]}[pattern]

    def bye() -> Step:
        until(lambda: counted()["violated"] == 1)
        return "bye"

    prompts = [
        "[[main]] Write a calculator that evaluates what people type",
        "[[next]] Go on with the parser of numbers",
        "[[last]] Now write the documentation of it",
    ]
    played = stage.claude(
        {"main": [Use("Read", {"file_path": path}), edit, bye], "next": ["bye"], "last": ["bye"]}, prompts
    )
    first, second, third = (played.told(thread) for thread in ("main", "next", "last"))
    assert "## Context Patterns" in first  # what the session was told as it started
    assert "## Pattern Advisory" not in first
    assert second.count(ADVISORY) == 1
    assert third.count(ADVISORY) == 1  # in the history of the conversation, not said again
    until(lambda: counted()["shown"] == 1)
