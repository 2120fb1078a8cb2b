"""Approvals over real HTTP: a refused act passes once after a person's word, and nothing else does."""

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.decide.approvals import Approvals, act_of
from baton.kernel.base.errors import Conflict
from baton.kernel.changes.announce import Changes
from baton.people.approvals import Approval, may_answer
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import Verdict
from tests.hooks.shim import HOOKS
from tests.support.cases import every
from tests.support.examples import examples
from tests.support.forge import forge
from tests.support.server import BATON, served, serving, until

ASKED = "docker run -v /:/host alpine touch /host/x"
RECORDED = Path(__file__).parents[1] / "clients"
SHELL_CALLS = {
    "codex": ("PreToolUse-Bash", "00000000-0000-4000-8000-000000000001", "echo hi", "exec-00000000"),
    "gemini": ("BeforeTool.run_shell_command", "47755227-8913-410d-ba8f-ee0bdea6fb22", "echo SAFE > out.txt", "-"),
    "opencode": ("PreToolUse.bash", "ses_dfa74a84cffecnmPl0o7NMbAJn", "echo SAFE > out.txt", "call_0003_0"),
    "cursor": ("preToolUse.Shell", "74676b03-0001", "echo hello", "09dca0a5-0001"),
}
"""Of clients that cannot ask: a recorded call of the shell, its session, line and id."""


@pytest.fixture
def session():
    return uuid4().hex


def event_of(session, command, cwd="/repo", **more):
    return {
        "session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": uuid4().hex,
        "cwd": cwd, "tool_input": {"command": command} | more,
    }  # fmt: skip


def act(http, session, command=ASKED, client="codex", cwd="/repo", **more):
    """Ask about a shell line as a client does, and return the verdict's word, its text and the request's id."""
    event = event_of(session, command, cwd, **more)
    text = http.post(f"/hooks/{client}?event=PreToolUse", json=event).text
    found = next((word.strip("`,.") for word in text.replace("`", " ").split() if word.startswith("apr_")), "")
    return ("deny" if "deny" in text or '"block"' in text else "allow"), text, found


def span(shown):
    """Return the seconds from a request's start to its end."""
    return (datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(shown["created_at"])).total_seconds()


def waiting(http, session):
    return [one for one in http.get("/approvals").json()["items"] if one["session_id"] == session]


def test_a_headless_run_creates_a_request_only_if_a_layer_allows_it(patient, session):
    rule = RULE.replace("[lead]", "[self]").replace("deploy", "launch")
    texts, version = [], {}
    with patient.client() as http:
        http.put("/projects", json={"name": "ship", "team": "default"}).raise_for_status()
        for said in ("", "headless: request\n"):
            files = {"team/launchs.yaml": rule} | ({"config.yaml": said} if said else {})
            put = http.put("/policies/layers/project?name=ship&activate=true", json={"files": files}, headers=version)
            version = {"If-Match": put.raise_for_status().headers["ETag"]}
            for attended in ("", "headless"):
                here, about = f"{session}-{attended}-{bool(said)}", {"Baton-Project": "ship", "Baton-Models": attended}
                start = {"session_id": here, "hook_event_name": "SessionStart", "source": "startup", "cwd": "/repo"}
                http.post("/hooks/claude-code", json=start, headers=about).raise_for_status()
                event = event_of(here, "launch prod")
                said_of = http.post("/hooks/claude-code", json=event, headers={"Baton-Project": "ship"}).json()
                texts.append((said_of["hookSpecificOutput"]["permissionDecision"], len(waiting(http, here))))
    assert texts == [("ask", 0), ("ask", 0), ("ask", 0), ("deny", 1)]


def waiting_on(server, session):
    with server.client() as http:
        return waiting(http, session)


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


@pytest.mark.parametrize("client", SHELL_CALLS)
def test_in_each_dialect_without_a_question_an_ask_is_a_request(http, session, client):
    event = recorded_call(client, session)
    refused = http.post(f"/hooks/{client}?event=PreToolUse", json=event).text
    (shown,) = waiting(http, session)
    assert f"baton approve {shown['id']}" in refused
    assert "outside the agent" not in refused
    assert (shown["client"], shown["command"], shown["may_answer"]) == (client, ASKED, True)
    http.post(f"/approvals/{shown['id']}", json={"answer": "allow"}).raise_for_status()
    passed = http.post(f"/hooks/{client}?event=PreToolUse", json=recorded_call(client, session)).text
    assert "deny" not in passed


def recorded_call(client, session):
    """Return a client's recorded call of its shell, with another session, line and id."""
    name, its_session, line, call_id = SHELL_CALLS[client]
    text = json.dumps(json.loads((RECORDED / client / "payloads.json").read_text())[name])
    for old, new in ((call_id, uuid4().hex if call_id != "-" else "-"), (its_session, session), (line, ASKED)):
        assert old in text
        text = text.replace(old, new)
    return json.loads(text)


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
            assert "the team's lead" in text
            assert ann.post(f"/approvals/{made}", json={"answer": "allow"}).status_code == 403
            (shown,) = waiting(lea, session)
            assert (shown["kind"], shown["may_answer"], span(shown)) == ("session", True, 300)
            assert lea.post(f"/approvals/{made}", json={"answer": "allow"}).json()["decided_by"] == "lea"
            assert act(ann, session, "deploy prod", client="claude-code")[0] == "allow"
            assert act(ann, session, "deploy prod", client="claude-code")[0] == "deny"
            verdict, text, made = act(ann, "", "deploy prod", client="claude-code")
            assert (verdict, made, "No request could be made" in text) == ("deny", "", True)


def test_a_request_that_reached_no_approver_is_an_alarm_until_one_lists_it(tmp_path, session):
    with serving(tmp_path / "home", BATON_AUTH="on", BATON_WEBHOOK_HOSTS="127.0.0.1:1") as server, ExitStack() as stack:
        texts = {"admin": (server.home / "admin-token").read_text().strip()}

        def of(user):
            return stack.enter_context(server.client(Authorization=f"Bearer {texts[user]}"))

        def told(who):
            return [one.split(" ")[0] for one in who.get("/status").json()["unreached"]]

        admin = of("admin")
        for user, role, team in (("ann", "developer", "web"), ("lea", "lead", "web"), ("leo", "lead", "data")):
            admin.put(f"/teams/{team}", json={}).raise_for_status()
            texts[user] = admin.post("/tokens", json={"user": user, "role": role, "team": team}).json()["text"]
        files = {"team/deploys.yaml": RULE}
        admin.put("/policies/layers/organisation?activate=true", json={"files": files}).raise_for_status()
        ann, lea, leo = of("ann"), of("lea"), of("leo")
        for who in (ann, leo):
            waiting(who, session)  # neither may answer it
        _, text, made = act(ann, session, "deploy prod", client="claude-code")
        assert "Nobody who may approve" in text
        # A busy database lets /status and /metrics show what they showed before.
        until(lambda: [told(who) for who in (admin, ann, lea, leo)] == [[made], [made], [made], []])
        until(lambda: "baton_approvals_unreached 1.0" in admin.get("/metrics").text)
        env = os.environ | {"BATON_URL": server.url, "BATON_TOKEN": texts["ann"], "BATON_HOME": str(server.home)}
        assert f"nobody was told of request: {made} of ann, for lead" in forge.run(["status"], env=env).stdout
        hook = {"url": "http://127.0.0.1:1/", "topics": ["questions"]}
        kept = admin.post("/events/webhooks", json=hook).json()["id"]
        until(lambda: told(admin) == [])
        admin.delete(f"/events/webhooks/{kept}").raise_for_status()
        until(lambda: told(admin) == [made])
        waiting(lea, session)
        until(lambda: told(admin) == [])
        until(lambda: "baton_approvals_unreached 0.0" in admin.get("/metrics").text)
        assert "Nobody who" not in act(ann, session, "deploy test", client="claude-code")[1]


def test_a_second_rule_for_the_user_does_not_answer_for_the_lead(tmp_path, session):
    own = RULE.replace("team/deploys", "team/a-own").replace("[lead]", "[self]").replace("expires: 5m\n", "")
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as admin:
            body = {"files": {"team/deploys.yaml": RULE, "team/a-own.yaml": own}}
            admin.put("/policies/layers/organisation?activate=true", json=body).raise_for_status()
            verdict, text, made = act(admin, session, "deploy prod", client="claude-code")
            assert verdict == "deny"
            assert "the team's lead" in text
            assert admin.post(f"/approvals/{made}", json={"answer": "allow"}).status_code == 403


@pytest.fixture(scope="module")
def patient(tmp_path_factory):
    """A server on which calls wait for the person."""
    with served(tmp_path_factory.mktemp("patient")) as server:
        put_rule(server)
        yield server


def put_rule(server):
    rule = RULE.replace("[lead]", "[self]").replace("expires: 5m", "wait: 9m")
    with server.client() as person:
        body = {"files": {"team/deploys.yaml": rule}}
        person.put("/policies/layers/organisation?activate=true", json=body).raise_for_status()
        assert act(person, "first", "deploy prod")[0] == "deny"  # it reads the rules; a shim would not wait for that


ANSWERS = [("allow", lambda said: said == "{}"), ("deny", lambda said: "not on a friday" in said)]


@pytest.mark.parametrize(("answer", "is_right"), ANSWERS, ids=["approved", "denied"])
def test_a_hook_that_waits_asks_again_once_a_person_has_answered(patient, session, answer, is_right):
    event = event_of(session, "deploy prod")
    with patient.client() as http, patient.client() as other, ThreadPoolExecutor() as pool:
        first = http.post("/hooks/codex?event=PreToolUse", json=event)
        word, seconds, name = first.headers["Baton-Wants"].split(" ")
        assert (word, seconds, '"deny"' in first.text) == ("wait", "240", True)
        waiting_for = f"/hooks/codex?event=PreToolUse&about=wait+60+{name}"
        waited = pool.submit(other.post, waiting_for)
        assert http.post(waiting_for.replace("+60+", "+0+")).headers.get("Baton-Wants") is None
        body = {"answer": answer, "reason": "not on a friday"}
        http.post(f"/approvals/{name}", json=body).raise_for_status()
        assert waited.result().headers["Baton-Wants"] == "again"
        assert http.post(waiting_for).headers["Baton-Wants"] == "again"  # one that comes too late
        for _ in range(2):  # and a retry of the same call
            assert is_right(http.post("/hooks/codex?event=PreToolUse&about=again", json=event).text)
        assert '"deny"' in http.post("/hooks/codex?event=PreToolUse", json=event_of(session, "deploy prod")).text


def test_a_hook_of_another_s_request_or_of_none_does_not_wait(patient):
    with patient.client() as http:
        for about in ("wait+60+apr_none", "wait+x+apr_none", f"wait+{'9' * 5_000}+apr_none"):
            assert http.post(f"/hooks/codex?event=PreToolUse&about={about}", json={}).text == "{}"


@pytest.mark.slow("starts a server of its own")
def test_a_killed_server_keeps_the_request_of_a_hook_that_waits(tmp_path, session, shim_of):
    with serving(tmp_path / "home") as server:
        put_rule(server)
        ran = shim_of(server, event_of(session, "deploy prod"))
        name = until(lambda: waiting_on(server, session))[0]["id"]
        server.stop(signal.SIGKILL)
        assert f"baton approve {name}" in ran.communicate()[0]
    with serving(tmp_path / "home") as server, server.client() as http:
        http.post(f"/approvals/{name}", json={"answer": "allow"}).raise_for_status()
        assert act(http, session, "deploy prod")[0] == "allow"
        assert act(http, session, "deploy prod")[0] == "deny"


@pytest.mark.parametrize("shim", ["sh", "python"])
def test_the_shim_waits_and_prints_the_person_s_answer(patient, session, shim_of, shim):
    ran = shim_of(patient, event_of(session, "deploy prod"), shim)
    with patient.client() as http:
        name = until(lambda: waiting(http, session))[0]["id"]
        http.post(f"/approvals/{name}", json={"answer": "allow"}).raise_for_status()
    assert ran.communicate() == ("{}\n", "")


@pytest.mark.slow("starts a server of its own")
def test_a_stopping_server_answers_its_waiting_hooks(tmp_path, session, shim_of):
    with serving(tmp_path / "home") as server:
        put_rule(server)
        ran = shim_of(server, event_of(session, "deploy prod"))
        until(lambda: waiting_on(server, session))
        server.stop()
    assert "baton approve" in ran.communicate()[0]


@pytest.fixture
def shim_of(tmp_path):
    """Return a function that starts the hook of Codex for an event, with its input given."""
    started = []

    def start(server, event, shim="sh"):
        words = {"sh": ["sh", str(HOOKS / "baton-hook.sh")], "python": [BATON, "hook"]}[shim]
        env = {"HOME": str(tmp_path), "PATH": "/bin:/usr/bin", "CLAUDE_PROJECT_DIR": "/"}
        config = tmp_path / "config"
        config.write_text(f"BATON_URL={server.url}\n")
        given = tmp_path / f"event-{len(started)}"
        given.write_text(json.dumps(event))
        with given.open() as stdin:
            ran = subprocess.Popen(
                [*words, "codex", "PreToolUse", "wait", str(config)], env=env, stdin=stdin, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        started.append(ran)
        return ran

    yield start
    for ran in started:
        ran.kill()
        ran.communicate()


def request(**given):
    names = dict.fromkeys(Approval.__struct_fields__, "") | {
        "id": "a", "user": "ann", "team": "web", "approvers": "self", "state": "waiting", "created_at": None, "expires_at": None,
    }  # fmt: skip
    return Approval(**names | given)


@every(
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


OF_CALL, TERMS = ("tool_name", "tool_input", "cwd", "project", "agent_id"), ("rules", "approvers", "revision")


def digest(rules, approvers, revision, **fields):
    call = ToolCall(client="codex", session_id="s", **fields)
    return act_of(call, [*sorted(rules), *approvers, revision], is_shell=call.tool_name == "Bash")


def compared(one):
    """Return an act without the words of a shell line that may differ."""
    free = {"description", "timeout"} if one["tool_name"] == "Bash" else set()
    return one | {"tool_input": {key: value for key, value in one["tool_input"].items() if key not in free}}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("changed", [*OF_CALL, *TERMS])
@given(one=ACTS, other=ACTS)
def test_two_acts_have_one_digest_only_if_they_are_the_same(one, other, changed):
    other = one | {changed: other[changed]}
    assert (digest(**one) == digest(**other)) == (compared(one) == compared(other))


WHOSE = {"organisation": ["o", "p"], "user": ["ann", "bob"], "session_id": ["s", "t"]}
PLACES = {name: st.sampled_from(values) for name, values in WHOSE.items()}
PLACED = st.builds(lambda act, places: {key: act[key] for key in OF_CALL} | places, ACTS, st.fixed_dictionaries(PLACES))


@pytest.mark.matrix(2)
@pytest.mark.parametrize("changed", [*OF_CALL, *WHOSE])
@examples(25)
@given(one=PLACED, other=PLACED)
async def test_an_approval_passes_its_own_act_once_and_no_other(database, redis, shipped, one, other, changed):
    other, example = one | {changed: other[changed]}, uuid4().hex
    approvals = Approvals(database, Changes(redis, database, "o"), redis)

    async def tried(organisation, user, session_id, **fields):
        call = ToolCall(client="codex", session_id=f"{session_id} {example}", **fields)
        whose = Principal(organisation=organisation, user=user)
        verdict, _ = await approvals.weigh(whose, call, Verdict(effect="ask", reason="no"), shipped)
        return verdict.effect == "abstain" or verdict.reason

    request = re.search("apr_[0-9a-f]+", await tried(**one))[0]
    person = Principal(organisation=one["organisation"], user=one["user"])
    await approvals.answer(person, request, approve=True, reason="")
    is_same = compared(one) == compared(other)
    assert [await tried(**act) is True for act in (other, one, one, other)] == [is_same, not is_same, False, False]


@pytest.mark.parametrize(
    ("answered_at", "tried_at", "passes"), [(0, 59, True), (59, 118, True), (0, 61, False), (61, 61, None)]
)
async def test_a_request_and_its_approval_end_with_their_time(database, redis, shipped, answered_at, tried_at, passes):
    now, session = [datetime.now(UTC)], uuid4().hex
    approvals = Approvals(database, Changes(redis, database, "o"), redis, now=lambda: now[0])
    ann, start = Principal(organisation="o", user="ann"), now[0]
    call = ToolCall(client="codex", session_id=session, tool_name="Bash", tool_input={"command": "ls"})

    async def tried():
        verdict, _ = await approvals.weigh(ann, call, Verdict(effect="ask", reason="no"), shipped)
        return verdict.effect == "abstain" or re.search("apr_[0-9a-f]+", verdict.reason)[0]

    request = await tried()
    now[0] = start + timedelta(minutes=answered_at)
    if passes is None:
        with pytest.raises(Conflict, match="already expired; a new call makes"):
            await approvals.answer(ann, request, approve=True, reason="")
        return
    await approvals.answer(ann, request, approve=True, reason="")
    now[0] = start + timedelta(minutes=tried_at)
    found = await tried()
    assert (found is True) is passes
    assert found != request


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
