"""`baton hooks` for Gemini CLI and Qwen Code, whose hooks stand among the person's other settings."""

import json
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, GEMINI_EVENTS, TIMEOUTS


@pytest.mark.parametrize(("client", "native"), [("gemini", GEMINI_EVENTS), ("qwen", {})])
def test_each_event_has_its_native_name_and_its_time_in_milliseconds(person, client, native):
    made = person.does("install", "--client", client)
    hooks = json.loads(Path(made["path"]).read_text())["hooks"]
    assert list(hooks) == [native.get(event, event) for event in EVENTS[client]]
    for event in EVENTS[client]:
        [entry] = hooks[native.get(event, event)][-1]["hooks"]
        assert (entry["type"], entry["timeout"]) == ("command", TIMEOUTS[event] * 1_000)


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
