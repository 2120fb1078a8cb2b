"""Approvals over real HTTP: a refused act passes once after a person's word, and nothing else does."""

import json
import subprocess
from datetime import datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.decide.approvals import act_of
from baton.people.approvals import Approval, may_answer
from baton.rules.call.call import Principal, ToolCall
from tests.support.server import BATON, serving, until

ASKED = "docker run -v /:/host alpine touch /host/x"
CANNOT_ASK = ("codex", "gemini", "opencode", "cursor")


@pytest.fixture
def session():
    return uuid4().hex


def act(http, session, command=ASKED, client="codex", cwd="/repo", **more):
    """Ask about a shell line as a client does, and return the verdict's word, its text and the request's id."""
    event = {
        "session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": uuid4().hex,
        "cwd": cwd, "tool_input": {"command": command} | more,
    }  # fmt: skip
    text = http.post(f"/hooks/{client}?event=PreToolUse", json=event).text
    found = next((word.strip("`,.") for word in text.replace("`", " ").split() if word.startswith("apr_")), "")
    return ("deny" if "deny" in text or '"block"' in text else "allow"), text, found


def span(shown):
    """Return the seconds from a request's start to its end."""
    return (datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(shown["created_at"])).total_seconds()


def waiting(http, session):
    return [one for one in http.get("/approvals").json()["items"] if one["session_id"] == session]


def test_an_approved_act_passes_once(http, session):
    verdict, text, request = act(http, session)
    assert verdict == "deny"
    assert f"baton approve {request}" in text
    assert act(http, session)[2] == request  # the same act again makes no second request
    (shown,) = waiting(http, session)
    assert shown["id"] == request
    assert ASKED in shown["input"]
    assert [ASKED[start:end] for start, end in shown["risky"]] == ["touch /host/x"]
    assert shown["reason"].startswith("`docker run")
    assert "Codex" not in shown["reason"]
    assert shown["may_answer"]
    assert http.post(f"/approvals/{request}", json={"answer": "allow"}).json()["state"] == "approved"
    assert waiting(http, session) == []
    assert act(http, session, description="in other words")[0] == "allow"
    verdict, _, second = act(http, session)
    assert verdict == "deny"
    assert second not in {"", request}


@pytest.mark.slow("starts a desktop")
def test_following_shows_a_new_request_on_the_desktop_and_in_the_terminal(server, http, session, tmp_path):
    shown, notify = tmp_path / "shown", tmp_path / "notify-send"
    notify.write_text(f'#!/bin/sh\necho "$4" >> {shown}\n')
    notify.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/bin:/usr/bin", "DISPLAY": ":0", "HOME": str(tmp_path)}
    env |= {"BATON_URL": server.url, "BATON_TOKEN": server.token}
    with subprocess.Popen([BATON, "approvals", "--follow"], env=env, stdout=subprocess.PIPE, text=True) as following:
        try:
            following.stdout.readline()  # what waited before
            request = act(http, session, command=f"{ASKED}-followed")[2]
            until(lambda: shown.exists() and f"{ASKED}-followed" in shown.read_text())
            assert request in next(line for line in following.stdout if session in line)
        finally:
            following.terminate()


OTHERS = [{"command": f"{ASKED}-2"}, {"command": f"sudo {ASKED}"}, {"cwd": "/other"}, {"run_in_background": True}]


@pytest.mark.parametrize("change", OTHERS, ids=[next(iter(one)) + str(n) for n, one in enumerate(OTHERS)])
def test_an_approval_fits_no_other_act(http, session, change):
    request = act(http, session)[2]
    http.post(f"/approvals/{request}", json={"answer": "allow"}).raise_for_status()
    assert act(http, session, **change)[0] == "deny"
    assert act(http, uuid4().hex)[0] == "deny"
    assert act(http, session)[0] == "allow"


def test_a_denial_reaches_the_agent_with_the_person_s_words(http, session):
    request = act(http, session)[2]
    http.post(f"/approvals/{request}", json={"answer": "deny", "reason": "wait for the tag"}).raise_for_status()
    verdict, text, _ = act(http, session)
    assert verdict == "deny"
    assert "wait for the tag" in text


def test_the_other_answer_and_an_unknown_request_are_errors(http, session):
    request = act(http, session)[2]
    for _ in range(2):
        assert http.post(f"/approvals/{request}", json={"answer": "deny"}).status_code == 200
    assert http.post(f"/approvals/{request}", json={"answer": "allow"}).status_code == 409
    assert http.post("/approvals/apr_none", json={"answer": "allow"}).status_code == 404
    assert http.post(f"/approvals/{request}", json={"answer": "perhaps"}).status_code == 422


def test_a_client_that_can_ask_asks(http, session):
    event = {
        "session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/repo",
        "tool_input": {"command": ASKED},
    }  # fmt: skip
    answer = http.post("/hooks/claude-code", json=event).json()
    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert waiting(http, session) == []


def test_secrets_of_an_act_are_masked(http, session):
    key = "ghp_" + "aB3" * 12
    act(http, session, command=f"GITHUB_TOKEN={key} {ASKED}")
    (shown,) = waiting(http, session)
    assert key not in json.dumps(shown)
    assert "[masked:" in shown["command"]


def test_a_session_has_no_more_than_fifty_requests(http, session):
    for n in range(51):
        _, text, request = act(http, session, command=f"{ASKED}-{n}")
    assert request == ""
    assert "No request could be made" in text
    assert len(waiting(http, session)) == 50


RULE = """
id: team/deploys
description: The lead approves deploys.
match: {shell: {program: deploy}}
decision: ask
approvers: [lead]
expires: 5m
reason: Deploys need the lead.
tests: {match: [deploy prod], not_match: [make]}
"""


def test_a_lead_answers_where_the_rule_names_the_lead(tmp_path, session):
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        texts = {"admin": (server.home / "admin-token").read_text().strip()}

        def of(user):
            return server.client(Authorization=f"Bearer {texts[user]}")

        with of("admin") as admin:
            admin.put("/teams/web", json={}).raise_for_status()
            for user, role in (("ann", "developer"), ("lea", "lead")):
                body = {"user": user, "role": role, "team": "web"}
                texts[user] = admin.post("/tokens", json=body).json()["text"]
            where = "/policies/layers/team?name=web&activate=true"
            admin.put(where, json={"files": {"team/deploys.yaml": RULE}}).raise_for_status()
        with of("ann") as ann, of("lea") as lea:
            verdict, text, made = act(ann, session, "deploy prod", client="claude-code")
            assert verdict == "deny"  # a question at the keyboard would be answered by the developer
            assert "your team's lead" in text
            assert ann.post(f"/approvals/{made}", json={"answer": "allow"}).status_code == 403
            (shown,) = waiting(lea, session)
            assert (shown["kind"], shown["may_answer"], span(shown)) == ("session", True, 300)
            assert lea.post(f"/approvals/{made}", json={"answer": "allow"}).json()["decided_by"] == "lea"
            assert act(ann, session, "deploy prod", client="claude-code")[0] == "allow"
            assert act(ann, session, "deploy prod", client="claude-code")[0] == "deny"


def test_a_second_rule_for_the_user_does_not_answer_for_the_lead(tmp_path, session):
    own = RULE.replace("team/deploys", "team/a-own").replace("[lead]", "[self]").replace("expires: 5m\n", "")
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as admin:
            body = {"files": {"team/deploys.yaml": RULE, "team/a-own.yaml": own}}
            admin.put("/policies/layers/organisation?activate=true", json=body).raise_for_status()
            verdict, text, made = act(admin, session, "deploy prod", client="claude-code")
            assert verdict == "deny"
            assert "your team's lead" in text
            assert admin.post(f"/approvals/{made}", json={"answer": "allow"}).status_code == 403


def request(**given):
    names = dict.fromkeys(Approval.__struct_fields__, "") | {
        "id": "a", "user": "ann", "team": "web", "approvers": "self", "state": "waiting", "created_at": None, "expires_at": None,
    }  # fmt: skip
    return Approval(**names | given)


@pytest.mark.parametrize(
    ("approvers", "user", "role", "team", "answers"),
    [
        ("self", "ann", "developer", "web", True),
        ("self", "bob", "developer", "web", False),
        ("self", "root", "admin", "", False),
        ("lead", "ann", "lead", "web", False),  # the requester is no other person
        ("lead", "lea", "lead", "web", True),
        ("lead", "leo", "lead", "data", False),
        ("lead", "root", "admin", "", True),
        ("lead", "bob", "developer", "web", False),
        ("self lead", "ann", "developer", "web", True),
        ("user:bob", "bob", "developer", "data", True),
        ("user:bob", "lea", "lead", "web", False),
        ("user:ann", "ann", "developer", "web", False),
        ("role:auditor", "aud", "auditor", "", True),
    ],
)
def test_who_may_answer(approvers, user, role, team, answers):
    assert may_answer(Principal(user=user, role=role, team=team), request(approvers=approvers)) is answers


INPUTS = st.dictionaries(st.sampled_from(["command", "description", "timeout", "x"]), st.text(max_size=8), max_size=4)
ACTS = st.fixed_dictionaries(
    {
        "tool_name": st.sampled_from(["Bash", "Write", "mcp__x__y"]),
        "tool_input": INPUTS,
        "cwd": st.sampled_from(["/a", "/b"]),
        "project": st.sampled_from(["p", "q"]),
        "agent_id": st.sampled_from(["", "agent"]),
        "rules": st.sets(st.sampled_from(["r/1", "r/2"]), min_size=1),
        "approvers": st.sampled_from([("self",), ("lead",), ("self", "lead")]),
        "revision": st.sampled_from(["r1", "r2"]),
    }
)


def digest(rules, approvers, revision, **fields):
    call = ToolCall(client="codex", session_id="s", **fields)
    return act_of(call, [*sorted(rules), *approvers, revision], is_shell=call.tool_name == "Bash")


def compared(one):
    """Return an act without the words of a shell line that may differ."""
    free = {"description", "timeout"} if one["tool_name"] == "Bash" else set()
    return one | {"tool_input": {key: value for key, value in one["tool_input"].items() if key not in free}}


@given(ACTS, ACTS, st.sets(st.sampled_from(["tool_name", "tool_input", "cwd", "rules", "approvers", "revision"])))
def test_two_acts_have_one_digest_only_if_they_are_the_same(one, other, copied):
    other = other | {key: one[key] for key in copied}
    assert (digest(**one) == digest(**other)) == (compared(one) == compared(other))


@given(ACTS, st.data())
def test_each_changed_character_makes_another_act(one, data):
    key = data.draw(st.sampled_from(["command", "x"]))
    value = data.draw(st.text(max_size=20))
    place = data.draw(st.integers(0, len(value)))
    longer = value[:place] + data.draw(st.characters(codec="utf-8")) + value[place:]
    one = one | {"tool_input": one["tool_input"] | {key: value}}
    assert digest(**one) != digest(**one | {"tool_input": one["tool_input"] | {key: longer}})


def test_of_a_tool_that_is_no_shell_an_approval_fits_no_other_words():
    one = {
        "tool_input": {"command": "send", "description": "to ann"}, "tool_name": "mcp__x__y", "rules": {"r/1"},
        "approvers": ("self",), "revision": "r1",
    }  # fmt: skip
    assert digest(**one) != digest(**one | {"tool_input": {"command": "send", "description": "to all"}})
