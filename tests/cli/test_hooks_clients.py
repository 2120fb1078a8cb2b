"""`baton hooks` in the clients besides Claude Code and Codex: their files in one table, and common properties."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, seconds_of
from baton.cli.hooks.files import shim_word
from baton.clients.registry import SPECS

OF_COPILOT = '{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "mine.sh"}]}}'
OF_CURSOR = '{\n  "version": 1,\n  "hooks": {"preToolUse": [{"command": "mine.sh", "matcher": "Shell"}]}\n}\n'
GROUPED = '{\n  "a": 1,\n  "hooks": {"Notification": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}\n}\n'
SHARED = {"cursor": OF_CURSOR, "gemini": GROUPED, "qwen": GROUPED}
"""Clients whose hooks stand in a file of the person's own."""
FILES = [
    ("copilot-cli", "user", "", "{home}/.copilot/hooks/baton.json"),
    ("copilot-cli", "user", "COPILOT_HOME", "{home}/other/hooks/baton.json"),
    ("copilot-cli", "project", "", "{project}/.github/hooks/baton.json"),
    ("opencode", "user", "", "{home}/.config/opencode/plugin/baton.js"),
    ("opencode", "user", "XDG_CONFIG_HOME", "{home}/other/opencode/plugin/baton.js"),
    ("opencode", "project", "", "{project}/.opencode/plugin/baton.js"),
    ("gemini", "user", "", "{home}/.gemini/settings.json"),
    ("gemini", "user", "GEMINI_CLI_HOME", "{home}/other/.gemini/settings.json"),
    ("gemini", "project", "", "{project}/.gemini/settings.json"),
    ("qwen", "user", "", "{home}/.qwen/settings.json"),
    ("qwen", "user", "QWEN_HOME", "{home}/other/settings.json"),
    ("qwen", "project", "", "{project}/.qwen/settings.json"),
    ("cursor", "user", "", "{home}/.cursor/hooks.json"),
    ("cursor", "project", "", "{project}/.cursor/hooks.json"),
]


@pytest.mark.matrix(4)
@pytest.mark.parametrize(("client", "scope", "variable", "path"), FILES)
def test_hooks_are_written_once_and_removed_without_the_person_s_settings(
    person, monkeypatch, client, scope, variable, path
):
    if variable:
        monkeypatch.setenv(variable, str(person.home / "other"))
    monkeypatch.chdir(person.project)
    file = Path(path.format(home=person.home, project=person.project))
    file.parent.mkdir(parents=True)
    own = file if client in SHARED else file.with_name("mine.json")
    own.write_text(SHARED.get(client, OF_COPILOT))
    options = ("--client", client, "--scope", scope)
    made = person.does("install", *options)
    assert (made["path"], made["changed"]) == (str(file), True)
    assert (SPECS[client].version or "not proven") in made["proven"][0]
    assert person.does("install", *options)["changed"] is False
    text = file.read_text()
    for event in EVENTS[client]:
        assert f"/bin/sh {shim_word(scope)} {client} {event}" in text.replace('\\"', '"')
    assert (str(person.home) in text) is (scope == "user")
    assert client not in SHARED or "mine.sh" in text
    for options_then, is_closed in (((), False), (("--fail-closed",), True)):
        person.does("install", *options, *options_then)
        [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
        assert (found["transport"], found["shim"], found["missing"]) == ("curl", "sh", [])
        assert found["fail_closed"] is is_closed
    person.does("uninstall", "--client", client)
    assert [one.name for one in file.parent.iterdir()] == [own.name]
    assert own.read_text() == SHARED.get(client, OF_COPILOT)


@pytest.mark.parametrize("client", sorted({row[0] for row in FILES}))
def test_a_file_created_by_baton_is_removed(person, client):
    made = Path(person.does("install", "--client", client)["path"])
    assert made.exists()
    person.does("uninstall", "--client", client)
    assert list(made.parent.iterdir()) == []


@pytest.mark.parametrize("client", sorted({row[0] for row in FILES}))
def test_a_change_of_its_entries_shows_in_the_status(person, client):
    file = Path(person.does("install", "--client", client)["path"])
    assert person.does("status")["differences"] == {client: []}
    file.write_text(file.read_text().replace(f"{client} PreToolUse", f"{client} Stop"))
    assert person.does("status")["differences"] == {client: ["the hook entries"]}


FOREIGN = [
    ("copilot-cli", OF_COPILOT),
    ("copilot-cli", "[]"),
    ("copilot-cli", '{"hooks": 5}'),
    ("copilot-cli", '{"hooks": {"preToolUse": {}}}'),
    ("copilot-cli", "{"),
    ("opencode", "export const Mine = async () => ({})\n"),
    ("cursor", "{"),
    ("cursor", '{"hooks": 5}'),
    ("cursor", '{"hooks": {"preToolUse": {}}}'),
    ("qwen", '{"hooks": {"PreToolUse": {}}}'),
]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("client", "text"), FOREIGN)
def test_an_unreadable_or_foreign_file_is_not_changed(person, client, text):
    place = {row[0]: row[3] for row in FILES if row[1] == "user" and not row[2]}[client]
    file = Path(place.format(home=person.home))
    file.parent.mkdir(parents=True)
    file.write_text(text)
    result = person.types("install", "--client", client)
    assert (result.exit_code, "left as it is" in result.stderr) == (1, True)
    person.types("uninstall", "--client", client)
    assert file.read_text() == text


def test_the_entries_of_copilot_and_cursor_have_their_own_forms(person):
    hooks = json.loads(Path(person.does("install", "--client", "copilot-cli")["path"]).read_text())["hooks"]
    for event in EVENTS["copilot-cli"]:
        [entry] = hooks[SPECS["copilot-cli"].natives[event]]
        assert (entry["type"], entry["timeoutSec"], "bash" in entry) == (
            "command",
            seconds_of("copilot-cli", event),
            True,
        )
    made = person.does("install", "--client", "cursor", "--fail-closed")
    held = json.loads(Path(made["path"]).read_text())
    assert held["version"] == 1
    for event in EVENTS["cursor"]:
        [entry] = held["hooks"][SPECS["cursor"].natives[event]]
        assert entry["timeout"] == seconds_of("cursor", event)
        assert entry.get("failClosed", False) is (event in {"PreToolUse", "UserPromptSubmit"})


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-closed",), 2)])
def test_without_the_shim_a_call_runs_or_is_refused_as_installed(person, options, code):
    made = person.does("install", "--client", "copilot-cli", *options)
    hooks = json.loads(Path(made["path"]).read_text())["hooks"]
    shutil.rmtree(person.home / ".local")
    ran = {
        event: subprocess.run(["sh", "-c", hooks[event][0]["bash"]], input=b"{}", capture_output=True, check=False)
        for event in ("sessionStart", "preToolUse")
    }
    assert (ran["preToolUse"].returncode, ran["preToolUse"].stdout) == (code, b"")
    assert "not installed on this machine" in json.loads(ran["sessionStart"].stdout)["additionalContext"]
