"""`baton hooks` for opencode, whose hooks are a plugin of Baton's own."""

from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS


@pytest.mark.parametrize(
    ("scope", "variable", "path"),
    [
        ("user", "", "{home}/.config/opencode/plugin/baton.js"),
        ("user", "XDG_CONFIG_HOME", "{home}/other/opencode/plugin/baton.js"),
        ("project", "", "{project}/.opencode/plugin/baton.js"),
    ],
)
def test_the_plugin_is_written_once_and_taken_away(person, monkeypatch, scope, variable, path):
    if variable:
        monkeypatch.setenv(variable, str(person.home / "other"))
    monkeypatch.chdir(person.project)
    file = Path(path.format(home=person.home, project=person.project))
    options = ("--client", "opencode", "--scope", scope)
    made = person.does("install", *options)
    assert (made["path"], made["changed"]) == (str(file), True)
    assert person.does("install", *options)["changed"] is False
    assert str(person.home) not in file.read_text()
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert (found["events"], found["fail_closed"]) == (list(EVENTS["opencode"]), False)
    person.does("install", *options, "--fail-closed")
    [found] = [one for one in person.does("status", *options)["settings"] if one["installed"]]
    assert found["fail_closed"] is True
    if scope == "user":
        assert person.does("status")["differences"] == {"opencode": []}
        file.write_text(file.read_text().replace("throw new Error", "void new Error"))
        assert person.does("status")["differences"] == {"opencode": ["the hook entries"]}
    person.does("uninstall", "--client", "opencode")
    assert list(file.parent.iterdir()) == []


def test_a_plugin_of_its_name_that_is_somebody_elses_is_left_alone(person):
    file = person.home / ".config" / "opencode" / "plugin" / "baton.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = async () => ({})\n")
    assert "left as it is" in person.types("install", "--client", "opencode").stderr
    assert "Nothing to remove" in person.types("uninstall").output
    assert file.read_text() == "export const Mine = async () => ({})\n"
