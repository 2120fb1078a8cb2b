"""`baton hooks install` and `uninstall` on realistic settings files."""

import json
from pathlib import Path

import pytest

from baton.cli.hooks.entries import BACKGROUND, EVENTS, is_ours, seconds_of
from baton.cli.hooks.files import shim_word
from tests.support.person import entry

FILES: dict[str, str] = {
    "empty object": "{}\n",
    "tabs": '{\n\t"model": "opus",\n\t"permissions": {"allow": ["Bash(ls)", "Read"]}\n}\n',
    "four spaces, no line end": '{\n    "b": 1.10,\n    "a": "\\u00e9é"\n}',
    "crlf": '{\r\n  "model": "opus"\r\n}\r\n',
    "one line": '{"model":"opus","env":{"A":"1"}}',
    "own hooks": """{
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}],
    "Notification": [
      { "hooks": [ { "type": "command", "command": "say hi" } ] }
    ]
  },
  "theme": "dark"
}
""",
    "a stranger's similar hooks": """{
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "my-baton-hook.sh x"}]},
             {"hooks": [{"type": "http", "url": "http://x/hooks/claude-code"}, {"type": "prompt", "prompt": "ok?"}]}]
  }
}
""",
}


@pytest.mark.matrix(4)
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("options", [(), ("--transport", "http", "--fail-closed")], ids=["curl", "http"])
def test_install_adds_ours_once_and_uninstall_restores_every_byte(person, text, options):
    person.has(text)
    assert person.does("install", *options)["changed"] is True
    first = person.settings.read_bytes()
    before, after = json.loads(text), json.loads(first)
    assert list(after) == list(before) + ([] if "hooks" in before else ["hooks"])
    for event in EVENTS["claude-code"]:
        assert [g for g in after["hooks"][event] if is_ours(g["hooks"][0])] == after["hooks"][event][-1:]
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert (b"\r\n" in first) == ("\r\n" in text)
    assert person.does("install", *options)["changed"] is False
    assert person.settings.read_bytes() == first
    person.does("uninstall")
    assert person.settings.read_bytes() == text.encode()
    assert sorted(p.name for p in person.settings.parent.iterdir()) == ["settings.json"]


def test_a_missing_settings_file_is_created_and_removed_again(person):
    person.does("install")
    assert set(person.hooks()) == set(EVENTS["claude-code"])
    person.does("install", "--transport", "http")
    person.does("uninstall")
    assert list(person.settings.parent.iterdir()) == []
    assert "Nothing to remove" in person.types("uninstall").output


UNCLEAR: dict[str, tuple[str | bytes, str]] = {
    "comment": ('{\n  # mine\n  "model": "opus"\n}', "settings.json:2: it is not valid JSON"),
    "trailing comma": ('{"a": 1,}', "settings.json:1: it is not valid JSON"),
    "cut off": ('{"hooks": {', "settings.json:1: it is not valid JSON"),
    "list": ("[]", "settings.json:1: it is not an object"),
    "twice": ('{"hooks": {},\n"hooks": {}}', "settings.json:2: the key `hooks` appears twice"),
    "hooks is a list": ('{\n"hooks": []}', "settings.json:2: `hooks` is not an object"),
    "event is an object": ('{"hooks":\n{"Stop": {}}}', "settings.json:2: `hooks.Stop` is not a list"),
    "group is a string": ('{"hooks":{"Stop": [\n"x"]}}', "settings.json:2: an item of `hooks.Stop` is not an object"),
    "group without hooks": ('{"hooks":{"Stop": [{}]}}', "settings.json:1: an item of `hooks.Stop`"),
    "not utf-8": (b'{"a": "\xff"}', "not UTF-8"),
    "blank": (" \n", "settings.json:2: it is not valid JSON"),
}


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("content", "why"), UNCLEAR.values(), ids=UNCLEAR)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_unreadable_file_is_not_changed(person, content, why, command):
    person.has(content)
    before = person.settings.read_bytes()
    result = person.types(command)
    assert result.exit_code == 1
    assert why in result.stderr
    assert "left as it" in result.stderr
    assert person.settings.read_bytes() == before
    assert [p for p in person.home.rglob("*") if p.is_file()] == [person.settings]


def test_the_first_state_is_kept_and_later_changes_of_the_person_too(person):
    person.has('{"model": "opus"}')
    person.does("install")
    backup = person.settings.with_name("settings.json.before-baton")
    assert backup.read_text() == '{"model": "opus"}'
    person.has(person.settings.read_text().replace("opus", "sonnet"))
    person.does("install", "--fail-closed")
    assert backup.read_text() == '{"model": "opus"}'
    person.does("uninstall")
    assert json.loads(person.settings.read_text()) == {"model": "sonnet"}


def test_a_new_choice_replaces_the_old_in_its_place(person):
    person.has('{"hooks": {"Stop": []}}')
    person.does("install")
    hooks = person.hooks()
    hooks["PreToolUse"].append({"hooks": [{"type": "command", "command": "later.sh"}]})
    hooks["PreToolUse"].append(hooks["PreToolUse"][0])
    hooks["Setup"] = hooks["SubagentStop"]
    hooks["Stop"][0]["hooks"].append({"type": "command", "command": "mine.sh"})
    person.has(json.dumps({"hooks": hooks}))
    person.does("install", "--transport", "http")
    found = person.hooks()
    assert [[h.get("command", h["type"]) for h in g["hooks"]] for g in found["PreToolUse"]] == [["http"], ["later.sh"]]
    assert [[h.get("command", h["type"]) for h in g["hooks"]] for g in found["Stop"]] == [["mine.sh"], ["http"]]
    assert "Setup" not in found
    assert entry(found, "SessionStart")["type"] == "command"


def test_modes_of_files(person):
    person.has("{}")
    person.settings.chmod(0o600)
    person.does("install")
    assert person.settings.stat().st_mode & 0o777 == 0o600
    assert (person.home / ".config/baton/config").stat().st_mode & 0o777 == 0o600
    assert (person.home / ".local/share/baton/baton-hook.sh").stat().st_mode & 0o777 == 0o755


def test_a_linked_settings_file_stays_a_link(person):
    dotfiles = person.home / "dotfiles.json"
    dotfiles.write_text("{}")
    person.settings.parent.mkdir()
    person.settings.symlink_to(dotfiles)
    person.does("install")
    assert person.settings.is_symlink()
    assert "hooks" in json.loads(dotfiles.read_text())
    person.does("uninstall")
    dotfiles.unlink()
    person.does("install")
    person.does("uninstall")
    assert (person.settings.is_symlink(), dotfiles.exists()) == (True, False)


def test_a_file_that_cannot_be_written_is_an_error_in_a_sentence(person):
    person.settings.parent.write_text("")
    result = person.types("install")
    assert (result.exit_code, "cannot write" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("client", "scope", "variable", "path"),
    [
        ("claude-code", "user", "", "{home}/.claude/settings.json"),
        ("claude-code", "user", "CLAUDE_CONFIG_DIR", "{home}/other/settings.json"),
        ("claude-code", "project", "", "{project}/.claude/settings.json"),
        ("codex", "user", "", "{home}/.codex/hooks.json"),
        ("codex", "user", "CODEX_HOME", "{home}/other/hooks.json"),
        ("codex", "project", "", "{project}/.codex/hooks.json"),
    ],
)
def test_each_client_and_scope_has_its_file(person, monkeypatch, client, scope, variable, path):
    if variable:
        monkeypatch.setenv(variable, str(person.home / "other"))
    (person.project / "src").mkdir()
    monkeypatch.chdir(person.project / "src")
    file = Path(path.format(home=person.home, project=person.project))
    assert person.does("install", "--client", client, "--scope", scope)["path"] == str(file)
    hooks = person.hooks(file)
    assert list(hooks) == list(EVENTS[client])
    missing = entry(hooks, "SessionStart")["command"].partition("; else ")[2].removesuffix("; fi")
    shim, config = shim_word(scope), f" {person.home / '.config/baton/config'}" if scope == "user" else ""
    for event in hooks:
        waits = " wait" * (event == "PreToolUse")
        assert entry(hooks, event) == {
            "type": "command",
            "command": f"if test -f {shim}; then /bin/sh {shim} {client} {event}{config}; else {missing}; fi"
            if event == "SessionStart"
            else f"test ! -f {shim} || /bin/sh {shim} {client} {event}{waits}{config}",
            "timeout": seconds_of(client, event),
        } | ({"async": True} if client == "claude-code" and event in BACKGROUND else {})
    assert (str(person.home) in file.read_text()) is (scope == "user")
    person.does("uninstall", "--client", "codex" if client == "claude-code" else "claude-code")
    assert file.exists()
    person.does("uninstall", "--client", client, "--scope", scope)
    assert not file.exists()


def test_install_stores_the_environment_s_settings(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("BATON_TOKEN", "tok")
    person.does("install")
    config = person.home / ".config" / "baton" / "config"
    assert config.read_text().startswith(
        "BATON_URL=http://127.0.0.1:9\nBATON_USER=ada\nBATON_TOKEN=tok\nBATON_DIGESTS_"
    )
    for name in ("BATON_URL", "BATON_TOKEN", "BATON_USER"):
        monkeypatch.delenv(name)
    person.does("install")
    assert config.read_text().startswith("BATON_TOKEN=tok\nBATON_URL=http://127.0.0.1:9\nBATON_USER=ada\n")


@pytest.mark.parametrize(
    ("options", "settings", "note"),
    [
        (("--client", "codex"), "{}", "enter `/hooks`"),
        (("--client", "codex", "--scope", "project"), "{}", "only when the project is trusted"),
        (("--scope", "project"), "{}", "Each teammate runs"),
        ((), '{"disableAllHooks": true}', "switches them all off"),
    ],
)
def test_install_prints_the_needed_notes(person, options, settings, note):
    person.has(settings)
    assert note in person.types("install", *options).output


def test_two_scopes_at_once_are_remarked_on(person):
    person.does("install")
    assert "one of the two is enough" in person.types("install", "--scope", "project").output
