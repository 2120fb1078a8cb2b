"""What `baton` does where the server wants a person: the code of its terminal, or what the person has to type."""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from baton.local import server as way
from baton.local.server import Api, ApiError

NEEDED = {"detail": "to switch it off needs a person", "code": "person_required"}


@pytest.fixture
def wanting(monkeypatch, tmp_path):
    """Answer as a server without a socket that wants a person: it takes one code, unless `codes` is False."""
    asked, more = [], {"codes": True}

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self):
            asked.append((self.command, self.path, dict(self.headers)))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = self.found()
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def found(self):
            if self.path == "/mode":
                return (200, {"ok": True}) if self.headers.get("Baton-Person") == "proof" else (403, NEEDED)
            if not more["codes"]:
                return 409, {"detail": "this server shows no codes", "code": "conflict"}
            if self.path == "/terminal-codes":
                return 201, {"id": "c1"}
            right = (self.path, self.headers.get("Baton-Person-Code")) == ("/terminal-codes/c1", "12345678")
            return (
                (200, {"proof": "proof"}) if right else (403, {"detail": "that is not the code", "code": "forbidden"})
            )

        do_POST = do_PUT  # noqa: N815 - the names of the base class

        def log_message(self, *_):
            pass

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def types(text, *, agent=""):
        monkeypatch.setattr("sys.stdin", Terminal(text))
        monkeypatch.setattr("baton.shared.agent_process.own_doubt", lambda: agent)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BATON_TOKEN", raising=False)
    monkeypatch.setattr(way, "is_person_socket", lambda _: False)
    monkeypatch.setattr("sys.argv", ["/usr/bin/baton", "mode", "disable", "--reason", "a b"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("BATON_URL", f"http://127.0.0.1:{server.server_port}")
        yield types, asked, more
        server.shutdown()
        thread.join()


def refusal(**options):
    with pytest.raises(ApiError) as refused:
        Api(**options).request("PUT", "/mode", body={})
    return str(refused.value)


def test_the_code_of_the_server_s_terminal_is_asked_for_once(wanting):
    types, asked, _ = wanting
    types(" 1234-5678\n")
    api = Api()
    assert [api.request("PUT", "/mode", body={}) for _ in range(2)] == [{"ok": True}] * 2
    assert [path for _, path, _ in asked] == ["/mode", "/terminal-codes", "/terminal-codes/c1", "/mode", "/mode"]


def test_another_code_proves_nothing(wanting):
    types, asked, _ = wanting
    types("99999999\n")
    assert "that is not the code" in refusal()
    assert len(asked) == 3


def test_below_an_agent_nothing_is_asked_and_the_person_is_told_what_to_type(wanting):
    types, asked, _ = wanting
    types("12345678\n", agent="it descends from `claude` (process 7)")
    said = refusal()
    assert "also where the person has let it run this command (it descends from `claude` (process 7))" in said
    assert "in a terminal of their own, outside of any agent: `baton mode disable --reason 'a b'`" in said
    assert len(asked) == 1
    assert "`baton unlock`, and then `baton mode disable" in refusal(token="hooks")


def test_without_codes_and_socket_a_token_is_named(wanting):
    types, _, more = wanting
    more["codes"] = False
    types("12345678\n")
    assert "`baton db admin-token`" in refusal()


def test_with_the_token_of_the_hooks_the_person_is_told_to_unlock(wanting):
    types, asked, _ = wanting
    types("12345678\n")
    assert "The token in use is that of the hooks. Type `baton unlock`" in refusal(token="hooks")
    assert len(asked) == 1
