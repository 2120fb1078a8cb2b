"""The typed session events over real HTTP."""

import pytest

from tests.delegate.jobs.test_api import POLL, delegate, tell
from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.server import until

READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}


def start(http, session, user="nora", **more):
    return http.post("/session-start", json=session | more, headers={"Baton-User": user})


def test_work_items_switch_the_mode_on_and_the_directives_come_with_it(http, session):
    answer = start(http, session, work_items=2, source="startup").json()
    assert answer["mode"]["enabled"]
    assert answer["mode"]["auto_activated"]
    assert answer["mode"]["scope"] == "user_project"
    assert "Delegate" in answer["additional_context"]
    assert len(answer["additional_context"].encode()) < 9_500
    other = start(http, session | {"session_id": "other"}, user="olga").json()
    assert not other["mode"]["enabled"]
    assert "additional_context" not in other
    assert not start(http, session | {"session_id": "later"}, work_items=0).json()["mode"]["enabled"]


def test_a_session_that_has_worked_under_the_mode_of_work_items_keeps_it(http, session):
    mine, silent = session["session_id"], session | {"session_id": f"silent {session['session_id']}"}

    def mode(session_id):
        return http.get("/mode", params={"project": session["project"], "session_id": session_id}).json()["enabled"]

    http.headers["Baton-User"] = "nora"
    start(http, session, work_items=2)
    http.post("/pre-tool-use", json=silent | READ)  # of a client that sends no SessionStart
    for forged in (session, session | {"session_id": "nobody's"}):
        http.post("/session-end", json=forged)
        start(http, forged, work_items=0, source="startup")
        assert (mode(mine), mode(silent["session_id"])) == (True, True)
    assert not mode("the next")
    assert http.post("/pre-tool-use", json=session | READ).json()["mode"]["enabled"] is True
    off = {"scope": "user_project", "project": session["project"], "enabled": False}
    until(lambda: http.put("/mode", json=off).is_success)  # a project is known by a stored decision
    assert (mode(mine), mode(silent["session_id"])) == (False, False)  # a person's word ends it


def test_work_items_may_come_as_a_header(http, session):
    headers = {"Baton-User": "nora", "Baton-Work-Items": "3", "Baton-Project": session["project"]}
    assert http.post("/session-start", json=session, headers=headers).json()["mode"]["enabled"]


def test_a_session_without_a_work_item_count_changes_nothing(http, session):
    start(http, session, work_items=1)
    assert start(http, session).json()["mode"]["enabled"]


FORGETS = [("clear", 40, "block"), ("compact", 40, "allow"), ("compact", 3, "block"), ("resume", 40, "block")]


@pytest.mark.parametrize(("source", "calls", "second"), FORGETS)
def test_only_a_compaction_that_can_be_true_forgets_the_look_ups(http, session, source, calls, second):
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
    for _ in range(calls):
        http.post("/pre-tool-use", json=session | READ)
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == "block"
    http.post("/session-start", json=session | {"source": source})
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == second


def test_a_fork_begins_with_the_calls_of_the_session_before_it(server, http, session):
    introduce(server, projects=[session["project"]])
    http.put("/mode", json={"scope": "project", "id": session["project"], "enabled": True, "level": "strict"})
    fork = session | {"session_id": f"fork of {session['session_id']}"}
    http.post("/session-start", json=session | {"source": "startup"})
    http.post("/pre-tool-use", json=session | READ)
    http.post("/session-start", json=fork | {"source": "fork"})
    assert http.post("/pre-tool-use", json=fork | READ).json()["decision"] == "block"
    other = session | {"session_id": f"beside {session['session_id']}"}
    http.post("/session-start", json=other | {"source": "startup"})
    assert http.post("/pre-tool-use", json=other | READ).json()["decision"] == "allow"


def test_a_continuing_session_keeps_its_look_ups(http, session):
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
    http.post("/pre-tool-use", json=session | READ)
    assert http.post("/session-end", json=session | {"reason": "other"}).json() == {"ok": True, "degraded": []}
    http.post("/session-start", json=session | {"source": "startup"})
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == "block"


def test_the_end_of_a_tool_call_is_noted(http, session):
    body = session | READ | {"tool_response": {"ok": True}, "duration_ms": 5}
    assert http.post("/post-tool-use", json=body).json()["ok"] is True


def test_a_delegated_agent_gets_no_advice_to_delegate(http, server, session):
    http.headers["Baton-User"] = session["session_id"]
    job = delegate(http, session).json()["job"]["id"]
    (lease,) = http.post("/runners/r/poll", json=POLL).json()["jobs"]
    token, lease = lease["agent_token"], {"attempt": lease["attempt"], "token": lease["token"]}
    http.headers["Baton-Project"] = session["project"]
    mode = {"scope": "user_project", "user": session["session_id"], "project": session["project"]}
    assert http.put("/mode", json=mode | {"enabled": True, "level": "strict"}).status_code == 200

    def directed(session_id, by=http, **headers):
        answer = by.post("/session-start", json=session | {"session_id": session_id}, headers=headers).json()
        return answer["mode"]["enabled"], "additional_context" in answer

    named = {"Baton-User": session["session_id"], "Baton-Project": session["project"]}
    agent = server.agent(Authorization=f"Bearer {token}", **named)
    assert directed("agent's", agent) == (False, False)
    # A name is no proof: neither the job's, nor that of a session that its agent has named.
    assert directed("agent's", **{"Baton-Job": job}) == (True, True)
    assert directed("mine") == (True, True)
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "ask the git-master agent to squash"}

    def routed(session_id, by=http):
        return by.post("/hooks/claude-code", json=prompt | {"session_id": session_id}).json()

    start = {"hook_event_name": "SessionStart", "session_id": "mine", "source": "startup"}
    http.post("/hooks/claude-code", json=start, headers={"Baton-Agents": "1-1"})
    text = "= user g.md\n name: git-master\n description: Squashes commits.\n"
    http.put("/inventory/claude-code?checksum=1-1", content=text, headers={"Content-Type": "text/plain"})
    until(lambda: routed("mine"))  # a roster that the server does not know yet is read beside the first prompt
    assert not routed("agent's", agent)
    for named in ("agent's", session["session_id"]):  # the runner's word; who delegated is none of its agents
        known = {"seq": 1, "type": "agent.session", "body": {"id": named}}
        http.post(f"/runners/r/jobs/{job}/events", json=lease | {"events": [known]})
    assert directed("agent's") == (False, False)
    assert directed(session["session_id"]) == (True, True)
    tell(http, job, lease, state="completed")
    assert directed("late", agent) == (True, True)
    agent.close()


BAD = [
    ("/session-start", {}, "session_id"),
    ("/session-start", {"session_id": "s", "work_items": -1}, "work_items"),
    ("/session-start", {"session_id": "s", "work_items": "3"}, "work_items"),
    ("/session-start", {"session_id": "s", "work_items": True}, "work_items"),
    ("/session-start", {"session_id": "s", "source": "boredom"}, "source"),
    ("/session-end", {"session_id": 5}, "session_id"),
    ("/post-tool-use", {"session_id": "s"}, "tool_name"),
    ("/post-tool-use", {"session_id": "s", "tool_name": "Read", "tool_input": 5}, "tool_input"),
]


@every(("path", "body", "field"), BAD, ids=[f"{row[0]}-{row[2]}-{i}" for i, row in enumerate(BAD)])
def test_bad_events_get_a_problem_that_names_the_field(http, path, body, field):
    response = http.post(path, json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
