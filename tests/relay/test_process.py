"""The relay, with a real server of HTTP behind it."""

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from baton.cli.hooks.relay import status, stop
from baton.relay import process
from baton.relay.process import relay_socket
from baton.shared.person_socket import is_person_socket
from tests.hooks.shim import run_shim
from tests.support.server import until


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[object, str | None]]] = []
    port: ClassVar[int]
    holds: ClassVar[threading.Event] = threading.Event()
    """While it is set, no hook is answered."""
    stop: ClassVar[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.client_address, self.headers["Authorization"]))
        until(lambda: not self.holds.is_set())
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def socket_of_relay():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Server.seen.clear()
    _Server.port, _Server.stop = server.server_port, staticmethod(lambda: (server.shutdown(), server.server_close()))
    url = f"http://127.0.0.1:{server.server_port}"
    relay = subprocess.Popen([sys.executable, "-m", "baton.relay.process"], env={**os.environ, "BATON_URL": url})
    path = relay_socket(url)
    while not path.exists() and relay.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    yield path
    relay.terminate()
    relay.wait()
    for left in (path, Path(f"{path}.lock")):
        left.unlink(missing_ok=True)
    server.shutdown()
    server.server_close()


def _ask(path: Path, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("localhost")) as connection:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        connection.sock.connect(str(path))
        connection.request(method, target, body, {"Authorization": "Bearer mine"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_hooks_share_connections_and_keep_their_own_token(socket_of_relay):
    for number in range(9):
        body = b'{"number":%d}' % number
        assert _ask(socket_of_relay, "POST", "/hooks/codex", body) == (200, body)
    assert len({address for address, _ in _Server.seen}) < len(_Server.seen)  # the relay's own may be among them
    assert {token for _, token in _Server.seen} == {"Bearer mine"}


def test_socket_is_closed_to_other_users_and_other_endpoints_are_refused(socket_of_relay):
    assert socket_of_relay.stat().st_mode & 0o077 == 0
    assert _ask(socket_of_relay, "POST", "/approvals/1")[0] == 400
    assert _Server.seen == []


# Which relay is the one.


def _start(path: Path) -> "subprocess.Popen[bytes]":
    env = {**os.environ, "BATON_URL": f"http://127.0.0.1:{_Server.port}"}
    return subprocess.Popen([sys.executable, "-m", "baton.relay.process", str(path)], env=env)


def _pid(path: Path) -> int:
    return int(json.loads(_ask(path, "GET", "/relay")[1])["pid"])


def _answers(path: Path) -> int:
    """Return the process of the relay that answers now, 0 without one."""
    try:
        return _pid(path)
    except OSError:
        return 0


def test_a_stopping_relay_frees_its_socket_and_answers_open_requests(socket_of_relay):
    said: list[tuple[int, bytes]] = []
    _Server.holds.set()
    try:
        hook = (socket_of_relay, "POST", "/hooks/codex?event=PostToolUse", b'{"n":1}')
        asking = threading.Thread(target=lambda: said.append(_ask(*hook)))
        asking.start()
        until(lambda: _Server.seen)
        assert _ask(socket_of_relay, "DELETE", "/relay")[0] == 200
        assert not socket_of_relay.exists()
        with _start(socket_of_relay) as second:
            until(lambda: is_person_socket(socket_of_relay))
            assert _pid(socket_of_relay) == second.pid
            _Server.holds.clear()
            asking.join()
            assert said == [(200, b'{"n":1}')]
            second.terminate()
        assert not socket_of_relay.exists()  # SIGTERM leaves nothing behind either
    finally:
        _Server.holds.clear()


def test_of_relays_started_at_once_one_stays(socket_of_relay):
    _ask(socket_of_relay, "DELETE", "/relay")
    started = [_start(socket_of_relay) for _ in range(3)]
    until(lambda: sum(one.poll() is not None for one in started) == 2)
    (left,) = [one for one in started if one.returncode is None]
    until(lambda: is_person_socket(socket_of_relay))
    assert _pid(socket_of_relay) == left.pid
    assert {one.returncode for one in started} == {None, 0}
    left.terminate()
    left.wait()


def test_lock_without_a_relay_keeps_nobody_out(socket_of_relay, monkeypatch):
    _ask(socket_of_relay, "DELETE", "/relay")
    monkeypatch.setattr(process, "START_S", 0.1)
    with Path(f"{socket_of_relay}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = process._claim(socket_of_relay)
        assert found is not None
        os.close(found)


# The shim through the relay.


@pytest.fixture
def settings(tmp_path, socket_of_relay):
    """An environment with a config file that chooses the relay, and an executable that starts none."""
    place = tmp_path / ".config/baton/config"
    place.parent.mkdir(parents=True)
    url = f"http://127.0.0.1:{_Server.port}"
    place.write_text(f"BATON_URL={url}\nBATON_TOKEN=mine\nBATON_RELAY={socket_of_relay} /bin/true\n")
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}


def _requests(path: Path) -> int:
    return int(json.loads(_ask(path, "GET", "/relay")[1])["requests"])


@pytest.mark.parametrize("size", [1, 200_000])
def test_shim_asks_through_the_relay(socket_of_relay, settings, tmp_path, size):
    body = b'{"text":"' + b"x" * size + b'"}'
    assert run_shim(["sh"], settings, tmp_path, body=body) == (0, body + b"\n", b"")
    assert [token for _, token in _Server.seen] == ["Bearer mine"]
    assert _requests(socket_of_relay) == 1


def test_a_client_does_not_wait_for_the_answer_about_a_result(socket_of_relay, settings, tmp_path):
    _Server.holds.set()
    try:
        assert run_shim(["sh"], settings, tmp_path, "claude-code", "PostToolUse", body=b"{}").code == 0
        # The client's pipe is closed, and the request goes on.
        until(
            lambda: any(
                str(socket_of_relay) in " ".join(one.info["cmdline"] or ()) and one.name() == "curl"
                for one in psutil.process_iter(["cmdline"])
            )
        )
    finally:
        _Server.holds.clear()


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_relay_that_hangs_is_replaced_and_the_shim_asks_the_server_itself(socket_of_relay, settings, tmp_path, event):
    config = tmp_path / ".config/baton/config"
    config.write_text(config.read_text().replace("/bin/true", sys.executable))
    hung = _pid(socket_of_relay)
    os.kill(hung, signal.SIGSTOP)
    body = b'{"text":"whole"}'
    shell = ["timeout", "--foreground", "10", "sh"]
    assert run_shim(shell, settings, tmp_path, "claude-code", event, body=body) == (0, body + b"\n", b"")
    until(lambda: _answers(socket_of_relay) not in {0, hung})
    assert run_shim(["sh"], settings, tmp_path, body=body).out == body + b"\n"
    assert _ask(socket_of_relay, "DELETE", "/relay")[0] == 200


@pytest.mark.parametrize("left", ["a socket", "nothing"])
def test_call_without_a_relay_starts_one_and_goes_through_it(socket_of_relay, settings, tmp_path, left):
    os.kill(_pid(socket_of_relay), signal.SIGKILL)
    until(lambda: not is_person_socket(socket_of_relay))
    socket_of_relay.unlink() if left == "nothing" else None
    body = b'{"text":"whole"}'
    assert run_shim(["sh"], settings, tmp_path, body=body) == (0, body + b"\n", b"")  # /bin/true starts none
    config = tmp_path / ".config/baton/config"
    config.write_text(config.read_text().replace("/bin/true", sys.executable))
    assert run_shim(["sh"], settings, tmp_path, "codex", "Stop", str(config), body=body, later={"HOME": "/x"}).out
    assert f"HOME={tmp_path}\0" in Path(f"/proc/{_pid(socket_of_relay)}/environ").read_text()
    assert _requests(socket_of_relay) == 1
    assert _ask(socket_of_relay, "DELETE", "/relay")[0] == 200


def test_shim_uses_no_relay_for_another_server(socket_of_relay, settings, tmp_path):
    assert run_shim(["sh"], settings | {"BATON_URL": f"http://localhost:{_Server.port}"}, tmp_path).out == b"{}\n"
    assert _requests(socket_of_relay) == 0


@pytest.mark.slow("starts a relay of its own")
def test_shim_says_of_a_dead_server_what_it_says_without_the_relay(socket_of_relay, settings, tmp_path):
    _Server.stop()
    ran = run_shim(["sh"], settings, tmp_path, "claude-code", "PreToolUse", "block")
    assert ran.code == 2
    assert b"refuses connections" in ran.err


# `baton hooks install` and `baton relay`.


def test_command_shows_and_stops_the_relay(socket_of_relay, settings, monkeypatch, capsys):
    monkeypatch.setenv("HOME", settings["HOME"])
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    status()
    assert "has served 0 hooks" in (said := capsys.readouterr().out)
    assert "The server does not answer: the relay has no rules." in said
    stop(as_json=True)
    assert json.loads(capsys.readouterr().out)["running"] is False
    assert not socket_of_relay.exists()
    status()
    assert "does not run" in capsys.readouterr().out
