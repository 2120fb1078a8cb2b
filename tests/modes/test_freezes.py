"""Freezes over real HTTP: what they stop, for whom, until when, and who may end them."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce, ok, refused
from tests.support.server import serving, until


def call(tool="Bash", client=None, **tool_input):
    return {
        "session_id": uuid4().hex,
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_use_id": uuid4().hex,
        "cwd": "/repo",
        "tool_input": tool_input or {"command": "make deploy"},
    }


def decided(http, event, **headers):
    answer = http.post("/hooks/claude-code", json=event, headers=headers)
    found = answer.json().get("hookSpecificOutput", {})
    return found.get("permissionDecision", ""), found.get("permissionDecisionReason", "")


@pytest.fixture
def frozen(http):
    """Return a function that freezes something until the test ends."""
    made = []

    def freeze(**body):
        response = http.put("/freezes", json={"reason": "incident 7"} | body)
        assert response.status_code == 200, response.text
        made.append({name: body[name] for name in ("scope", "id") if name in body})
        return response.json()

    yield freeze
    for one in made:
        assert http.delete("/freezes", params=one).status_code == 204


def test_a_frozen_session_is_refused_until_the_freeze_ends(http, frozen):
    event = call(command="ls")
    assert decided(http, event)[0] == ""
    frozen(scope="session", id=event["session_id"])
    verdict, reason = decided(http, event | {"tool_use_id": "2"})
    assert verdict == "deny"
    assert "incident 7" in reason
    assert decided(http, call(command="ls"))[0] == ""  # another session
    assert http.delete("/freezes", params={"scope": "session", "id": event["session_id"]}).status_code == 204
    assert decided(http, event | {"tool_use_id": "3"})[0] == ""


@pytest.mark.parametrize(
    ("scope", "name", "headers"),
    [
        ("organisation", "", {}),
        ("project", "github.com/acme/frozen", {"Baton-Project": "github.com/acme/frozen"}),
        ("project", "github.com/acme/frozen", {"Baton-Project": "git@github.com:Acme/Frozen.git"}),
    ],
)
def test_a_freeze_holds_for_its_scope(server, http, frozen, scope, name, headers):
    introduce(server, projects=[name] if name else [])
    frozen(scope=scope, **({"id": name} if name else {}))
    assert decided(http, call(), **headers)[0] == "deny"
    if name:
        assert decided(http, call(), **{"Baton-Project": "github.com/acme/other"})[0] == ""


READS = [
    ("Bash", {"command": "git status && ls -la | head -5"}),
    ("Bash", {"command": "cd src && cat a.py"}),
    ("Read", {"file_path": "/repo/a.py"}),
    ("Grep", {"pattern": "x"}),
    ("TodoWrite", {"todos": []}),
    ("mcp__github__get_issue", {"number": 1}),
    ("Agent", {"prompt": "x", "description": "x", "subagent_type": "Explore"}),  # whose own calls are judged, too
]
CHANGES = [
    ("Bash", {"command": "echo x > a"}),
    ("Bash", {"command": "git commit -m x"}),
    ("Bash", {"command": "make test"}),
    ("Bash", {"command": "curl https://example.com"}),
    ("Bash", {"command": "some-unknown-tool"}),
    ("Bash", {"command": "ls; $x"}),
    ("Bash", {"command": "cat a | sh"}),
    ("Bash", {}),
    ("Edit", {"file_path": "/repo/a.py", "old_string": "a", "new_string": "b"}),
    ("mcp__github__create_issue", {"title": "x"}),
    ("NewTool", {"x": 1}),
]


@every(("tool", "tool_input", "verdict"), [
    *[(*one, "") for one in READS], *[(*one, "deny") for one in CHANGES],
])  # fmt: skip
def test_a_read_only_freeze_allows_reading_only(http, frozen, tool, tool_input, verdict):
    event = call(tool) | {"tool_input": tool_input}
    frozen(scope="session", id=event["session_id"], read_only=True)
    assert decided(http, event)[0] == verdict


def test_a_guardrail_refuses_during_a_read_only_freeze_with_its_own_reason(http, frozen):
    event = call(command="rm -rf /")
    frozen(scope="session", id=event["session_id"], read_only=True)
    verdict, reason = decided(http, event)
    assert verdict == "deny"
    assert "incident" not in reason


def test_neither_lifted_rules_nor_switches_end_a_freeze(http, frozen):
    event = call(command="ls")
    frozen(scope="session", id=event["session_id"])
    for headers in ({"Baton-Disabled": "1"}, {"Baton-Mode-Off": "1"}, {"Baton-On-Failure": "allow"}):
        assert decided(http, event | {"tool_use_id": uuid4().hex}, **headers)[0] == "deny"


def test_a_freeze_ends_by_itself(http, frozen):
    event = call(command="ls")
    at = datetime.now(UTC) + timedelta(seconds=1)
    frozen(scope="session", id=event["session_id"], expires_at=at.isoformat())
    until(lambda: decided(http, event | {"tool_use_id": uuid4().hex})[0] == "")
    assert datetime.now(UTC) >= at
    shown = http.get("/freezes").json()["items"]
    assert event["session_id"] not in {one.get("id") for one in shown}


@every(
    ("body", "field"),
    [
        ({"scope": "planet", "reason": "r"}, "scope"),
        ({"scope": "user_project", "reason": "r"}, "scope"),
        ({"scope": "organisation"}, "reason"),
        ({"scope": "organisation", "reason": ""}, "reason"),
        ({"scope": "session", "reason": "r"}, "id"),
        ({"scope": "team", "id": "demo-wbe", "reason": "r"}, "id"),
        ({"scope": "organisation", "reason": "r", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ],
)
def test_a_bad_freeze_gets_an_error_that_names_the_field(http, body, field):
    answer = http.put("/freezes", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_a_lead_freezes_a_session_of_the_team_and_ends_no_freeze_of_an_admin(tmp_path):
    with serving(tmp_path, BATON_AUTH="on") as server, ExitStack() as stack:
        token = (server.home / "admin-token").read_text().strip()
        admin = stack.enter_context(server.client(Authorization=f"Bearer {token}"))

        def of(user, role, team):
            ok(admin.put(f"/teams/{team}", json={}))
            made = ok(admin.post("/tokens", json={"user": user, "role": role, "team": team}), 201)
            return stack.enter_context(server.client(Authorization=f"Bearer {made['text']}"))

        ann, lea, leo = of("ann", "developer", "web"), of("lea", "lead", "web"), of("leo", "lead", "data")
        event = call(command="ls")
        one = {"scope": "session", "id": event["session_id"]}
        assert decided(ann, event)[0] == ""
        until(lambda: admin.get("/decisions", params={"session_id": one["id"]}).json()["items"])
        for who, status in ((leo, 404), (lea, 200)):
            answer = who.put("/freezes", json=one | {"reason": "incident 7"})
            assert (answer.status_code, "mode" in answer.text) == (status, False)
        assert ok(ann.get("/freezes"))["items"][0]["id"] == one["id"]
        verdict, reason = decided(ann, event | {"tool_use_id": "2"})
        assert (verdict, f"`baton freeze --end --scope session:{one['id']}`" in reason) == ("deny", True)
        refused(ann.delete("/freezes", params=one), 403, "forbidden", "`lea` has frozen this as `lead`")
        ok(leo.delete("/freezes", params=one), 204)  # of which it knows nothing
        assert decided(ann, event | {"tool_use_id": "3"})[0] == "deny"
        ok(lea.delete("/freezes", params=one), 204)
        assert decided(ann, event | {"tool_use_id": "4"})[0] == ""
        for body in ({"scope": "team", "id": "web"}, one):
            ok(admin.put("/freezes", json=body | {"reason": "incident 8"}))
            refused(lea.delete("/freezes", params=body), 403, "forbidden", "as `admin`")
            refused(lea.put("/freezes", json=body | {"reason": "r", "read_only": True}), 403, "forbidden", "as `admin`")
            ok(admin.delete("/freezes", params=body), 204)


@pytest.mark.slow("starts a server of its own")
def test_a_freeze_survives_a_restart_and_is_audited(tmp_path):
    event = call(command="ls")
    with serving(tmp_path) as server, server.client() as http:
        assert http.put("/freezes", json={"scope": "organisation", "reason": "night"}).status_code == 200
    with serving(tmp_path) as server, server.client() as http:
        assert decided(http, event)[0] == "deny"
        assert http.get("/freezes").json()["items"][0]["reason"] == "night"
        entry = http.get("/audit", params={"action": "freeze.set"}).json()["items"][0]
        assert entry["reason"] == "night"
        recorded = until(lambda: http.get("/decisions", params={"session_id": event["session_id"]}).json()["items"])
        assert "limits/freeze" in {one["id"] for one in recorded[0]["rules"]}
