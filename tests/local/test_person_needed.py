"""The message of `baton` if the server requires a person: the command to type."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from baton.local import server as way
from baton.local.server import Api, PersonNeeded

NEEDED = json.dumps({"detail": "to switch it off needs a person", "code": "person_required"}).encode()
BELOW = "it descends from `claude` (process 7)"


@pytest.fixture
def refusal(monkeypatch, tmp_path):
    """Return how `baton mode disable` is refused by a server without a socket for people."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(403)
            self.send_header("Content-Length", str(len(NEEDED)))
            self.end_headers()
            self.wfile.write(NEEDED)

        def log_message(self, *_):
            pass

    def refused(agent="", token=None):
        monkeypatch.setattr("baton.shared.agent_process.own_doubt", lambda: agent)
        with pytest.raises(PersonNeeded) as raised:
            Api(token=token).request("PUT", "/mode", body={})
        return str(raised.value)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BATON_TOKEN", raising=False)
    monkeypatch.setattr(way, "is_person_socket", lambda _: False)
    monkeypatch.setattr("sys.argv", ["/usr/bin/baton", "mode", "disable", "--reason", "a b"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("BATON_URL", f"http://127.0.0.1:{server.server_port}")
        yield refused
        server.shutdown()
        thread.join()


def test_below_an_agent_the_command_for_the_person_is_shown(refusal):
    said = refusal(BELOW)
    assert f"even if the person allowed the command ({BELOW})" in said
    assert "in their own terminal, outside of any agent: `baton mode disable --reason 'a b'`" in said
    assert "`baton auth unlock`, and then `baton mode disable" in refusal(BELOW, token="hooks")


def test_without_a_socket_a_token_is_named(refusal):
    said = refusal()
    assert "`baton db admin-token`" in said
    assert "type `baton mode disable --reason 'a b'` again" in said


def test_with_the_hooks_token_the_unlock_command_is_shown(refusal):
    assert "The current token is for hooks. Run `baton auth unlock`" in refusal(token="hooks")
