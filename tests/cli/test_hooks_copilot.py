"""`baton hooks` for Copilot CLI, whose hooks are a file of Baton's own."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, TIMEOUTS
from baton.cli.hooks.files import shim_word
from baton.cli.hooks.own_file import COPILOT_EVENTS

OWN = '{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "mine.sh"}]}}'


@pytest.mark.parametrize(
    ("scope", "variable", "path"),
    [
        ("user", "", "{home}/.copilot/hooks/baton.json"),
        ("user", "COPILOT_HOME", "{home}/other/hooks/baton.json"),
        ("project", "", "{project}/.github/hooks/baton.json"),
    ],
)
def test_its_file_is_written_once_and_taken_away_and_the_persons_own_stays(person, monkeypatch, scope, variable, path):
    if variable:
        monkeypatch.setenv(variable, str(person.home / "other"))
    monkeypatch.chdir(person.project)
    file = Path(path.format(home=person.home, project=person.project))
    file.parent.mkdir(parents=True)
    own = file.with_name("mine.json")
    own.write_text(OWN)
    options = ("--client", "copilot-cli", "--scope", scope)
    made = person.does("install", *options)
    assert (made["path"], made["changed"]) == (str(file), True)
    assert "1.0.102" in made["proven"][0]
    assert person.does("install", *options)["changed"] is False
    held = json.loads(file.read_text())
    assert held["version"] == 1
    for event in EVENTS["copilot-cli"]:
        [entry] = held["hooks"][COPILOT_EVENTS[event]]
        assert f"sh {shim_word()} copilot-cli {event}" in entry.pop("bash")
        assert entry == {"type": "command", "timeoutSec": TIMEOUTS[event]}
    assert str(person.home) not in file.read_text()
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert (found["transport"], found["fail_closed"], found["missing"]) == ("curl", False, [])
    person.does("install", *options, "--fail-closed")
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert found["fail_closed"] is True
    person.does("uninstall", "--client", "copilot-cli")
    assert [one.name for one in file.parent.iterdir()] == ["mine.json"]
    assert own.read_text() == OWN


def test_a_file_of_its_name_that_is_somebody_elses_is_left_alone(person):
    file = person.home / ".copilot" / "hooks" / "baton.json"
    file.parent.mkdir(parents=True)
    for text in (OWN, "[]", '{"hooks": 5}', '{"hooks": {"preToolUse": {}}}', "{"):
        file.write_text(text)
        result = person.types("install", "--client", "copilot-cli")
        assert (result.exit_code, "left as it is" in result.stderr) == (1, True), text
        assert "Nothing to remove" in person.types("uninstall").output
        assert file.read_text() == text


def test_a_change_of_its_entries_shows_in_the_status(person):
    person.does("install", "--client", "copilot-cli")
    assert person.does("status")["differences"] == {"copilot-cli": []}
    file = person.home / ".copilot" / "hooks" / "baton.json"
    held = json.loads(file.read_text())
    del held["hooks"]["preToolUse"]
    file.write_text(json.dumps(held))
    assert person.does("status")["differences"] == {"copilot-cli": ["the hook entries"]}


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-closed",), 2)])
def test_without_the_shim_a_call_goes_on_or_is_refused_as_installed(person, options, code):
    made = person.does("install", "--client", "copilot-cli", *options)
    hooks = json.loads(Path(made["path"]).read_text())["hooks"]
    shutil.rmtree(person.home / ".local")
    ran = {
        event: subprocess.run(["sh", "-c", hooks[event][0]["bash"]], input=b"{}", capture_output=True, check=False)
        for event in ("sessionStart", "preToolUse")
    }
    assert (ran["preToolUse"].returncode, ran["preToolUse"].stdout) == (code, b"")
    assert "not installed on this machine" in json.loads(ran["sessionStart"].stdout)["additionalContext"]
