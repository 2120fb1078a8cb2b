"""`baton hooks status`: installed hooks and their faults."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from baton.cli.hooks.files import SHIM
from baton.shared.person_socket import person_socket


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


@pytest.mark.parametrize(
    ("protocol", "word"), [("1", "fits the hooks"), ("2", "update the older"), (None, "not report")]
)
def test_status_shows_installed_hooks_and_last_contact(person, monkeypatch, status_server, protocol, word):
    url, answer = status_server
    seen = {"user": "ada", "client": "claude-code", "last_seen": "2026-01-02T03:04:05Z", "protocol": "1"}
    script = {"user": "ada", "client": "api", "last_seen": "2026-01-02T03:04:06Z"}  # it says no protocol
    answer |= {"version": "0.1.0", "clients": [seen, script]} | ({"protocol": protocol} if protocol else {})
    monkeypatch.setenv("BATON_URL", url)
    person.does("install", "--fail-closed")
    person.does("install", "--client", "codex", "--scope", "project")
    result = person.does("status")
    found = {(one["client"], one["scope"]): one for one in result["settings"]}
    assert {key for key, one in found.items() if one["installed"]} == {("claude-code", "user"), ("codex", "project")}
    assert {("claude-code", "project"), ("codex", "user"), ("copilot-cli", "user")} < found.keys()
    mine = found["claude-code", "user"]
    assert (mine["transport"], mine["fail_closed"], mine["missing"]) == ("curl", True, [])
    assert found["codex", "project"]["fail_closed"] is False
    assert result["shim"]["state"] == "current"
    assert result["server"].get("clients") == [seen, script], result["server"]
    text = person.types("status").output
    assert word in text
    assert "2026-01-02T03:04:05Z" in text


def test_a_stale_socket_does_not_block_access(person, monkeypatch, status_server):
    url, answer = status_server
    answer |= {"version": "0.1.0", "protocol": "1", "clients": []}
    monkeypatch.setenv("BATON_URL", url)
    left = person_socket(urlsplit(url).port)
    left.parent.mkdir(mode=0o700, exist_ok=True)
    left.unlink(missing_ok=True)  # one that was left here by chance
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    try:
        server = person.does("status")["server"]
    finally:
        left.unlink()
    assert server["answers"], server


def test_status_names_problems(person, monkeypatch):
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
    assert (mine["missing"], mine["transport"]) == (["PreToolUse"], "http")
    assert "disableAllHooks" in mine["problem"]
    assert "line 2" in shared.pop("problem")
    assert shared == {"client": "claude-code", "scope": "project", "path": str(broken), "installed": False}
    assert result["shim"]["state"] == "different"
    assert result["server"]["answers"] is False
