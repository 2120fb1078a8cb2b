"""`baton hooks install` with a person's token, and `baton auth login`: the place of each token."""

import json
import os
from pathlib import Path

import pytest

from baton.cli.people import auth
from baton.local import config, person_token, unlocked
from baton.local.server import ApiError
from tests.support.command_line import run
from tests.support.people import admin_token, token
from tests.support.server import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("hook-token") / "home", BATON_AUTH="on") as running:
        yield running


@pytest.fixture
def admin(server):
    with server.client(Authorization=f"Bearer {admin_token(server)}") as http:
        yield http


@pytest.fixture
def dora(server, admin, person, monkeypatch):
    """Dora's machine: her token in the environment, and her config file."""
    text, _ = token(admin, "dora", "developer", "web")
    monkeypatch.setenv("BATON_URL", server.url)
    monkeypatch.setenv("BATON_TOKEN", text)
    person.token, person.config = text, person.home / ".config" / "baton" / "config"
    return person


def hooks_token(person):
    return dict(line.split("=", 1) for line in person.config.read_text().splitlines()).get("BATON_TOKEN")


def test_install_leaves_a_token_for_hooks_and_not_the_person_s(server, admin, dora):
    result = dora.does("install")
    text = hooks_token(dora)
    assert text not in {None, dora.token}
    assert dora.token not in dora.config.read_text()
    assert result["token"]
    with server.client(Authorization=f"Bearer {text}") as hook:
        call = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
        assert hook.post("/pre-tool-use", json=call).status_code == 200
        assert hook.put("/mode", json={"scope": "user", "enabled": False}).json()["code"] == "person_required"
        assert hook.post("/tokens/hook", json={"machine": "m"}).json()["code"] == "person_required"
    made = next(one for one in admin.get("/tokens").json()["items"] if one["id"] == text.split("_")[1])
    assert (made["user"], made["role"], bool(made["machine"])) == ("dora", "hook", True)
    entry = admin.get("/audit", params={"object": made["id"]}).json()["items"][0]
    assert (entry["action"], entry["actor"]) == ("token.create", "dora")
    assert admin.delete(f"/tokens/{made['id']}").status_code == 204


def test_a_person_s_token_in_the_file_is_replaced_once(dora, server, monkeypatch):
    monkeypatch.delenv("BATON_TOKEN")
    config.save({"BATON_URL": server.url, "BATON_TOKEN": dora.token})
    dora.does("install")
    first = hooks_token(dora)
    assert first not in {"", dora.token}
    dora.does("install")
    assert hooks_token(dora) == first


def test_a_hook_token_is_accepted_unchanged(admin, dora, monkeypatch):
    text, _ = token(admin, "dora", "hook", "web")
    monkeypatch.setenv("BATON_TOKEN", text)
    dora.does("install")
    assert hooks_token(dora) == text


def test_without_the_server_the_person_s_token_is_left_out(dora, monkeypatch):
    monkeypatch.setenv("BATON_URL", "http://127.0.0.1:9")
    notes = " ".join(dora.does("install")["notes"])
    assert "No token was made for the hooks" in notes
    assert dora.token not in dora.config.read_text()


def test_a_person_has_so_many(server, admin, monkeypatch):
    text, _ = token(admin, "many", "developer", "web")
    with server.client(Authorization=f"Bearer {text}") as http:
        made = [http.post("/tokens/hook", json={"machine": f"m{number}"}) for number in range(21)]
        assert [one.status_code for one in made] == [201] * 20 + [409]
        assert http.delete(f"/tokens/{made[0].json()['token']['id']}").status_code == 204
        assert http.post("/tokens/hook", json={"machine": "new"}).status_code == 201


@pytest.fixture
def typing(dora, monkeypatch):
    """Let a person type a token at a terminal; returns what is kept where."""
    kept = {}
    monkeypatch.delenv("BATON_TOKEN")
    monkeypatch.setattr("baton.shared.agent_process.own_doubt", lambda: "")
    monkeypatch.setattr("getpass.getpass", lambda _: dora.token)
    monkeypatch.setattr(person_token, "keep_in_keyring", lambda url, text: kept.update({"keyring": (url, text)}))
    monkeypatch.setattr(unlocked, "hold", lambda url, text: kept.update({"memory": (url, text)}))
    return kept


@pytest.mark.parametrize(("command", "where"), [(auth.login, "keyring"), (auth.unlock, "memory")])
def test_a_person_types_their_token_once(server, dora, typing, capsys, command, where):
    command()
    assert typing == {where: (server.url, dora.token)}
    assert "You are `dora` (developer)" in capsys.readouterr().out
    assert not dora.config.exists() or dora.token not in dora.config.read_text()
    assert config.load().login == (server.url if where == "keyring" else "")


def test_logout_forgets_it(server, dora, typing, capsys):
    auth.login()
    auth.logout()
    auth.lock()
    assert config.load().login == ""
    assert "keeps no token of yours" in capsys.readouterr().out


@pytest.mark.parametrize("command", [auth.login, auth.unlock])
@pytest.mark.parametrize(
    ("typed", "doubt", "why"),
    [
        ("hook", "", "for hooks and agents"),
        ("nonsense", "", "not a token of Baton"),
        ("baton_000000000000_" + "0" * 64, "", "does not know you"),
        ("own", "it descends from `claude` (process 7)", "for a person at a terminal"),
    ],
)
def test_a_token_of_no_person_is_not_stored(admin, dora, typing, monkeypatch, command, typed, doubt, why):
    text = {"hook": token(admin, "dora", "hook", "web")[0], "own": dora.token}.get(typed, typed)
    monkeypatch.setattr("getpass.getpass", lambda _: text)
    monkeypatch.setattr("baton.shared.agent_process.own_doubt", lambda: doubt)
    with pytest.raises(ApiError, match=why):
        command()
    assert typing == {}


def test_without_a_keyring_login_names_the_other_way(dora, typing, monkeypatch):
    def none(*_):
        raise person_token.NoKeyringError("this machine has no keyring for secrets")

    monkeypatch.setattr(person_token, "keep_in_keyring", none)
    with pytest.raises(ApiError, match="`baton auth unlock` holds the token for ten minutes instead"):
        auth.login()
    assert json.dumps(typing) == "{}"
    assert not Path(dora.config).exists()


def test_up_works_with_the_person_s_token_and_later_with_that_of_the_hooks(dora, monkeypatch):
    def up():
        done = run("up", "--yes", "--json", env=dict(os.environ), cwd=dora.project)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    (dora.home / ".gemini").mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    begun = up()
    assert [one["verdict"] for one in begun["findings"]] == ["ok", "ok"]
    assert "/ui/sign-in#" in begun["console"]["url"]
    monkeypatch.delenv("BATON_TOKEN")
    again = up()
    assert again["changes"] == []
    assert "recorded" in again["findings"][0]["what"]
    assert [one["verdict"] for one in again["findings"]] == ["ok", "warning"]


def test_up_without_a_token_names_the_missing_token(dora, monkeypatch):
    monkeypatch.delenv("BATON_TOKEN")
    done = run("up", "--yes", env=dict(os.environ), cwd=dora.project)
    assert (done.returncode, "BATON_TOKEN is not set" in done.stderr) == (1, True)
