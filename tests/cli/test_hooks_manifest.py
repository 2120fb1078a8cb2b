"""The manifest of a machine by `baton hooks install`, and its use by the shim at session start."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from baton.cli.hooks.files import SHIM


def config(person):
    lines = (person.home / ".config/baton/config").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def library(person):
    return person.home / ".local/share/baton" / SHIM[0]


def measured(person, client="claude-code"):
    """What the installed shim would send."""
    hook = library(person).with_name(SHIM[1])
    script = 'whole=1; . "$1"; read_settings SessionStart "$4"; measure "$3" "$2" "$1"; printf "%s %s" "$digests" "$manifest"'
    env = {"PATH": os.environ["PATH"], "HOME": str(person.home)}
    ran = subprocess.run(
        ["sh", "-c", script, "sh", library(person), hook, client, person.home / ".config/baton/config"],
        capture_output=True, text=True, env=env, check=True,
    )  # fmt: skip
    return ran.stdout.split(" ")


def test_the_manifest_has_the_shim_s_digests(person):
    person.does("install")
    now, manifest = measured(person)
    assert now == manifest == config(person)["BATON_DIGESTS_CLAUDE_CODE"]
    assert not {"BATON_DIGESTS_CODEX", "BATON_INSTALLED"} & config(person).keys()
    assert person.does("status")["differences"] == {"claude-code": []}


def weaken(settings, change):
    held = json.loads(settings.read_text())
    change(held)
    settings.write_text(json.dumps(held))


CHANGES = [
    ("the library", lambda p: library(p).write_text("exit 0\n"), "its library"),
    ("an entry", lambda p: weaken(p.settings, lambda held: held["hooks"].pop("PreToolUse")), "the hook entries"),
    ("the switch", lambda p: weaken(p.settings, lambda held: held.update(disableAllHooks=True)), "the switch for all hooks"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "part"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_a_change_shows_in_the_status_until_a_person_installs_again(person, change, part):
    person.does("install")
    change(person)
    assert person.does("status")["differences"] == {"claude-code": [part]}
    assert f"claude-code: {part} changed" in person.types("status").output
    if part == "the switch for all hooks":
        weaken(person.settings, lambda held: held.pop("disableAllHooks"))
    person.does("install")
    assert person.does("status")["differences"] == {"claude-code": []}


def test_other_settings_may_change_and_what_is_uninstalled_is_not_missed(person):
    person.does("install")
    weaken(person.settings, lambda held: held.update(model="opus"))
    assert person.does("status")["differences"] == {"claude-code": []}
    person.does("uninstall")
    assert person.does("status")["differences"] == {}


def test_places_elsewhere_than_usual_are_written_down_and_kept(person, monkeypatch):
    person.does("install")
    elsewhere = person.home / "work" / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    person.does("install")
    assert config(person)["BATON_INSTALLED"] == str(elsewhere / "settings.json")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(person.home / "data"))
    person.does("install")
    found = config(person)["BATON_INSTALLED"].split(":")
    assert found == [str(elsewhere / "settings.json"), str(Path(person.home, "data", "baton"))]
