"""Hooks without a valid token: decided by the guardrails and the organisation's rules, and nothing of a user is touched."""

import pytest

from baton.people.rate_limits import UNKNOWN_PER_MINUTE
from tests.support.cases import every
from tests.support.server import served, serving

RULE = """\
id: team/no-deploy
description: Nobody deploys.
match: {shell: {program: deploy}}
decision: deny
reason: Deploying is not for agents.
tests: {match: [deploy now], not_match: [ls]}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("strangers") / "home", BATON_AUTH="on") as running:
        running.admin = (running.home / "admin-token").read_text().strip()
        with running.client(Authorization=f"Bearer {running.admin}") as admin:
            admin.put("/teams/web", json={})
            ls = RULE.replace("deploy", "ls").replace("[ls]", "[pwd]")
            for where, files in (("organisation?", {"no-deploy.yaml": RULE}), ("team?name=web&", {"no-ls.yaml": ls})):
                body = {"files": {f"team/{name}": text for name, text in files.items()}}
                answer = admin.put(f"/policies/layers/{where}activate=true", json=body)
                assert answer.status_code == 200, answer.text
        yield running


@pytest.fixture
def admin(server):
    with server.client(Authorization=f"Bearer {server.admin}") as http:
        yield http


def revoked(admin, user="rita"):
    made = admin.post("/tokens", json={"user": user, "role": "developer", "team": "web"}).json()
    assert admin.delete(f"/tokens/{made['token']['id']}").status_code == 204
    return made["text"]


def event(name, session, **more):
    return {"session_id": session, "hook_event_name": name, "cwd": "/home/dev/shop", **more}


def call(line, session, tool="Bash"):
    return event("PreToolUse", session, tool_name=tool, tool_input={"command": line})


SENT = {"revoked": None, "unknown": f"Bearer baton_{'0' * 12}_{'0' * 64}", "nonsense": "Basic eA==", "none": ""}
LINES = [
    ("rm -rf /", "deny"),
    ("echo 'never closed", "ask"),
    ("deploy now", "deny"),  # the organisation's own rule
    ("ls", None),  # a rule of the developer's team, which is not known
    ("git status", None),
]


@pytest.mark.parametrize("sent", SENT)
def test_a_call_without_a_valid_token_is_decided_by_guardrails_and_the_organisation(server, admin, sent):
    header = SENT[sent] if SENT[sent] is not None else f"Bearer {revoked(admin)}"
    off = {"Baton-Disabled": "1", "Baton-Orchestrator-Disabled": "1", "Baton-Accept-Rewrites": "*"}
    before = admin.get("/decisions").json()["items"]
    with server.client(**off, **({"Authorization": header} if header else {})) as http:
        for line, wanted in LINES:
            answer = http.post("/hooks/claude-code?event=PreToolUse", json=call(line, f"lines-{sent}"))
            assert answer.status_code == 200
            assert answer.headers["baton-degraded"] == "token"
            specific = answer.json().get("hookSpecificOutput", {})
            assert specific.get("permissionDecision") == wanted, line
            assert set(specific) <= {"hookEventName", "permissionDecision", "permissionDecisionReason"}
        agent = event("PreToolUse", "lines", tool_name="Agent", tool_input={"subagent_type": "Explore", "prompt": "p"})
        assert "updatedInput" not in http.post("/hooks/claude-code", json=agent).text
        assert http.post("/pre-tool-use", json=call("ls", "x")).status_code == 401
    assert admin.get("/decisions").json()["items"] == before


def test_a_disabled_user_s_call_is_decided(server, admin):
    made = admin.post("/tokens", json={"user": "dan", "role": "developer", "team": "web"}).json()
    assert admin.put("/users/dan", json={"disabled": True}).json()["disabled_at"]
    with server.client(Authorization=f"Bearer {made['text']}") as http:
        answer = http.post("/hooks/claude-code", json=call("rm -rf /", "dan")).json()
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


PROMPTS = {
    "claude-code": ("UserPromptSubmit", {"decision": "block"}),
    "codex": ("UserPromptSubmit", {"decision": "block"}),
    "gemini": ("BeforeAgent", {"decision": "deny"}),
    "qwen": ("UserPromptSubmit", {"decision": "block"}),
    "cursor": ("beforeSubmitPrompt", {"continue": False}),
}


@every("client", PROMPTS)
def test_a_prompt_is_refused_in_the_client_s_dialect(server, client):
    name, wanted = PROMPTS[client]
    with server.client() as http:
        answer = http.post(f"/hooks/{client}?event={name}", json=event(name, "p", prompt="fix it")).json()
    assert {key: answer.get(key) for key in wanted} == wanted
    assert "baton auth login" in str(answer)


@every("name", ["PostToolUse", "Stop", "SubagentStop", "SessionEnd", "Notification", "SessionStart"])
def test_events_without_refusals_are_not_refused(server, name):
    with server.client() as http:
        answer = http.post("/hooks/claude-code", json=event(name, f"n-{name}", tool_name="Bash")).json()
    assert set(answer) <= {"systemMessage"}


def test_the_person_is_notified_once_per_session_and_start(server):
    with server.client() as http:
        told = [
            "baton auth login" in http.post("/hooks/claude-code", json=one).json().get("systemMessage", "")
            for one in (
                call("ls", "once"),
                call("ls", "once"),
                call("ls", "other"),
                event("SessionStart", "once", source="resume"),
                call("ls", "once"),
            )
        ]
    assert told == [True, False, True, True, False]


@pytest.mark.slow("sends many calls")
def test_an_address_that_sends_too_many_calls_is_refused_them_and_others_are_served(tmp_path):
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client() as http:
            answers = [
                http.post("/hooks/claude-code", json=call("ls", "flood")).text for _ in range(UNKNOWN_PER_MINUTE + 5)
            ]
        with server.client(Authorization=f"Bearer {token}") as admin:
            assert admin.post("/hooks/claude-code", json=call("ls", "mine")).json() == {}
    assert "deny" not in answers[0]
    assert '"deny"' in answers[-1]
    assert "requests a minute" in answers[-1]
