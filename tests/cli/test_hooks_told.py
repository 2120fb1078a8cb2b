"""`baton hooks install` and `uninstall` tell the server, and work without one."""

import pytest


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


def test_the_server_knows_what_is_installed_and_never_heard_of(known, person):
    result = person.does("install", "--client", "codex")
    assert not [note for note in result["notes"] if "server" in note]
    assert "last_seen" not in known()["codex"]
    assert "never heard of" in person.types("status").output
    assert person.does("uninstall", "--client", "codex")["notes"] == []
    assert known() == {}


def test_hooks_that_are_left_in_another_scope_stay_known(known, person):
    person.does("install")
    person.does("install", "--scope", "project")
    person.does("uninstall", "--scope", "user")
    assert set(known()) == {"claude-code"}
    person.does("uninstall")
    assert known() == {}


def test_without_a_server_hooks_are_installed_and_removed_all_the_same(person, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:1")
    result = person.does("install")
    assert result["changed"]
    assert "with their first call" in " ".join(result["notes"])
    removed = person.does("uninstall")
    assert removed["removed"]
    assert "was not told" in " ".join(removed["notes"])
