"""What `baton hooks install` writes into a client's settings: commands, HTTP entries, the plugin."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from baton.cli.hooks.entries import BACKGROUND, EVENTS, TIMEOUTS
from baton.cli.hooks.files import SHIM
from tests.support.person import entry

REPO = Path(__file__).parents[2]


@pytest.mark.matrix(4)
@pytest.mark.parametrize("event", EVENTS["claude-code"])
@pytest.mark.parametrize("options", [(), ("--fail-closed",)], ids=["open", "closed"])
def test_a_teammate_without_the_shim_is_blocked_only_when_that_was_asked_for(person, event, options):
    person.does("install", *options)
    command = entry(person.hooks(), event)["command"]
    shutil.rmtree(person.home / ".local")
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
    assert done.returncode == (2 if options and event in {"PreToolUse", "UserPromptSubmit"} else 0)
    told = json.loads(done.stdout)["systemMessage"] if event == "SessionStart" else done.stdout.decode()
    assert ("Baton is not installed on this machine" in told) is (event == "SessionStart")
    assert told == "" or event == "SessionStart"


def test_an_odd_home_and_data_folder_are_quoted(person, monkeypatch, tmp_path):
    home = tmp_path / """it's a "home" $x `y`"""
    home.mkdir()
    for data in (None, home / 'd $a `t` "a" \\', tmp_path / "out side $z"):
        monkeypatch.setenv("HOME", str(home))
        if data:
            monkeypatch.setenv("XDG_DATA_HOME", str(data))
        person.does("install", "--fail-closed")
        command = entry(person.hooks(home / ".claude" / "settings.json"), "PreToolUse")["command"]
        done = subprocess.run(
            ["sh", "-c", command],
            input=b"{}",
            check=False,
            env=os.environ | {"BATON_URL": "http://127.0.0.1:1"},
            capture_output=True,
        )
        assert b"curl exit code 7" in done.stderr
        person.does("uninstall")


@pytest.mark.parametrize("scope", ["user", "project"])
def test_http_entries_carry_what_is_known_and_the_environment_the_rest(person, monkeypatch, scope):
    monkeypatch.setenv("BATON_URL", "https://10.1.2.3:8443/")
    monkeypatch.setenv("BATON_TOKEN", "s3cret")
    target = Path(person.does("install", "--transport", "http", "--scope", scope)["path"])
    assert entry(person.hooks(target), "PreToolUse") == {
        "type": "http",
        "url": "https://10.1.2.3:8443/hooks/claude-code?event=PreToolUse",
        "timeout": 2,
        "headers": {
            "Authorization": "Bearer $BATON_TOKEN",
            "Baton-User": "ada" if scope == "user" else "$BATON_USER",
            "Baton-Project": "h.example/team/app" if scope == "project" else "$BATON_PROJECT",
            "Baton-Disabled": "$BATON_DISABLED",
            "Baton-Orchestrator-Disabled": "$HTMLGRAPH_ORCHESTRATOR_DISABLED",
            "Baton-On-Failure": "$BATON_ON_FAILURE",
            "Baton-Debug": "$BATON_DEBUG",
            "Baton-Protocol": "1",
        },
        "allowedEnvVars": sorted(
            [
                "BATON_DEBUG",
                "BATON_DISABLED",
                "HTMLGRAPH_ORCHESTRATOR_DISABLED",
                "BATON_ON_FAILURE",
                "BATON_TOKEN",
                "BATON_PROJECT" if scope == "user" else "BATON_USER",
            ],
        ),
    }
    assert "s3cret" not in target.read_text()
    closed = person.does("install", "--transport", "http", "--scope", scope, "--fail-closed")
    hooks = person.hooks(Path(closed["path"]))
    assert entry(hooks, "PreToolUse")["onFailure"] == "block"
    assert entry(hooks, "PreToolUse")["headers"]["Baton-On-Failure"] == "block"
    assert "onFailure" not in entry(hooks, "Stop")


@pytest.mark.parametrize("user", ["josé", "$HOME", "日本"])
def test_http_headers_hold_nothing_that_the_client_would_change_or_refuse(person, monkeypatch, user):
    monkeypatch.setenv("BATON_USER", user)
    person.does("install", "--transport", "http")
    assert entry(person.hooks(), "Stop")["headers"]["Baton-User"] == "$BATON_USER"


@pytest.mark.parametrize(
    ("url", "ca", "client", "why"),
    [
        ("http://baton.corp:80", "", "claude-code", "`baton.corp` is a name"),
        ("https://baton.example.com", "", "claude-code", "--transport curl"),
        ("http://ada:pw@127.0.0.1", "", "claude-code", "holds a password"),
        ("ftp://127.0.0.1", "", "claude-code", "is not an http or https url"),
        ("127.0.0.1:8080", "", "claude-code", "is not an http or https url"),
        ("https://127.0.0.1", "/ca.pem", "claude-code", "BATON_CA_FILE"),
        ("http://127.0.0.1", "", "codex", "`codex` has no http hooks"),
    ],
)
def test_http_is_refused_where_it_would_let_every_call_pass(person, monkeypatch, url, ca, client, why):
    monkeypatch.setenv("BATON_URL", url)
    monkeypatch.setenv("BATON_CA_FILE", ca)
    result = person.types("install", "--transport", "http", "--client", client)
    assert result.exit_code == 1
    assert why in result.stderr
    assert not any(person.home.iterdir())
    assert person.types("install", "--client", client).exit_code == 0


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://[::1]:8080", "http://192.168.1.4:8080"])
def test_http_is_allowed_to_addresses_and_loopback(person, monkeypatch, url):
    monkeypatch.setenv("BATON_URL", url)
    person.does("install", "--transport", "http")
    assert entry(person.hooks(), "Stop")["url"] == f"{url}/hooks/claude-code?event=Stop"


@pytest.mark.parametrize("transport", ["curl", "http"])
def test_nothing_waits_for_what_follows_a_tool_call_where_the_client_can_do_so(person, transport):
    person.does("install", "--transport", transport)
    hooks = person.hooks()
    background = {event for event in hooks if entry(hooks, event).get("async")}
    assert background == {"PostToolUse", "PostToolUseFailure", "PermissionDenied"}
    assert all("command" in entry(hooks, event) for event in background)


def test_codex_which_may_leave_background_hooks_out_has_none(person):
    path = Path(person.does("install", "--client", "codex")["path"])
    assert "async" not in path.read_text()


def test_the_plugin_asks_about_the_same_events_with_the_same_patience():
    folder = REPO / "hooks" / "claude-code-plugin"
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert {event: entry(hooks, event)["timeout"] for event in hooks} == {e: TIMEOUTS[e] for e in EVENTS["claude-code"]}
    for event in hooks:
        assert entry(hooks, event).get("async", False) is (event in BACKGROUND)
        assert entry(hooks, event)["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/baton-hook.sh" claude-code {event}'
    for name in SHIM:
        assert (folder / "hooks" / name).read_bytes() == (REPO / "hooks" / name).read_bytes()
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["name"] == "baton"
