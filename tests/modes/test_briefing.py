"""A session's briefing while the mode is on, in its client's words."""

import msgspec

from baton.modes.briefing import directives
from baton.rules.call.modes import Mode
from tests.support.cases import every

EDITS = {"claude-code": "NotebookEdit", "codex": "apply_patch", "gemini": "write_file"}


@every(("client", "edits"), EDITS.items())
@every(("level", "verb"), [("strict", "Refused"), ("guidance", "Better delegated")])
def test_directives_name_the_client_s_tools_and_the_level(client, edits, level, verb):
    text = directives(msgspec.structs.replace(Mode(), enabled=True, level=level), client)
    assert edits in text
    assert verb in text
    assert "baton mode disable" in text


def test_no_directives_while_the_mode_is_off():
    assert directives(Mode(), "claude-code") == ""
