"""A server with tokens: served callers, the answer to a refused hook, and no leaked secret."""

import json
import socket
from uuid import uuid4

import pytest

from baton.clients.registry import CLIENTS
from tests.support.cases import every
from tests.support.forge import forge
from tests.support.server import served, until

CALL = {"session_id": "a1", "tool_name": "Bash", "tool_input": {"command": "git status"}}
EVENT = CALL | {"hook_event_name": "PreToolUse"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("auth") / "home", BATON_AUTH="on") as running:
        running.texts = [(running.home / "admin-token").read_text().strip()]
        yield running


def bearer(server, text, **more):
    return server.client(Authorization=f"Bearer {text}", **more)


@pytest.fixture
def admin(server):
    with bearer(server, server.texts[0]) as http:
        yield http


def made(server, admin, user, role="developer", team="web", **more):
    assert admin.put(f"/teams/{team}", json={}).status_code == 200
    answer = admin.post("/tokens", json={"user": user, "role": role, "team": team} | more)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    server.texts.append(answer.json()["text"])
    return answer.json()["text"], answer.json()["token"]["id"]


def test_the_token_names_the_user_and_the_headers_do_not(server, admin):
    text, _ = made(server, admin, "dora")
    with bearer(server, text, **{"Baton-User": "root", "Baton-Team": "ops"}) as dora:
        decision = dora.post("/pre-tool-use", json=CALL).json()["decision_id"]
        record = until(lambda: (found := dora.get(f"/decisions/{decision}")).status_code == 200 and found.json())
    assert (record["user"], record["team"]) == ("dora", "web")


BAD = ["", "Bearer", "Bearer nonsense", "Basic eDp5", "Bearer baton_" + "0" * 12 + "_" + "0" * 64]


@every("path", ["/pre-tool-use", "/session-start", "/policies/evaluate", "/mode", "/tokens"])
@every("sent", BAD)
def test_typed_endpoints_ask_for_a_token(server, path, sent):
    with server.client(**({"Authorization": sent} if sent else {})) as http:
        answer = http.post(path, json=CALL) if path not in {"/mode", "/tokens"} else http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "0" * 64 not in answer.text


@pytest.mark.matrix(3)
@pytest.mark.parametrize("client", sorted(CLIENTS))
@pytest.mark.parametrize("failure", ["allow", "block"])
def test_a_refused_hook_gets_the_failure_answer_loudly_and_is_counted(server, admin, client, failure):
    text, token_id = made(server, admin, f"gone-{client}-{failure}")
    assert admin.delete(f"/tokens/{token_id}").status_code == 204
    counted = f"{client} {failure} unauthenticated"
    before = admin.get("/status").json()["hook_failures"].get(counted, 0)
    with bearer(server, text, **{"Baton-On-Failure": failure}) as http:
        # Some clients' payloads do not say which event it is: their shims put it into the URL.
        # Each client's session is named as it names it: the person is told once in a session.
        session = uuid4().hex
        event = EVENT | {
            "session_id": session,
            "conversation_id": session,
            "sessionId": session,
            "session": {"id": session},
        }
        answer = http.post(f"/hooks/{client}?event=PreToolUse", json=event)
        beginning = event | {"hook_event_name": "SessionStart"}
        start = http.post(f"/hooks/{client}?event=SessionStart", json=beginning)
    assert answer.status_code == start.status_code == 200
    assert answer.headers["baton-degraded"] == "token"
    assert ("deny" in answer.text) == (failure == "block")
    assert "deny" not in start.text
    assert "block" not in start.json()
    assert "baton auth login" in start.text
    if failure == "allow" and client != "qwen":  # which shows nothing beside a call, to nobody: the start has told it
        assert "baton auth login" in answer.text
    status = admin.get("/status").json()
    assert status["refused"][f"token {token_id}"] == 2
    assert status["hook_failures"][counted] == before + 2


def test_a_hook_without_a_token_is_counted_by_address(server, admin):
    with server.client() as http:
        http.post("/hooks/claude-code", json=EVENT)
    assert admin.get("/status").json()["refused"]["address 127.0.0.1"] >= 1


def test_health_checks_need_no_token(server):
    with server.client() as http:
        assert [http.get(path).status_code for path in ("/healthz", "/readyz", "/openapi.json")] == [200] * 3


def test_a_developer_s_export_has_no_digest_and_the_deletion_is_whole(server, admin):
    text, _ = made(server, admin, "ed")
    with bearer(server, text) as ed:
        decision = ed.post("/pre-tool-use", json=CALL | {"session_id": "ed1"}).json()["decision_id"]
        until(lambda: ed.get(f"/decisions/{decision}").status_code == 200)
        ed.put("/mode", json={"scope": "session", "id": "ed1", "enabled": True, "level": "strict"})
        edit = CALL | {"session_id": "ed1", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
        stopped = ed.post("/pre-tool-use", json=edit).json()["decision_id"]
        until(lambda: ed.get(f"/decisions/{stopped}").status_code == 200)
        assert ed.post("/exceptions", json={"decision_id": stopped, "reason": "r"}).status_code == 201
        layer = "/policies/layers/user?activate=true"
        assert ed.put(layer, json={"files": {"config.yaml": "rules: {options/pkill: on}"}}).status_code == 200
        kept = ed.get("/users/ed/export").json()["kept"]
        assert [(row["tier"], row["name"]) for row in kept["policy_layers"]] == [("user", "ed")]
        assert {row["id"] for row in kept["decisions"]} == {decision, stopped}
        assert [row["id"] for row in kept["mode_settings"]] == ["ed1"]
        assert "digest" not in kept["tokens"][0]
        assert kept["users"][0]["name"] == "ed"
        assert ed.delete("/users/ed/data").json()["deleted"]["decisions"] == 2
        assert ed.get(f"/decisions/{decision}").status_code == 404
        until(lambda: ed.get("/exceptions").json()["items"] == [])
        until(lambda: not any(one["enabled"] for one in ed.get("/policies").json()["rules"] if "pkill" in one["id"]))
        again = ed.get("/users/ed/export").json()["kept"]
        assert again["decisions"] == again["mode_settings"] == []
        assert [row["action"] for row in again["audit"]][-1] == "user.delete-data"
        assert [ed.request(*call).status_code for call in
                (("GET", "/users/dora/export"), ("DELETE", "/users/dora/data"))] == [404, 404]  # fmt: skip


def test_the_same_session_id_of_two_users_is_two_sessions(server, admin):
    (first, _), (second, _) = made(server, admin, "ann"), made(server, admin, "bob")
    edit = {"session_id": "shared", "tool_name": "Edit", "tool_input": {"file_path": "a", "old_string": "b"}}
    with bearer(server, first) as ann, bearer(server, second) as bob:
        ann.put("/mode", json={"scope": "session", "id": "shared", "enabled": True, "level": "strict"})
        assert ann.post("/pre-tool-use", json=edit).json()["decision"] == "block"
        made_here = bob.post("/pre-tool-use", json=edit | {"tool_use_id": "t1"}).json()
        assert made_here["decision"] == "allow"
        again = ann.post("/pre-tool-use", json=edit | {"tool_use_id": "t1"}).json()
        assert again["decision_id"] != made_here["decision_id"]


def test_the_command_line_makes_lists_and_revokes(server, tmp_path):
    env = server.env | {"HOME": str(tmp_path), "BATON_URL": server.url, "BATON_TOKEN": server.texts[0]}

    def baton(*words, **more):
        found = forge.run(words, env=env | more)
        assert "Traceback" not in found.stderr
        return found

    assert baton("team", "add", "data").returncode == 0
    answer = json.loads(baton("token", "create", "--user", "cli", "--expires", "90d", "--json").stdout)
    server.texts.append(answer["text"])
    assert answer["token"]["expires_at"]
    listed = json.loads(baton("token", "list", "--user", "cli", "--json").stdout)
    assert [one["id"] for one in listed] == [answer["token"]["id"]]
    assert baton("status", BATON_TOKEN=answer["text"]).returncode == 0
    assert "for cli in" in baton("mode", "enable", BATON_TOKEN=answer["text"]).stdout
    assert "for you in" in baton("mode", "status", BATON_TOKEN=answer["text"]).stdout
    unknown = baton("user", "set", "cli", "--team", "date")
    assert unknown.returncode == 1
    assert "did you mean `data`?" in unknown.stderr
    assert baton("user", "set", "cli", "--team", "data").returncode == 0
    assert {"cli", "data"} <= set(baton("user", "list").stdout.split())
    assert baton("token", "revoke", answer["token"]["id"], "--reason", "lost").returncode == 0
    refused = baton("doctor", BATON_TOKEN=answer["text"])
    assert refused.returncode == 1
    assert "the server does not know you" in refused.stdout
    assert "baton/config" in refused.stdout
    assert "90d" in baton("token", "create", "--user", "x", "--expires", "soon").stderr
    assert "--yes" in baton("user", "delete-data", "cli").stderr
    assert baton("user", "delete-data", "cli", "--yes").returncode == 0


def test_no_secret_is_in_the_log_the_answers_or_the_audit(server, admin):
    answers = admin.get("/tokens").text + admin.get("/users/root/export").text + admin.get("/status").text
    log = (server.home.parent / f"{server.home.name}.log").read_text()
    secrets = [text.rpartition("_")[2] for text in server.texts]
    assert not [secret for secret in secrets if secret in answers or secret in log]
    (database,) = server.home.glob("baton.db")
    kept = database.read_bytes() + (server.home / "baton.db-wal").read_bytes()
    assert not [secret for secret in secrets if secret.encode() in kept]


CALLS = ["/pre-tool-use", "/post-tool-use", "/session-start", "/session-end", "/route"]


@pytest.mark.parametrize("path", CALLS)
def test_an_auditor_has_no_agents(server, admin, path):
    text, _ = made(server, admin, "ava", "auditor")
    with bearer(server, text) as ava:
        answer = ava.post(path, json=CALL | {"prompt": "p"})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert "`auditor` may not do `calls.make`" in answer.json()["detail"]
        assert ava.post("/policies/evaluate", json=CALL).status_code == 200


@pytest.mark.parametrize("failure", ["allow", "block"])
def test_a_hook_of_an_auditor_gets_the_failure_answer(server, admin, failure):
    text, _ = made(server, admin, "ava", "auditor")
    with bearer(server, text, **{"Baton-On-Failure": failure}) as http:
        answer = http.post("/hooks/claude-code", json=EVENT | {"session_id": f"auditor-{failure}"})
    assert (answer.status_code, answer.headers["baton-degraded"]) == (200, "token")
    assert ("deny" in answer.text) == (failure == "block")
    assert "`auditor` may not do `calls.make`" in answer.text
    assert admin.get("/status").json()["hook_failures"][f"claude-code {failure} forbidden"] == 1


def raw(server, path, size):
    """Announce a body of that size, send none of it, and give the answer that comes all the same."""
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode())
        return connection.recv(65_536).decode()


@every("path", ["/pre-tool-use", "/session-start", "/route", "/policies/evaluate", "/tokens"])
def test_a_caller_without_a_token_is_refused_before_the_body_is_read(server, path):
    assert " 401 " in raw(server, path, 1 << 20).splitlines()[0]


@pytest.mark.parametrize("size", [1_000, 2_000_000])
def test_of_a_refused_hook_no_more_than_a_mebibyte_is_read_and_a_larger_call_is_refused(server, size):
    with server.client() as http:
        answer = http.post("/hooks/claude-code?event=PreToolUse", json=EVENT | {"more": "x" * size}).json()
    assert answer.get("hookSpecificOutput", {}).get("permissionDecision") == ("deny" if size > 1_000 else None)


def test_a_body_without_a_json_type_is_refused_with_the_remedy(admin):
    answer = admin.put("/teams/web", content=b'{"reason": "r"}', headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_json")
    assert "`Content-Type: application/json`" in answer.json()["detail"]


@pytest.mark.parametrize(("path", "key"), [("/tokens", "id"), ("/users", "name")])
def test_lists_are_paged_without_loss_while_they_grow(server, admin, path, key):
    for number in range(3):
        made(server, admin, f"paged-{number}")
    whole = [one[key] for one in admin.get(path, params={"limit": 200}).json()["items"]]
    found, cursor = [], ""
    while cursor is not None:
        page = admin.get(path, params={"limit": 5, "cursor": cursor}).json()
        found += [one[key] for one in page["items"]]
        cursor = page.get("next_cursor")
        made(server, admin, f"a-new-one-{len(found)}")
    assert [one for one in found if one in whole] == whole
    assert len(found) == len(set(found))
    assert admin.get(path, params={"cursor": "AAAA"}).status_code == 422


@pytest.mark.parametrize("name", ["a/b", "..", " root", "a\nb", " "])
def test_a_name_unusable_in_a_path_is_refused(admin, name):
    for field, body in (("user", {"user": name}), ("team", {"user": "fine", "team": name})):
        answer = admin.post("/tokens", json=body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert admin.put("/users/fine", json={"team": name}).status_code == 422


def test_a_disabled_user_who_is_moved_stays_disabled(server, admin):
    text, _ = made(server, admin, "left", team="web", reason="new here")
    (entry,) = admin.get("/audit", params={"kind": "token", "limit": 1}).json()["items"]
    assert entry["reason"] == "new here"
    assert admin.put("/users/left", json={"disabled": True}).json()["disabled_at"]
    assert admin.put("/teams/data", json={}).status_code == 200
    assert admin.put("/users/left", json={"team": "data"}).json()["disabled_at"]
    with bearer(server, text) as left:
        assert "run `baton user set left --enabled`" in left.get("/mode").json()["detail"]
        assert "disabled_at" not in admin.put("/users/left", json={"disabled": False}).json()
        assert left.get("/mode").status_code == 200


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        ("/users/uma", {"team": "web"}, {"team": "data"}),
        (
            "/projects",
            {"name": "github.com/acme/shop", "team": "web"},
            {"name": "github.com/acme/shop", "team": "data"},
        ),
        ("/teams/default/settings", {"keep_prompts": True}, {"keep_prompts": False}),
    ],
)
def test_a_stale_replacement_is_refused(admin, path, first, second):
    for team in ("web", "data"):
        assert admin.put(f"/teams/{team}", json={}).status_code == 200
    made = admin.put(path, json=first)
    assert made.status_code == 200
    changed = admin.put(path, json=second, headers={"If-Match": made.headers["ETag"]})
    assert changed.status_code == 200
    refused = admin.put(path, json=first, headers={"If-Match": made.headers["ETag"]})
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    assert changed.headers["ETag"] in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/tokens", {"user": "newcomer", "team": "wbe"}),
        ("PUT", "/users/newcomer", {"team": "webb"}),
        ("PUT", "/projects", {"name": "newcomer", "team": "weeb"}),
    ],
)
def test_an_unknown_team_is_refused_with_a_suggestion(admin, method, path, body):
    assert admin.put("/teams/web", json={}).status_code == 200
    answer = admin.request(method, path, json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "team"
    assert error["message"].startswith(f"is `{body['team']}`, which is no team; did you mean ")
    assert "`web`" in error["message"]
    assert body["team"] not in [team["name"] for team in admin.get("/teams").json()["items"]]
    assert admin.get("/users/newcomer").status_code == 404
    assert admin.put(f"/teams/{body['team']}", json={}).status_code == 200  # on purpose
    assert admin.request(method, path, json=body).is_success
    admin.delete("/users/newcomer")


def test_tokens_and_their_audit_entries_show_the_team(server, admin):
    _, token = made(server, admin, "tina", team="data")
    (listed,) = admin.get("/tokens", params={"user": "tina"}).json()["items"]
    assert listed["team"] == "data"
    assert admin.delete(f"/tokens/{token}").status_code == 204
    entries = admin.get("/audit", params={"kind": "token", "object": token}).json()["items"]
    assert [(one["action"], (one["after"] | one["before"])["team"]) for one in entries] == [
        ("token.revoke", "data"),
        ("token.create", "data"),
    ]


@pytest.mark.parametrize(
    ("shown", "put", "body"),
    [
        ("/users/eta", "/users/eta", {"disabled": False}),
        ("/teams/default", "/teams/default/settings", {"keep_prompts": False}),
        ("/retention", "/retention", {"decisions_days": 365, "reports_days": 365, "audit_days": 1095}),
        ("/mode", "/mode", {"scope": "user", "enabled": True}),
    ],
)
def test_a_replaceable_object_is_read_with_its_etag(admin, shown, put, body):
    if put == "/users/eta":
        assert admin.put(put, json=body).status_code == 200
    for _ in range(2):
        etag = admin.get(shown).headers["ETag"]
        assert admin.put(put, json=body, headers={"If-Match": '"another"'}).status_code == 412
        replaced = admin.put(put, json=body, headers={"If-Match": etag})
        assert replaced.status_code == 200, replaced.text
    assert admin.get(shown).headers["ETag"] == replaced.headers["ETag"]


def test_a_listed_project_has_its_etag(admin):
    assert admin.put("/teams/web", json={}).status_code == 200
    stored = admin.put("/projects", json={"name": "github.com/acme/tagged", "team": "web"})
    (listed,) = [one for one in admin.get("/projects").json()["items"] if one["name"] == "github.com/acme/tagged"]
    assert listed["etag"] == stored.headers["ETag"]
