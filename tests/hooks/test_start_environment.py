"""A project's files, set after the client's start, redirect no hook, and switch none off."""

import subprocess
from pathlib import Path

import pytest

from tests.hooks.shim import ANSWER, HOOKS, PYTHON, Scripted, run_shim, with_its_own_path

SETS = {
    "BATON_URL": "http://127.0.0.1:1",
    "BATON_USER": "mallory",
    "BATON_TOKEN": "theirs",
    "BATON_CA_FILE": "/nowhere.pem",
    "BATON_PROJECT": "another",
    "BATON_DISABLED": "1",
    "BATON_ON_FAILURE": "block",
    "HTMLGRAPH_ORCHESTRATOR_DISABLED": "1",
    "BATON_ACCEPT_REWRITES": "*",
    "http_proxy": "http://127.0.0.1:1",
    "OPENSSL_CONF": "/nowhere.cnf",
}


@pytest.fixture
def config(tmp_path, server):
    """A file as `baton hooks install` leaves it; its path is in the hook's line."""
    file = tmp_path / "config"
    file.write_text(f"BATON_URL={server.url}\nBATON_USER=ada\nBATON_TOKEN=hers\n")
    return file


@pytest.fixture
def bare(env):
    return {"PATH": env["PATH"], "HOME": env["HOME"]}


@pytest.mark.matrix(6)
@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot-cli", "gemini", "opencode", "qwen", "cursor"])
@pytest.mark.parametrize("name", SETS)
def test_a_variable_that_was_set_later_changes_nothing(one, bare, folder, server, config, client, name):
    assert run_shim(one, bare, folder, client, "PreToolUse", str(config)) == (0, ANSWER + b"\n", b"")
    ran = run_shim(one, bare, folder, client, "PreToolUse", str(config), later={name: SETS[name]})
    assert ran == (0, ANSWER + b"\n", b"")
    before, after = (seen.headers for seen in server.seen)
    assert before == after
    assert after["authorization"] == b"Bearer hers"


def test_all_of_them_are_named_at_the_session_s_start(one, bare, folder, server, config):
    run_shim(one, bare, folder, "claude-code", "SessionStart", str(config), later=SETS)
    named = server.seen[0].headers["baton-ignored"].decode().split()
    assert set(named) == {name for name in SETS if name.startswith(("BATON_", "HTML"))} - {"BATON_ACCEPT_REWRITES"}


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME"])
def test_without_a_config_in_its_line_the_file_is_that_of_the_client_s_start(one, bare, folder, server, config, name):
    place = Path(bare["HOME"]) / ".config" / "baton"
    place.mkdir(parents=True)
    config.rename(place / "config")
    theirs = folder / ".config" / "baton"
    theirs.mkdir(parents=True)
    (theirs / "config").write_text("BATON_URL=http://127.0.0.1:1\n")
    value = str(folder if name == "HOME" else folder / ".config")
    assert run_shim(one, bare, folder, later={name: value}).out == ANSWER + b"\n"


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy", "ALL_PROXY"])
def test_a_proxy_that_was_set_later_gets_no_request_for_a_remote_server(one, bare, folder, server, config, name):
    config.write_text("BATON_URL=http://baton.invalid\nBATON_TOKEN=hers\n")
    run_shim(one, bare, folder, "claude-code", "PreToolUse", str(config), later={name: server.url})
    assert server.seen == []
    run_shim(one, bare | {name: server.url}, folder, "claude-code", "PreToolUse", str(config))
    assert len(server.seen) == 1


def test_a_program_of_the_project_is_not_run(bare, folder, server, config):
    fake = folder / "bin"
    fake.mkdir()
    for name in ("curl", "id", "tr"):
        (fake / name).write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
        (fake / name).chmod(0o755)
    later = {"PATH": f"{fake}:{bare['PATH']}", "BATON_DISABLED": "1"}
    assert run_shim(["sh"], bare, folder, "claude-code", "PreToolUse", str(config), later=later).out == ANSWER + b"\n"
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("given", [{}, {"BATON_TOKEN": "mine"}], ids=["file's token", "environment's token"])
def test_a_token_is_sent_to_its_own_server_only(one, bare, folder, server, config, given):
    other = Scripted()
    try:
        run_shim(one, bare | {"BATON_URL": other.url, **given}, folder, "claude-code", "PreToolUse", str(config))
        run_shim(one, bare | given, folder, "claude-code", "PreToolUse", str(config))
    finally:
        other.close()
    assert other.seen[0].headers.get("authorization") == (b"Bearer mine" if given else None)
    assert server.seen[0].headers["authorization"] == b"Bearer hers"


def test_a_client_below_an_agent_reports_no_environment(one, bare, folder, server, config):
    env = bare | {"CLAUDECODE": "1", "BATON_DISABLED": "1", "BATON_URL": "http://127.0.0.1:1"}
    assert run_shim(one, env, folder, "claude-code", "PreToolUse", str(config)).out == ANSWER + b"\n"


def test_a_client_that_starts_itself_again_is_asked_for_its_first_start(one, bare, folder, server, config):
    """Qwen Code and Gemini CLI read the project's `.env`, and then start the same program with it."""
    script = [] if one == PYTHON else [str(HOOKS / "baton-hook.sh")]
    again = ["env", "BATON_DISABLED=1", "timeout", "120", *one, *script, "qwen", "PreToolUse", str(config)]
    words = ["timeout", "120", *again]
    done = subprocess.run(words, env=bare, cwd=folder, input=b"{}", capture_output=True, check=False)
    assert done.stdout == ANSWER + b"\n"
    given = subprocess.run(
        words, env=bare | {"BATON_DISABLED": "1"}, cwd=folder, input=b"{}", capture_output=True, check=False
    )
    assert given.stdout == b""


def test_without_proc_ps_is_used(bare, folder, server, config, tmp_path):
    """As on macOS: `ps` of a fake PATH stands for it."""
    hooks = with_its_own_path(tmp_path / "hooks")
    library = hooks / "baton-lib.sh"
    library.write_text(library.read_text().replace("/proc/", "/no-proc/"))
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "ps").write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '-Eww*) echo "claude -p go HOME=/h BATON_DISABLED=1" ;;\n'
        '*" 50") echo "    1 /bin/zsh" ;;\n'
        '*) echo "   50 /opt/my claude/claude" ;;\nesac\n'
    )
    (fake / "ps").chmod(0o755)
    env = bare | {"PATH": f"{fake}:{bare['PATH']}"}
    for later, out in (({"BATON_DISABLED": "1"}, b""), ({"BATON_DISABLED": "yes"}, ANSWER + b"\n")):
        ran = run_shim(["sh"], env, folder, "codex", "PreToolUse", str(config), hooks=hooks, later=later)
        assert ran.out == out
