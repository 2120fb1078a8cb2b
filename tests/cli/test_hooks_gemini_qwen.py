"""`baton hooks` for Gemini CLI and Qwen Code, with hooks among the person's other settings."""

import json
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, seconds_of
from baton.clients.registry import SPECS


@pytest.mark.parametrize(("client", "native"), [(one, SPECS[one].natives) for one in ("gemini", "qwen")])
def test_each_event_has_its_native_name_and_its_time_in_milliseconds(person, client, native):
    made = person.does("install", "--client", client)
    hooks = json.loads(Path(made["path"]).read_text())["hooks"]
    assert list(hooks) == [native[event] for event in EVENTS[client]]
    for event in EVENTS[client]:
        [entry] = hooks[native[event]][-1]["hooks"]
        assert (entry["type"], entry["timeout"]) == ("command", seconds_of(client, event) * 1_000)


@pytest.mark.parametrize(
    ("client", "off"), [("gemini", {"hooksConfig": {"enabled": False}}), ("qwen", {"disableAllHooks": True})]
)
def test_a_disabling_switch_is_reported(person, client, off):
    file = person.home / f".{client}" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(off))
    assert "switches them all off" in person.types("install", "--client", client).output
    [found] = [one for one in person.does("status", "--client", client)["settings"] if one["installed"]]
    assert found["problem"].endswith("` switches them off")


def test_neither_takes_http_hooks(person):
    for client in ("gemini", "qwen"):
        assert "Baton uses no http hooks" in person.types("install", "--client", client, "--transport", "http").stderr


CASE_24 = """{
  // mine
  "ui": {"theme": "x"}, /* y */
  "hooks": {"AfterTool": [{"matcher": "write_file", "hooks": [{"type": "command", "command": "true"}]}]} // z
}
"""


@pytest.mark.parametrize(
    ("client", "reads"), [("gemini", True), ("qwen", True), ("claude-code", False), ("codex", False)]
)
def test_a_file_with_comments_is_installed_into_where_the_client_reads_it(person, client, reads):
    path = Path(person.does("install", "--client", client)["path"])
    path.write_text(CASE_24)
    ran = person.types("install", "--client", client)
    if not reads:
        is_told = f"settings.json:2: it has a comment, and {client}" in ran.stderr or client == "codex"
        assert (ran.exit_code, is_told) == (1, True)
        assert path.read_text() == CASE_24
        return
    text = path.read_text()
    assert all(one in text for one in ("// mine", "/* y */", "// z", "write_file", f"{client} SessionStart"))
    assert (
        next(one for one in person.does("status", "--client", client)["settings"] if one["installed"])["missing"] == []
    )
    assert person.does("install", "--client", client)["changed"] is False
    person.does("uninstall", "--client", client)
    assert path.read_text() == CASE_24
