"""`baton hooks` on the settings files that people have."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.hook_entries import EVENTS, TIMEOUTS, is_ours
from app.cli.hook_files import SHIM, shim_word
from app.cli.hooks import app

REPO = Path(__file__).parents[2]


class Person:
    """A home, a project, and what the person types there."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "project"
        self.project.mkdir(parents=True)
        self.home.mkdir()
        subprocess.run(["git", "init", "-q", self.project], check=True)
        subprocess.run(
            ["git", "-C", self.project, "remote", "add", "origin", "https://u:p@h.example/team/app.git"], check=True
        )
        self.settings = self.home / ".claude" / "settings.json"

    def types(self, *words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    def does(self, *words: str) -> Any:
        result = self.types(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def has(self, content: str | bytes) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        self.settings.write_bytes(content.encode() if isinstance(content, str) else content)

    def hooks(self, path: Path | None = None) -> dict[str, list[Any]]:
        return json.loads((path or self.settings).read_text())["hooks"]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    for name in [n for n in os.environ if n.startswith(("BATON_", "XDG_", "CLAUDE", "CODEX"))]:
        monkeypatch.delenv(name)
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.project)
    monkeypatch.setenv("BATON_USER", "ada")
    return made


def entry(hooks: dict[str, list[Any]], event: str) -> dict[str, Any]:
    (group,) = hooks[event]
    (hook,) = group["hooks"]
    return hook


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


def test_without_a_settings_file_one_is_made_and_taken_away_again(person):
    person.does("install")
    assert set(person.hooks()) == set(EVENTS["claude-code"])
    person.does("uninstall")
    assert not person.settings.exists()
    assert "Nothing to remove" in person.types("uninstall").output


UNCLEAR: dict[str, tuple[str | bytes, str]] = {
    "comment": ('{\n  // mine\n  "model": "opus"\n}', "settings.json:2: it is not valid JSON"),
    "trailing comma": ('{"a": 1,}', "settings.json:1: it is not valid JSON"),
    "cut off": ('{"hooks": {', "settings.json:1: it is not valid JSON"),
    "list": ("[]", "settings.json:1: it is not an object"),
    "twice": ('{"hooks": {},\n"hooks": {}}', "settings.json:2: the key `hooks` stands there twice"),
    "hooks is a list": ('{\n"hooks": []}', "settings.json:2: `hooks` is not an object"),
    "event is an object": ('{"hooks":\n{"Stop": {}}}', "settings.json:2: `hooks.Stop` is not a list"),
    "group is a string": ('{"hooks":{"Stop": [\n"x"]}}', "settings.json:2: an item of `hooks.Stop` is not an object"),
    "group without hooks": ('{"hooks":{"Stop": [{}]}}', "settings.json:1: an item of `hooks.Stop`"),
    "not utf-8": (b'{"a": "\xff"}', "not UTF-8"),
    "blank": (" \n", "settings.json:2: it is not valid JSON"),
}


@pytest.mark.parametrize(("content", "why"), UNCLEAR.values(), ids=UNCLEAR)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_file_that_is_not_understood_is_left_alone(person, content, why, command):
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
    hooks["Setup"] = hooks["Stop"]
    hooks["PostToolUse"][0]["hooks"].append({"type": "command", "command": "mine.sh"})
    person.has(json.dumps({"hooks": hooks}))
    person.does("install", "--transport", "http")
    found = person.hooks()
    assert [[h.get("command", h["type"]) for h in g["hooks"]] for g in found["PreToolUse"]] == [["http"], ["later.sh"]]
    assert [[h.get("command", h["type"]) for h in g["hooks"]] for g in found["PostToolUse"]] == [["mine.sh"], ["http"]]
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
    for event in hooks:
        assert entry(hooks, event) == {
            "type": "command",
            "command": f"test ! -f {shim_word()} || sh {shim_word()} {client} {event}",
            "timeout": TIMEOUTS[event],
        }
    assert str(person.home) not in file.read_text()
    person.does("uninstall", "--client", "codex" if client == "claude-code" else "claude-code")
    assert file.exists()
    person.does("uninstall", "--client", client, "--scope", scope)
    assert not file.exists()


@pytest.mark.parametrize("event", EVENTS["claude-code"])
@pytest.mark.parametrize("options", [(), ("--fail-closed",)], ids=["open", "closed"])
def test_a_teammate_without_the_shim_is_blocked_only_when_that_was_asked_for(person, event, options):
    person.does("install", *options)
    command = entry(person.hooks(), event)["command"]
    shutil.rmtree(person.home / ".local")
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
    assert done.returncode == (2 if options and event in {"PreToolUse", "UserPromptSubmit"} else 0)
    assert done.stdout == b""


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
            "Baton-On-Failure": "$BATON_ON_FAILURE",
            "Baton-Debug": "$BATON_DEBUG",
            "Baton-Protocol": "1",
        },
        "allowedEnvVars": sorted(
            [
                "BATON_DEBUG",
                "BATON_DISABLED",
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


def test_install_remembers_what_the_environment_says(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("BATON_TOKEN", "tok")
    person.does("install")
    config = person.home / ".config" / "baton" / "config"
    assert config.read_text() == "BATON_URL=http://127.0.0.1:9\nBATON_USER=ada\nBATON_TOKEN=tok\n"
    for name in ("BATON_URL", "BATON_TOKEN", "BATON_USER"):
        monkeypatch.delenv(name)
    person.does("install")
    assert config.read_text() == "BATON_TOKEN=tok\nBATON_URL=http://127.0.0.1:9\nBATON_USER=ada\n"


@pytest.mark.parametrize(
    ("options", "settings", "note"),
    [
        (("--client", "codex"), "{}", "enter `/hooks`"),
        (("--client", "codex", "--scope", "project"), "{}", "only when the project is trusted"),
        (("--scope", "project"), "{}", "Each teammate runs"),
        ((), '{"disableAllHooks": true}', "switches them all off"),
    ],
)
def test_what_a_person_has_to_know_is_said(person, options, settings, note):
    person.has(settings)
    assert note in person.types("install", *options).output


def test_two_scopes_at_once_are_remarked_on(person):
    person.does("install")
    assert "one of the two is enough" in person.types("install", "--scope", "project").output


@pytest.fixture
def status_server() -> Iterator[tuple[str, dict[str, Any]]]:
    answer: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200 if self.path == "/status" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", answer
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("protocol", "word"), [("1", "fits the hooks"), ("2", "update the older"), (None, "not say")])
def test_status_tells_what_is_where_and_when_it_was_last_heard_of(person, monkeypatch, status_server, protocol, word):
    url, answer = status_server
    seen = {"user": "ada", "client": "claude-code", "last_seen": "2026-01-02T03:04:05Z", "protocol": "1"}
    answer |= {"version": "0.1.0", "clients": [seen]} | ({"protocol": protocol} if protocol else {})
    monkeypatch.setenv("BATON_URL", url)
    person.does("install", "--fail-closed")
    person.does("install", "--client", "codex", "--scope", "project")
    result = person.does("status")
    found = {(one["client"], one["scope"]): one for one in result["settings"]}
    assert {key: one["installed"] for key, one in found.items()} == {
        ("claude-code", "user"): True,
        ("claude-code", "project"): False,
        ("codex", "user"): False,
        ("codex", "project"): True,
    }
    mine = found["claude-code", "user"]
    assert (mine["transport"], mine["fail_closed"], mine["missing"]) == ("curl", True, [])
    assert found["codex", "project"]["fail_closed"] is False
    assert result["shim"]["state"] == "current"
    assert result["server"]["clients"] == [seen]
    text = person.types("status").output
    assert word in text
    assert "2026-01-02T03:04:05Z" in text


def test_status_tells_what_is_wrong(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:1")
    assert "run `baton hooks install`" in person.types("status").output
    person.does("install", "--transport", "http")
    hooks = person.hooks()
    del hooks["PreToolUse"]
    person.has(json.dumps({"hooks": hooks, "disableAllHooks": True}))
    (person.home / ".local/share/baton" / SHIM[0]).write_text("old")
    broken = person.project / ".claude" / "settings.json"
    broken.parent.mkdir()
    broken.write_text("{\n,")
    result = person.does("status", "--client", "claude-code")
    mine, shared = result["settings"]
    assert (mine["missing"], mine["transport"], mine["url"]) == (["PreToolUse"], "http", "http://127.0.0.1:1")
    assert "disableAllHooks" in mine["problem"]
    assert shared == {
        "client": "claude-code",
        "scope": "project",
        "path": str(broken),
        "installed": False,
        "problem": shared["problem"],
    }
    assert "line 2" in shared["problem"]
    assert result["shim"]["state"] == "different"
    assert result["server"]["answers"] is False


def test_the_plugin_asks_about_the_same_events_with_the_same_patience():
    folder = REPO / "hooks" / "claude-code-plugin"
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert {event: entry(hooks, event)["timeout"] for event in hooks} == {e: TIMEOUTS[e] for e in EVENTS["claude-code"]}
    for event in hooks:
        assert entry(hooks, event)["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/baton-hook.sh" claude-code {event}'
    for name in SHIM:
        assert (folder / "hooks" / name).read_bytes() == (REPO / "hooks" / name).read_bytes()
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text())["name"] == "baton"
