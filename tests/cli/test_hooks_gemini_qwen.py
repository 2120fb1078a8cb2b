"""`baton hooks` for Gemini CLI and Qwen Code, whose hooks stand among the person's other settings."""

import json
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, GEMINI_EVENTS, TIMEOUTS
from baton.cli.hooks.files import shim_word

OWN = """{
  "theme": "dark",
  "hooks": {
    "%s": [{"matcher": "x", "hooks": [{"type": "command", "command": "mine.sh"}]}]
  }
}
"""
PLACES = [
    ("gemini", "user", "", "{home}/.gemini/settings.json"),
    ("gemini", "user", "GEMINI_CLI_HOME", "{home}/other/.gemini/settings.json"),
    ("gemini", "project", "", "{project}/.gemini/settings.json"),
    ("qwen", "user", "", "{home}/.qwen/settings.json"),
    ("qwen", "user", "QWEN_HOME", "{home}/other/settings.json"),
    ("qwen", "project", "", "{project}/.qwen/settings.json"),
]


@pytest.mark.parametrize(("client", "scope", "variable", "path"), PLACES)
def test_the_entries_are_written_once_and_taken_away_and_the_persons_own_stay(
    person, monkeypatch, client, scope, variable, path
):
    if variable:
        monkeypatch.setenv(variable, str(person.home / "other"))
    native = GEMINI_EVENTS if client == "gemini" else {}
    file = Path(path.format(home=person.home, project=person.project))
    file.parent.mkdir(parents=True, exist_ok=True)
    text = OWN % native.get("PreToolUse", "PreToolUse")
    file.write_text(text)
    options = ("--client", client, "--scope", scope)
    made = person.does("install", *options)
    assert (made["path"], made["changed"]) == (str(file), True)
    assert person.does("install", *options)["changed"] is False
    hooks = json.loads(file.read_text())["hooks"]
    for event in EVENTS[client]:
        [entry] = hooks[native.get(event, event)][-1]["hooks"]
        assert f"sh {shim_word()} {client} {event}" in entry["command"]
        assert (entry["type"], entry["timeout"]) == ("command", TIMEOUTS[event] * 1_000)
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert (found["events"], found["missing"], found["fail_closed"]) == (list(hooks_order(hooks, native)), [], False)
    person.does("install", *options, "--fail-closed")
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert found["fail_closed"] is True
    if scope == "user":
        assert person.does("status")["differences"] == {client: []}
        file.write_text(file.read_text().replace(" block", ""))
        assert person.does("status")["differences"] == {client: ["the hook entries"]}
    person.does("uninstall", "--client", client)
    assert file.read_text() == text


def hooks_order(hooks, native):
    back = {name: event for event, name in native.items()}
    return [back.get(name, name) for name in hooks]


@pytest.mark.parametrize(
    ("client", "off"), [("gemini", {"hooksConfig": {"enabled": False}}), ("qwen", {"disableAllHooks": True})]
)
def test_a_switch_that_turns_them_off_is_told(person, client, off):
    file = person.home / f".{client}" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(off))
    assert "switches them all off" in person.types("install", "--client", client).output
    [found] = [one for one in person.does("status", "--client", client)["settings"] if one["installed"]]
    assert found["problem"].endswith("` switches them off")


def test_neither_takes_http_hooks(person):
    for client in ("gemini", "qwen"):
        assert "has no http hooks" in person.types("install", "--client", client, "--transport", "http").stderr
