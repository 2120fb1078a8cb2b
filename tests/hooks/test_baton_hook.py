"""The shim against servers with answers, failures, hangs and lies."""

import base64
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.hooks.shim import ANSWER, HOOKS, PYTHON, answers, run_shim, with_its_own_path
from tests.support.server import until

NASTY = """a "b" 'c' \\ \\n $(touch pwned) `touch pwned` $HOME ; # é 日本 %s =x"""


def refusal(ran, shell):
    """Return the reason of a refusal: `baton hook` answers it, since PowerShell passes on no exit code but 0 and 1."""
    if shell != PYTHON:
        assert (ran.code, ran.out) == (2, b"")
        return ran.err.decode()
    assert (ran.code, ran.err) == (0, b"")
    said = json.loads(ran.out)
    specific = said.get("hookSpecificOutput", said)
    return specific["permissionDecisionReason"] if "permissionDecision" in specific else said["reason"]


def assert_let_go(ran, why=""):
    """The call goes on; the person, and nobody else, is told that it was not checked."""
    assert (ran.code, ran.err) == (0, b"")
    told = json.loads(ran.out)
    assert list(told) == ["systemMessage"]
    assert "is not checking this session" in told["systemMessage"]
    assert why in told["systemMessage"]


def test_the_answer_is_printed_unchanged(shell, env, folder, server):
    assert run_shim(shell, env, folder) == (0, ANSWER + b"\n", b"")
    assert run_shim(shell, env, HOOKS, hooks=Path()) == (0, ANSWER + b"\n", b"")


def test_the_body_is_sent_unchanged(shell, env, folder, server):
    body = bytes(range(256)) * 12_000
    assert run_shim(shell, env, folder, body=body).code == 0
    assert server.seen[0].body == body


def test_the_request_has_user_project_and_payload(shell, env, folder, server):
    run_shim(shell, env | {"BATON_TOKEN": "s3cret"}, folder, "codex", "Stop")
    seen = server.seen[0]
    assert seen.path == "/hooks/codex?event=Stop"
    baton = {name: value.decode() for name, value in seen.headers.items() if name.startswith("baton-")}
    values = {"user": "ada", "project": str(folder), "root": str(folder), "on-failure": "allow", "protocol": "1"}
    assert baton == {f"baton-{name}": value for name, value in values.items()}
    assert seen.headers["authorization"] == b"Bearer s3cret"
    assert seen.headers["content-type"] == b"application/json"


def test_values_reach_the_server_as_they_are_and_run_nothing(shell, env, tmp_path, server):
    place = tmp_path / NASTY.replace("/", "")
    place.mkdir()
    run_shim(shell, env | {"BATON_USER": NASTY, "BATON_PROJECT": NASTY, "BATON_TOKEN": NASTY}, place)
    headers = server.seen[0].headers
    assert headers["baton-user"].decode() == headers["baton-project"].decode() == NASTY
    assert headers["authorization"].decode() == f"Bearer {NASTY}"
    assert headers["baton-root"].decode() == str(place)
    assert not list(tmp_path.rglob("pwned"))


def test_control_characters_cannot_start_a_header_or_an_option(shell, env, folder, server):
    evil = 'x"\r\nBaton-Disabled: 1\r\n\r\nGET / HTTP/1.1\t\x07"\nurl = "http://127.0.0.1:1/"'
    run_shim(shell, env | {"BATON_USER": evil}, folder)
    (seen,) = server.seen
    assert seen.headers["baton-user"] == b'x"Baton-Disabled: 1GET / HTTP/1.1"url = "http://127.0.0.1:1/"'
    assert "baton-disabled" not in seen.headers


@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (answers(status="500 Internal Server Error"), "answered 500"),
        (answers(status="422 2nd thoughts"), "answered 422"),
        (answers(status="302 Found", headers=b"Location: /elsewhere\r\n"), "answered 302"),
        (answers(b"<html>log in</html>"), "not JSON"),
        (answers(b""), "not JSON"),
        (answers(b'{"cut":'), "not JSON"),
        (answers(b'{"short":1}', length=400), "broke off its answer"),
        (lambda connection: connection.sendall(b"\0\xff garbage\r\n\r\n{}"), ""),
        (lambda connection: None, "broke off its answer"),
    ],
    ids=["500", "422", "redirect", "html", "empty", "half-json", "truncated", "garbage", "hang-up"],
)
def test_an_invalid_answer_allows_the_call_or_refuses_it_with_the_reason(shell, env, folder, server, reply, why):
    server.reply = reply
    assert_let_go(run_shim(shell, env, folder), why)
    text = refusal(run_shim(shell, env | {"BATON_ON_FAILURE": "block"}, folder), shell)
    assert why in text
    assert "PreToolUse refused" in text
    assert server.url in text
    assert "BATON_ON_FAILURE=allow" in text
    assert len(server.seen) == 2


@pytest.mark.matrix(2)
@pytest.mark.parametrize("before", [b"", b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"a":'], ids=["mute", "half"])
def test_a_server_that_hangs_is_given_up_before_the_client_gives_up_the_hook(env, folder, server, before):
    server.reply = server.hangs(before)
    for shell in (["sh"], PYTHON):
        text = refusal(run_shim(shell, env | {"BATON_ON_FAILURE": "block"}, folder), shell)
        assert "did not answer within 1.5 s" in text
        (Path(env["HOME"]) / ".cache/baton" / f"failed-{server.url.removeprefix('http://')},hung").unlink()


def marks(env):
    """What the shim remembers: that the server hung, and which sessions were told."""
    return sorted(path.name.rpartition(",")[2] for path in Path(env["HOME"]).glob(".cache/baton/*"))


@pytest.mark.slow("waits for a hung server")
def test_a_server_that_hung_is_not_waited_for_again_until_it_answers(shell, env, folder, server):
    hangs, server.reply = server.reply, server.hangs()
    assert b"within 1.5 s" in run_shim(shell, env, folder).out
    assert "hung" in marks(env)
    blocked = env | {"BATON_ON_FAILURE": "block"}
    assert "within 0.3 s" in refusal(run_shim(shell, blocked, folder), shell)
    assert "within 1.5 s" in refusal(run_shim(shell, blocked, folder, "claude-code", "UserPromptSubmit"), shell)
    server.reply = hangs
    assert run_shim(shell, env, folder).out == ANSWER + b"\n"
    assert marks(env) == []


def test_the_person_is_notified_once_per_session(shell, env, folder, server):
    server.reply = answers(status="500 Oops")
    body = b'{"session_id": "s1"}'
    events = ("Stop", "PreToolUse", "PreToolUse")
    outs = [run_shim(shell, env, folder, "claude-code", event, body=body).out for event in events]
    assert [b"is not checking" in out for out in outs] == [False, True, False]
    for _ in range(2):  # each session begins with it
        assert b"answered 500 Oops" in run_shim(shell, env, folder, "claude-code", "SessionStart").out


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "text"])
def test_a_planted_memory_file_skips_no_question(one, env, folder, server, kind):
    place = Path(env["HOME"]) / ".cache" / "baton"
    place.mkdir(parents=True)
    mark = place / f"failed-{server.url.removeprefix('http://')},hung"
    make = {"fifo": lambda: os.mkfifo(mark), "folder": mark.mkdir, "link": lambda: mark.symlink_to("/dev/zero")}
    make.get(kind, lambda: mark.write_text("08 $(id)\n" * 100_000))()
    assert run_shim(one, env, folder).out == ANSWER + b"\n"


def test_an_unwritable_home_is_reported_at_the_start_only(shell, env, folder, server):
    server.reply = answers(status="500 Oops")
    env |= {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null"}
    assert b"is not checking" in run_shim(shell, env, folder, "claude-code", "SessionStart").out
    assert run_shim(shell, env, folder) == (0, b"", b"")


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "PermissionDenied"])
def test_an_event_after_the_call_is_sent_without_waiting(shell, env, folder, server, event):
    server.reply = server.hangs()
    ran = run_shim(shell, env | {"BATON_ON_FAILURE": "block"}, folder, "codex", event, body=b"x" * 100_000)
    assert ran == (0, b"", b"")  # it would be refused after 1.5 s if it were waited for
    until(lambda: server.seen)
    assert (server.seen[0].path, server.seen[0].body) == (f"/hooks/codex?event={event}", b"x" * 100_000)


def test_a_slow_server_is_waited_for(one, env, folder, server):
    server.reply = answers(wait=0.4)
    assert run_shim(one, env, folder).out == ANSWER + b"\n"


def test_without_a_server_the_call_runs_or_is_refused_with_a_message(shell, env, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        env |= {"BATON_URL": f"http://ada:pass@127.0.0.1:{probe.getsockname()[1]}"}
        assert_let_go(run_shim(shell, env, folder), "refuses connections. Start it: baton serve.")
        text = refusal(run_shim(shell, env, folder, "claude-code", "PreToolUse", "block"), shell)
    assert "refuses connections" in text
    assert "pass" not in text


@pytest.mark.parametrize(
    ("event", "code"),
    [("PreToolUse", 2), ("UserPromptSubmit", 2), ("SessionStart", 2), ("Stop", 0), ("SubagentStop", 0)],
)
def test_fail_closed_never_keeps_an_agent_from_stopping(env, folder, server, event, code):
    server.reply = answers(status="500 Oops")
    assert run_shim(["sh"], env, folder, "claude-code", event, "block").code == code
    ran = run_shim(PYTHON, env, folder, "claude-code", event, "block")
    assert (ran.code, b"refused" in ran.out + ran.err) == (0, code == 2)


def test_the_environment_overrules_a_fail_closed_installation(one, env, folder, server):
    server.reply = answers(status="500 Oops")
    env |= {"BATON_ON_FAILURE": "allow"}
    assert_let_go(run_shim(one, env, folder, "claude-code", "PreToolUse", "block"), "500")
    assert server.seen[0].headers["baton-on-failure"] == b"allow"


def test_without_curl_the_call_runs_or_is_refused(env, folder, tmp_path):
    bare, hooks = tmp_path / "bin", with_its_own_path(tmp_path / "hooks")
    bare.mkdir()
    for name in ("sh", "id", "cat", "tr", "timeout", "mkdir"):
        (bare / name).symlink_to(str(shutil.which(name)))
    shell = [str(shutil.which("sh"))]
    env |= {"PATH": str(bare)}
    assert_let_go(run_shim(shell, env, folder, hooks=hooks), "cannot be asked without curl. Install curl.")
    assert run_shim(shell, env, folder, "claude-code", "PreToolUse", "block", hooks=hooks).code == 2
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(HOOKS / "baton-hook.sh", alone)
    assert run_shim(shell, env, folder, hooks=alone) == (0, b"", b"")
    assert b"baton hooks install" in run_shim(shell, env, folder, "claude-code", "PreToolUse", "block", hooks=alone).err
    assert run_shim(shell, env, folder, "claude-code", "Stop", "block", hooks=alone).code == 0


def test_disabled_skips_at_once_but_announces_the_session(shell, env, folder, server):
    env |= {"BATON_DISABLED": "1", "BATON_ON_FAILURE": "block"}
    assert run_shim(shell, env, folder, body=b"x" * 1_000_000) == (0, b"", b"")
    assert server.seen == []
    assert run_shim(shell, env, folder, "claude-code", "SessionStart").out == ANSWER + b"\n"
    assert server.seen[0].headers["baton-disabled"] == b"1"


@pytest.mark.parametrize(("value", "sent"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_mode_alone_is_switched_off_by_its_variable(shell, env, folder, server, value, sent):
    env |= {"HTMLGRAPH_ORCHESTRATOR_DISABLED": value} | (
        {} if sent else {"BATON_DEBUG": value, "BATON_DISABLED": value}
    )
    assert run_shim(shell, env, folder) == (0, ANSWER + b"\n", b"")
    headers = server.seen[0].headers
    assert headers.get("baton-orchestrator-disabled") == (b"1" if sent else None)
    assert not {"baton-debug", "baton-disabled"} & set(headers)


@pytest.mark.parametrize("switch", [{"BATON_DEBUG": "1"}, {"BATON_DEBUG": "true"}])
def test_debug_prints_the_decision_on_standard_error(shell, env, folder, server, switch):
    told = b"baton-decision: rewrite models/inject\r\nBaton-Message: Auto-injecting model: haiku for explore\r\n"
    server.reply = answers(headers=told)
    ran = run_shim(shell, env | switch, folder)
    assert ran.out == ANSWER + b"\n"
    assert ran.err == b"baton: PreToolUse: rewrite models/inject\nAuto-injecting model: haiku for explore\n"
    assert server.seen[0].headers["baton-debug"] == b"1"
    server.reply = answers(status="503 Busy")
    assert b"baton: PreToolUse: not decided: the server answered 503" in run_shim(shell, env | switch, folder).err


def test_the_token_is_on_no_command_line(env, folder, server):
    server.reply = server.hangs()
    command = ["timeout", "120", "sh", str(HOOKS / "baton-hook.sh"), "claude-code", "SessionStart"]
    token = "tok-" + base64.b32encode(folder.as_posix().encode()).decode()[-12:]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env | {"BATON_TOKEN": token}, cwd=folder
    ):
        until(lambda: server.seen)
        lines = [_read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
        server.leave.set()
    assert server.seen[0].headers["authorization"].decode() == f"Bearer {token}"
    assert any(b"baton-hook.sh" in line for line in lines)
    assert any(b"--data-binary" in line for line in lines)
    assert not any(token.encode() in line for line in lines)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


FAULTS = [
    (answers(status="401 Unauthorized"), "does not accept the token of the hooks", "baton auth login"),
    (answers(status="403 Forbidden"), "does not accept the token of the hooks", "baton auth login"),
    (answers(status="426 Upgrade Required"), "speaks another version of the hooks", "baton hooks install"),
    (answers(status="503 Busy"), "answered 503 Busy", "baton doctor"),
    (answers(b"<html>"), "answered something that is not JSON", "baton doctor"),
    (lambda connection: None, "broke off its answer", "baton doctor"),
]


@pytest.mark.matrix(3)
@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot-cli", "gemini", "qwen", "cursor"])
@pytest.mark.parametrize(("reply", "fault", "advice"), FAULTS, ids=["401", "403", "426", "503", "html", "hang-up"])
def test_each_client_s_message_names_the_fault_and_the_next_step(
    one, env, folder, server, client, reply, fault, advice
):
    server.reply = reply
    told = json.dumps(json.loads(run_shim(one, env, folder, client, "UserPromptSubmit").out))
    assert fault in told
    assert advice in told


def test_an_unknown_host_name_is_reported(one, env, folder):
    told = run_shim(one, env | {"BATON_URL": "http://no-such-host.invalid"}, folder)
    assert_let_go(told, "has a name that is not known. Correct BATON_URL")


@pytest.mark.matrix(2)
@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_is_used_for_loopback(one, env, folder, server, name, host):
    url = server.url.replace("127.0.0.1", host)
    run = run_shim(one, env | {name: "http://127.0.0.1:1", "BATON_URL": url, "no_proxy": "corp.example"}, folder)
    assert run.out == ANSWER + b"\n"


def test_a_proxy_is_used_for_other_hosts_unless_excepted(one, env, folder, server):
    elsewhere = env | {"http_proxy": server.url, "BATON_URL": "http://baton.example"}
    assert run_shim(one, elsewhere, folder).out == ANSWER + b"\n"
    assert server.seen[0].path == "http://baton.example/hooks/claude-code?event=PreToolUse"
    assert_let_go(run_shim(one, elsewhere | {"NO_PROXY": "baton.example"}, folder))


def test_the_developers_curl_settings_do_not_interfere(one, env, folder, server):
    (Path(env["HOME"]) / ".curlrc").write_text("verbose\nproxy = http://127.0.0.1:1\noutput = /dev/null\n")
    assert run_shim(one, env, folder) == (0, ANSWER + b"\n", b"")


def test_a_ca_file_is_used(env, folder, server, tmp_path):
    missing = tmp_path / "no such ca.pem"
    https = {"BATON_URL": server.url.replace("http:", "https:"), "BATON_CA_FILE": str(missing)}
    for shell, why in ((["sh"], "no certificate that is trusted"), (PYTHON, "No such file")):
        assert why in refusal(run_shim(shell, env | https, folder, "claude-code", "PreToolUse", "block"), shell)


def test_the_config_file_is_read_and_the_environment_wins(shell, env, folder, server):
    file = Path(env["HOME"]) / ".config" / "baton" / "config"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"# note\nBATON_URL\nBATON_URL={server.url}/\nBATON_USER=$(touch pwned) x=y\nBATON_TOKEN=abc==\nPATH=/"
    )
    env = {key: value for key, value in env.items() if key in {"PATH", "HOME"}}
    assert run_shim(shell, env | {"BATON_TOKEN": ""}, folder).out == ANSWER + b"\n"
    assert server.seen[0].headers["baton-user"] == b"$(touch pwned) x=y"
    assert server.seen[0].headers["authorization"] == b"Bearer abc=="
    run_shim(shell, env | {"BATON_USER": "bo"}, folder)
    assert server.seen[1].headers["baton-user"] == b"bo"
    assert not list(folder.iterdir())


def test_without_a_name_the_login_name_is_sent(shell, env, folder, server):
    del env["BATON_USER"]
    run_shim(shell, env, folder)
    login = subprocess.run(["id", "-un"], capture_output=True, check=True).stdout.strip()
    assert server.seen[0].headers["baton-user"] == login


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("command", "sent"),
    [
        ("", None),
        ("printf 'a\\nb\\n' | wc -l", b"2"),
        ("echo '   7'; cat", b"7"),
        ("echo no", None),
        ("echo 3; exit 4", None),
        ("echo 'unclosed", None),
    ],
)
def test_a_session_s_start_counts_work_items_and_names_the_shim_s_process(shell, env, folder, server, command, sent):
    if command:
        config = Path(env["HOME"]) / ".config" / "baton"
        config.mkdir(parents=True)
        (config / "config").write_text(f"BATON_WORK_ITEMS_COMMAND={command}\n")
    env |= {"BATON_WORK_ITEMS_COMMAND": "echo 66; touch planted"}
    run_shim(shell, env, folder, "claude-code", "SessionStart", body=b'{"a":1}')
    run_shim(shell, env, folder, "claude-code", "PreToolUse")
    assert server.seen[0].headers.get("baton-work-items") == sent
    assert server.seen[0].headers["baton-shim"].isdigit()
    assert server.seen[0].body == b'{"a":1}'
    assert not (folder / "planted").exists(), "a variable is no command"
    assert not {"baton-work-items", "baton-shim"} & server.seen[1].headers.keys()


def test_one_program_is_started_for_a_call(env, folder, server, tmp_path):
    log, hooks = tmp_path / "started", with_its_own_path(tmp_path / "hooks")
    bin_ = tmp_path / "bin"
    config = tmp_path / "config"
    config.write_text(f"BATON_URL={server.url}\nBATON_USER=ada\n")
    env = {"HOME": env["HOME"], "PATH": f"{bin_}:{env['PATH']}"}
    bin_.mkdir()
    for name in ("curl", "id", "git", "cat", "sed", "tr"):
        script = bin_ / name
        script.write_text(f'#!/bin/sh\necho {name} >>"{log}"\nexec {shutil.which(name) or "false"} "$@"\n')
        script.chmod(0o755)
    run_shim(["sh"], env, folder, "claude-code", "PreToolUse", str(config), hooks=hooks)
    assert log.read_text() == "curl\n"
