"""Continue's `cn`: payloads in the form of its source. None was recorded here: its 1.5.47 fires no event."""

import json
from pathlib import Path

import pytest

from baton.clients.dialects import claude_code, continue_cli
from baton.clients.event import HookAnswer
from baton.clients.registry import CLIENTS, who_posts

FOLDER = Path(__file__).parents[1]
PAYLOADS = sorted((FOLDER / "payloads" / "continue").glob("*.json"))
OF_CLAUDE_CODE = sorted((FOLDER.parent / "fixtures" / "clients" / "claude-code").glob("*.json"))


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.stem)
def test_every_payload_is_read_and_recognised_in_claude_settings(path):
    given = json.loads(path.read_text())
    event = continue_cli.read(given, "")
    assert (event.client, event.session_id, event.cwd) == ("continue", "5f0c-1", "/home/dev/work")
    assert event.name == event.native_name == path.name.partition(".")[0]
    tool = given.get("tool_name", "")
    assert event.tool_name == continue_cli.TOOLS.get(tool, tool)
    assert who_posts(CLIENTS["claude-code"], given) is continue_cli


def test_claude_code_is_taken_for_none_of_those_that_read_its_settings():
    for path in OF_CLAUDE_CODE:
        found = json.loads(path.read_text())
        for one in found if isinstance(found, list) else [found]:
            assert who_posts(CLIENTS["claude-code"], one) is claude_code


def test_it_is_sent_what_claude_code_is_sent():
    for event in ("PreToolUse", "UserPromptSubmit", "SessionStart"):
        for answer in (
            HookAnswer(effect="deny", reason="no"),
            HookAnswer(effect="ask", reason="?"),
            HookAnswer(context="c"),
        ):
            assert continue_cli.render(event, answer) == claude_code.render(event, answer)
