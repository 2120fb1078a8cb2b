"""`baton hooks` and `baton hook` on Windows: without POSIX modules, with lines readable by each client's shell."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from baton.cli.hooks.entries import EVENTS, is_ours, kind_of
from baton.cli.hooks.shims import Shim, line, quote
from tests.support.cases import every
from tests.support.command_line import clean_environment
from tests.support.samples import one_in

AS_ON_WINDOWS = """
import sys, os, io, subprocess, socket, ssl, http.client, asyncio, psutil, typer, typer.testing, platform, tempfile, json
import shutil, types
shutil.sys = types.SimpleNamespace(**vars(sys))
for name in ("fcntl", "pwd", "grp", "resource", "termios", "pty", "tty", "syslog"):
    sys.modules[name] = None
for name in ("getuid", "geteuid", "getgid", "getegid", "getsid", "setsid", "fork", "killpg", "uname", "getpgid"):
    delattr(os, name)
sys.platform = "win32"
os.environ["USERNAME"] = "ada"
sys.argv = ["baton", *sys.argv[1:]]
from baton.cli.main import main
main()
"""
"""Runs `baton` in an interpreter without what Windows lacks. What the standard library itself has imported stays."""


def on_windows(*words, env, cwd, body=b""):
    return subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS, *words], env=env, cwd=cwd, input=body, capture_output=True, check=False
    )


@pytest.fixture
def env(tmp_path):
    made = clean_environment(HOME=str(tmp_path / "home"), BATON_URL="http://127.0.0.1:1")
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "baton").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "baton").chmod(0o755)
    return made | {"PATH": f"{tmp_path / 'bin'}:{made['PATH']}"}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("client", one_in(4, EVENTS, "starts the command line four times"))
def test_hooks_are_installed_shown_and_removed_without_posix(client, env, tmp_path):
    made = on_windows("hooks", "install", "--client", client, "--json", env=env, cwd=tmp_path)
    assert made.returncode == 0, made.stderr.decode()
    text = Path(json.loads(made.stdout)["path"]).read_text()
    assert f"hook {client} PreToolUse" in text
    assert "baton-hook.sh" not in text
    told = json.loads(on_windows("hooks", "status", "--client", client, "--json", env=env, cwd=tmp_path).stdout)
    [found] = [one for one in told["settings"] if one["installed"]]
    assert (found["shim"], found["missing"], told["shim"]["kind"]) == ("python", [], "python")
    assert told["shim"]["state"] == "current"
    assert told["differences"][client] == []
    gone = on_windows("hooks", "uninstall", "--client", client, env=env, cwd=tmp_path)
    assert gone.returncode == 0, gone.stderr.decode()
    assert b"Removed" in gone.stdout


@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse"])
def test_the_hook_runs_without_posix(event, env, tmp_path):
    ran = on_windows("hook", "claude-code", event, env=env, cwd=tmp_path, body=b"{}")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "is not checking this session" in json.loads(ran.stdout)["systemMessage"]


SPACED = "C:\\Users\\Ada Lovelace\\baton.exe"
CONFIG = "C:\\Users\\Ada Lovelace\\config"
PLAIN = "C:\\Tools\\baton.exe"
QUOTED = [
    ("sh", SPACED, "'C:/Users/Ada Lovelace/baton.exe'"),
    ("sh", PLAIN, "C:/Tools/baton.exe"),
    ("cmd", SPACED, f'"{SPACED}"'),
    ("cmd", PLAIN, PLAIN),
    ("powershell", SPACED, f"'{SPACED}'"),
    ("powershell", "C:\\Users\\O'Hara\\baton.exe", "'C:\\Users\\O''Hara\\baton.exe'"),
    ("sh", "/home/o'hara/baton", "'/home/o'\\''hara/baton'"),
    ("sh", "baton", "baton"),
]


@every(("shell", "path", "quoted"), QUOTED)
def test_a_path_is_quoted_for_the_shell_of_the_client(shell, path, quoted):
    assert quote(path, shell) == quoted


POWERSHELL = f"& '{SPACED}' hook CLIENT PreToolUse block '{CONFIG}'"
LINES = {one: POWERSHELL.replace("CLIENT", one) for one in ("codex", "cursor", "copilot-cli")}
LINES["opencode"] = f'call "{SPACED}" hook opencode PreToolUse block "{CONFIG}"'


@every("client", LINES)
def test_a_line_starts_the_program_in_the_shell_of_the_client(client):
    shim = Shim(path=SPACED, config=CONFIG, windows=True)
    made = line(shim, client, "PreToolUse", block=True, must=True, missing={})
    assert made == LINES[client]
    assert is_ours({"command": made})
    assert kind_of({"command": made}) == "python"


@every("client", EVENTS)
@every("event", ["SessionStart", "PreToolUse", "Stop"])
def test_a_line_with_baton_on_the_search_path_has_nothing_to_quote(client, event):
    made = line(Shim(windows=True), client, event, block=False, must=False, missing={"systemMessage": "m"})
    if client != "copilot-cli":  # which reads it with PowerShell, whatever else is there
        assert made == f"baton hook {client} {event}"
    assert not {"|", "%", "$", "`"} & set(made)


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-closed",), 2)])
def test_on_posix_a_call_runs_or_is_refused_without_baton(person, monkeypatch, options, code, tmp_path):
    program = tmp_path / "baton"
    program.symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    made = person.does("install", "--shim", "python", *options)
    program.unlink()
    hooks = person.hooks(Path(made["path"]))
    for event, status, said in (("PreToolUse", code, b""), ("SessionStart", 0, b"not installed on this machine")):
        command = hooks[event][0]["hooks"][0]["command"]
        bare = {"PATH": "/usr/bin:/bin", "HOME": str(person.home)}
        ran = subprocess.run(["sh", "-c", command], input=b"{}", env=bare, capture_output=True, check=False)
        assert ran.returncode == status
        if not options or event == "PreToolUse":
            assert said in ran.stdout
