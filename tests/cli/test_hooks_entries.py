"""Entries written by `baton hooks install` into a client's settings: commands, HTTP, plugin."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from baton.cli.hooks.entries import DECIDING, EVENTS, seconds_of
from baton.cli.hooks.files import SHIM
from baton.local.config import stored
from baton.local.hook.main import BACKGROUND
from baton.relay.process import relay_socket
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
    assert done.returncode == (2 if options and event in DECIDING else 0)
    told = json.loads(done.stdout)["systemMessage"] if event == "SessionStart" else done.stdout.decode()
    assert ("Baton is not installed on this machine" in told) is (event == "SessionStart")
    assert told == "" or event == "SessionStart"


def test_an_odd_home_and_data_folder_are_quoted(person, monkeypatch, tmp_path):
    home = tmp_path / """it's a "home" $x `y`"""
    home.mkdir()
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:1")
    for data in (None, home / 'd $a `t` "a" \\', tmp_path / "out side $z"):
        monkeypatch.setenv("HOME", str(home))
        if data:
            monkeypatch.setenv("XDG_DATA_HOME", str(data))
        person.does("install", "--fail-closed")
        command = entry(person.hooks(home / ".claude" / "settings.json"), "PreToolUse")["command"]
        done = subprocess.run(["sh", "-c", command], input=b"{}", check=False, capture_output=True)
        assert b"the server at http://127.0.0.1:1 refuses connections" in done.stderr
        person.does("uninstall")


def test_http_entries_post_to_the_relay_with_a_private_secret(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "https://baton.corp")
    monkeypatch.setenv("BATON_TOKEN", "s3cret")
    target = Path(person.does("install", "--relay")["path"])
    port, secret = stored("BATON_RELAY_PORT").split(" ")
    assert entry(person.hooks(target), "PreToolUse") == {
        "type": "http",
        "url": f"http://127.0.0.1:{port}/hooks/claude-code?event=PreToolUse",
        "timeout": 550,
        "headers": {"Baton-Relay": secret, "Baton-On-Failure": "allow", "Baton-Protocol": "1", "Baton-Waits": "1"},
    }
    assert target.stat().st_mode & 0o777 == 0o600
    assert len(secret) == 32
    assert stored("BATON_RELAY").startswith(str(relay_socket("https://baton.corp")))
    assert "command" in entry(person.hooks(target), "UserPromptSubmit")  # the shim waits for less while a server hangs
    hooks = person.hooks(Path(person.does("install", "--transport", "http", "--fail-closed")["path"]))
    assert entry(hooks, "PreToolUse")["onFailure"] == "block"
    assert entry(hooks, "PreToolUse")["headers"]["Baton-On-Failure"] == "block"
    assert entry(hooks, "UserPromptSubmit")["onFailure"] == "block"  # a command
    assert "onFailure" not in entry(hooks, "Stop")
    assert stored("BATON_RELAY_PORT") == f"{port} {secret}"


def test_the_port_lasts_until_its_client_is_installed_otherwise(person):
    person.does("install", "--transport", "http")
    port = stored("BATON_RELAY_PORT")
    person.does("install", "--client", "codex")
    assert (stored("BATON_RELAY_PORT"), bool(stored("BATON_RELAY"))) == (port, True)
    person.does("install", "--transport", "curl", "--relay")
    assert (stored("BATON_RELAY_PORT"), bool(stored("BATON_RELAY"))) == ("", True)
    person.does("install", "--transport", "http")
    person.does("uninstall", "--client", "claude-code")
    assert stored("BATON_RELAY_PORT") == ""


def test_a_relay_of_another_server_is_stopped_for_it_holds_the_port(person, monkeypatch):
    asked = []
    monkeypatch.setattr("baton.cli.hooks.command.stop_running", lambda: asked.append(stored("BATON_RELAY")))
    for url in ("https://one.corp", "https://one.corp", "https://two.corp"):
        monkeypatch.setenv("BATON_URL", url)
        person.does("install", "--transport", "http")
    assert [bool(one) for one in asked] == [False, True]
    assert asked[1].startswith(str(relay_socket("https://one.corp")))


@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "https_proxy"])
def test_the_shim_asks_where_http_hooks_would_reach_a_proxy(person, monkeypatch, proxy):
    monkeypatch.setenv(proxy, "http://proxy.corp:3128")
    made = person.does("install", "--relay")
    assert made["transport"] == "curl"
    assert any("would reach your proxy" in note for note in made["notes"])
    assert "would reach your proxy" in person.types("install", "--transport", "http").stderr
    monkeypatch.setenv("NO_PROXY", "corp,127.0.0.1")
    assert person.does("install", "--relay")["transport"] == "http"


@pytest.mark.parametrize(("client", "is_told"), [("claude-code", True), ("codex", False), ("qwen", False)])
def test_a_failing_command_blocks_in_clients_with_refusals(person, client, is_told):
    hooks = person.hooks(Path(person.does("install", "--client", client, "--fail-closed")["path"]))
    told = {event for event in hooks if "onFailure" in entry(hooks, event)}
    deciding = {"PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "UserPromptExpansion"}
    assert told == (deciding if is_told else set())


def test_a_token_is_not_kept_for_another_server(person, monkeypatch):
    config = person.home / ".config" / "baton" / "config"
    for url, token, kept in (
        ("http://127.0.0.1:1", "one", "one"),
        ("http://127.0.0.1:1", "", "one"),
        ("http://127.0.0.1:2", "", ""),
    ):
        monkeypatch.setenv("BATON_URL", url)
        monkeypatch.setenv("BATON_TOKEN", token)
        person.does("install")
        assert (f"BATON_TOKEN={kept}\n" in config.read_text()) is bool(kept)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_user_s_line_names_the_shim_and_the_config_by_path(person, scope):
    path = Path(person.does("install", "--scope", scope)["path"])
    command = entry(person.hooks(path), "PreToolUse")["command"]
    config = str(person.home / ".config" / "baton" / "config")
    assert (config in command, "$HOME" in command) == (scope == "user", scope == "project")


@pytest.mark.parametrize(
    ("url", "client", "why"),
    [
        ("http://ada:pw@127.0.0.1", "claude-code", "contains a password"),
        ("http://127.0.0.1", "codex", "no http hooks of `codex`"),
        ("http://127.0.0.1", "claude-code --scope project", "contain the port's secret"),
        ("http://127.0.0.1", "claude-code --shim python", "the hooks run `baton hook`"),
    ],
)
def test_http_is_refused_for_clients_that_fail_open(person, monkeypatch, url, client, why):
    monkeypatch.setenv("BATON_URL", url)
    result = person.types("install", "--transport", "http", "--client", *client.split())
    assert result.exit_code == 1
    assert why in result.stderr
    assert not any(person.home.iterdir())
    assert person.types("install", "--client", *client.split()).exit_code == 0


@pytest.mark.parametrize(("client", "transport"), [("claude-code", "curl"), ("claude-code", "http"), ("codex", "curl")])
def test_only_claude_code_runs_the_hooks_after_a_call_in_the_background(person, client, transport):
    hooks = person.hooks(Path(person.does("install", "--client", client, "--transport", transport)["path"]))
    background = {event for event in hooks if entry(hooks, event).get("async")}
    assert background == ({"PostToolUse", "PostToolUseFailure", "PermissionDenied"} if client != "codex" else set())
    assert all("command" in entry(hooks, event) for event in background)


def test_the_plugin_asks_about_the_same_events_with_the_same_patience():
    folder = REPO / "hooks" / "claude-code-plugin"
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert {event: entry(hooks, event)["timeout"] for event in hooks} == {
        e: seconds_of("claude-code", e) for e in EVENTS["claude-code"]
    }
    for event in hooks:
        assert entry(hooks, event).get("async", False) is (event in BACKGROUND)
        command = f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/baton-hook.sh" claude-code {event}'
        assert entry(hooks, event)["command"] == command + " wait" * (event == "PreToolUse")
    for name in SHIM:
        assert (folder / "hooks" / name).read_bytes() == (REPO / "hooks" / name).read_bytes()
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["name"] == "baton"
