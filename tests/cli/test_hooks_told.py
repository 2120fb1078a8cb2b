"""`baton hooks install` and `uninstall` notify the server, and work without one."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.support.server import until


@pytest.fixture
def known(server, person, monkeypatch):
    """What the server knows of a new person's clients."""
    user = f"told-{person.home.parent.name}"
    monkeypatch.setenv("BATON_URL", server.url)
    monkeypatch.setenv("BATON_USER", user)

    def ask():
        with server.client() as http:
            return {one["client"]: one for one in http.get("/status").json()["clients"] if one["user"] == user}

    return ask


def test_the_server_lists_installed_hooks_without_contact(known, person):
    result = person.does("install", "--client", "codex")
    assert not [note for note in result["notes"] if "server" in note]
    (codex,) = until(lambda: list(known().values()))  # a slow database is answered for from memory
    assert (codex["client"], "last_seen" in codex) == ("codex", False)
    assert "never heard of" in person.types("status").output
    assert person.does("uninstall", "--client", "codex")["notes"] == []
    until(lambda: not known())


def test_hooks_left_in_another_scope_stay_known(known, person):
    person.does("install")
    person.does("install", "--scope", "project")
    person.does("uninstall", "--scope", "user")
    until(lambda: set(known()) == {"claude-code"}, about=known)
    person.does("uninstall")
    until(lambda: not known())


def test_hooks_are_installed_and_removed_without_a_server(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:1")
    result = person.does("install")
    assert result["changed"]
    assert "with their first call" in " ".join(result["notes"])
    removed = person.does("uninstall")
    assert removed["removed"]
    assert "was not notified" in " ".join(removed["notes"])


class NeedsToken(BaseHTTPRequestHandler):
    """A server that refuses every request without a token."""

    def do_PUT(self):
        self.send_response(401)
        self.end_headers()
        self.wfile.write(b'{"code": "unauthenticated", "detail": "a token is needed"}')


def test_installing_without_the_needed_token_fails_with_the_next_three_lines(person, monkeypatch):
    with HTTPServer(("127.0.0.1", 0), NeedsToken) as server:
        Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setenv("BATON_URL", f"http://127.0.0.1:{server.server_port}")
        found = person.types("install")
    assert found.exit_code != 0
    assert "BATON_TOKEN is not set" in found.output
    assert "\n  3. baton hooks install --client claude-code" in found.output
