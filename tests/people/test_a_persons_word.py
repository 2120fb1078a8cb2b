"""Weakening the rules needs a person: their token, or a process at their terminal; nothing else suffices."""

import http.client
import json
import os
import socket
import subprocess
import sys

import pytest

from baton.people.users import FOR_AGENTS, TABLE
from baton.shared.person_socket import person_socket
from tests.support.attacks import attacks
from tests.support.cases import every
from tests.support.http_calls import ok, refused
from tests.support.server import free_port, served, serving
from tests.support.terminal import ROOT, at_terminal

WEAKENING = attacks("credentials", "weaken")
"""Requests that an agent could send, whatever program it takes for it."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests' own: some hold only where nobody else has switched the mode on."""
    with served(tmp_path_factory.mktemp("own") / "home") as running:
        yield running


@every("user", ["", "dora"])
@every("tried", WEAKENING, ids=[one["name"] for one in WEAKENING])
def test_without_a_token_nothing_is_weakened_over_tcp(server, user, tried):
    method, path, body = tried["request"]["method"], tried["request"]["path"], tried["request"]["body"]
    headers = {"Baton-User": user} if user else {}
    headers["If-Match"] = "*"
    with server.agent(**headers) as agent:
        answer = agent.request(method, path, json=body)
    assert answer.status_code in {403, 404, 422}, answer.text
    if answer.status_code == 403:
        assert answer.json()["code"] in {"person_required", "forbidden"}, answer.text
    if answer.status_code == 404:
        assert "none" in path, answer.text


def test_every_action_that_is_not_an_agents_is_a_persons():
    assert set(TABLE) > FOR_AGENTS
    writes = {action for action in FOR_AGENTS if not action.endswith(".read")}
    assert writes == {
        "calls.make", "clients.report", "codemap.write", "exceptions.request", "delegation.try", "graphs.write", "jobs.apply", "jobs.submit", "jobs.write",
        "modes.write", "patterns.propose", "policies.replay", "reports.write", "routes.feedback", "routes.make", "spawns.make",
    }  # fmt: skip


def test_a_header_name_with_a_colon_is_refused(server):
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(b"GET /mode HTTP/1.1\r\nHost: localhost\r\n:person: a person's terminal\r\n\r\n")
        assert b" 400 " in raw.recv(4_096).split(b"\r\n")[0]


def test_a_caller_with_an_unknown_token_is_an_agent(server):
    with server.agent(Authorization="Bearer baton_000000000000_" + "0" * 64) as stranger:
        refused(stranger.put("/mode", json={"scope": "user", "enabled": False}), 403, "person_required")
        assert ok(stranger.get("/mode"))["enabled"] is False


def test_a_token_of_role_hook_posts_events_and_weakens_nothing(server, http):
    text = ok(http.post("/tokens", json={"user": "hooked", "role": "hook"}), 201)["text"]
    call = {"session_id": "hooked", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    with server.agent(Authorization=f"Bearer {text}") as hook:
        assert ok(hook.post("/pre-tool-use", json=call))["decision"] == "allow"
        ok(hook.put("/mode", json={"scope": "user", "enabled": True, "level": "strict"}))
        refused(hook.put("/mode", json={"scope": "user", "enabled": False}), 403, "person_required")
    assert ok(http.get("/mode", params={"user": "hooked"}))["level"] == "strict"


class _Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def off(path, user="dora"):
    connection = _Socket(path)
    body = json.dumps({"scope": "user", "enabled": False})
    connection.request("PUT", "/mode", body, {"Baton-User": user, "Content-Type": "application/json"})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content.get("detail", "")


def port_of(server):
    return int(server.url.rpartition(":")[2])


def test_who_sits_at_a_terminal_is_a_person(server):
    assert off(at_terminal(port_of(server))) == (200, "")


OFF = """
import http.client, json, socket, sys
class Over(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
over = Over("localhost", timeout=60)
over.request("PUT", "/mode", json.dumps({"scope": "user", "enabled": False}), {"Content-Type": "application/json"})
print(over.getresponse().read().decode())
"""
AGENTS = [
    ("without a terminal", {}, "python", "has no terminal"),
    ("with a client's variable", {"CLAUDECODE": "1"}, "python", "`CLAUDECODE` is set"),
    ("within a delegated job", {"BATON_JOB": "job_1"}, "python", "`BATON_JOB` is set"),
    ("named as a client", {}, "codex", "descends from `codex`"),
    ("below a client", {}, "shell", "descends from `claude`"),
]


@every(("env", "name", "why"), [row[1:] for row in AGENTS], ids=[row[0] for row in AGENTS])
def test_an_agent_s_program_is_never_a_person(server, env, name, why):
    command = [sys.executable, "-c", OFF, str(person_socket(port_of(server)))]
    if name == "shell":
        command = ["bash", "-c", 'exec -a claude bash -c \'"$@"; true\' x "$@"', "x", *command]
    argv0 = {"executable": sys.executable} if name == "codex" else {}
    if name == "codex":
        command[0] = "/opt/codex"
    env |= {"PYTHONHOME": sys.base_prefix} if name == "codex" else {}  # a relocatable Python looks for it beside itself
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "CODEX", "BATON_"))}
    done = subprocess.run(
        command, env=plain | env, capture_output=True, text=True, start_new_session=True, check=True, **argv0
    )
    answer = json.loads(done.stdout)
    assert (answer["code"], why in answer["detail"]) == ("person_required", True), answer


DISGUISED = """
import fcntl, os, pty, subprocess, sys, termios
os.setsid()
fcntl.ioctl(pty.openpty()[1], termios.TIOCSCTTY, 0)
shim, config, *off = sys.argv[1:]
subprocess.run(["sh", shim, "claude-code", "SessionStart", config], input=b'{"session_id": "disguised"}', check=True)
print(subprocess.run(off, env={}, stdout=subprocess.PIPE, check=True, text=True).stdout)
"""


def test_a_program_running_hooks_is_a_client(server, tmp_path):
    off_by_python = [sys.executable, "-c", OFF, str(person_socket(port_of(server)))]
    shim = ROOT / "hooks" / "baton-hook.sh"
    config = tmp_path / "config"
    config.write_text(f"BATON_URL={server.url}\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", DISGUISED, str(shim), str(config), *off_by_python],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    assert answer["code"] == "person_required", answer
    # Where the tests run below an agent, that is seen first.
    assert "a client that runs hooks" in answer["detail"] or "descends from" in answer["detail"], answer


EVENTS = attacks("credentials", "events")


@every("tried", EVENTS, ids=[one["name"] for one in EVENTS])
def test_no_event_frees_the_session_of_who_posts_it(server, tried):
    session = {"session_id": f"kept {tried['name']}", "project": f"p {tried['name']}", "cwd": "/w"}
    look_up = session | {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}
    with server.agent(**{"Baton-User": "eve", "Baton-Project": session["project"]}) as agent:
        assert ok(agent.post("/session-start", json=session | {"work_items": 3}))["mode"]["enabled"]
        assert [ok(agent.post("/pre-tool-use", json=look_up))["decision"] for _ in range(2)] == ["allow", "block"]
        for event in tried["events"]:
            ok(agent.post(event["path"], json=session | event["body"], headers=event.get("headers", {})))
        after = ok(agent.post("/pre-tool-use", json=look_up))
    assert (after["decision"], after["mode"]["enabled"]) == ("block", True)


def test_the_socket_is_closed_to_everybody_else(server):
    path = person_socket(port_of(server))
    assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)


@pytest.mark.slow
def test_without_a_people_socket_only_a_token_proves_a_person(tmp_path):
    port = free_port()
    in_the_way = person_socket(port)
    in_the_way.mkdir(parents=True)
    try:
        with serving(tmp_path / "home", PORT=str(port)) as running, running.agent() as agent:
            said = running.log.read_text()
            assert "people cannot be distinguished from agents" in said
            assert "`baton db admin-token`" in said
            weaker = {"scope": "user", "enabled": False}
            refused(agent.put("/mode", json=weaker), 403, "person_required")
            ok(agent.put("/mode", json=weaker, headers={"Authorization": f"Bearer {running.token}"}))
    finally:
        in_the_way.rmdir()
