"""The typed session events over real HTTP."""

import pytest

from tests.delegate.jobs.test_api import leased, tell
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
    assert not start(http, session, work_items=0).json()["mode"]["enabled"]


def test_work_items_may_come_as_a_header(http, session):
    headers = {"Baton-User": "nora", "Baton-Work-Items": "3", "Baton-Project": session["project"]}
    assert http.post("/session-start", json=session, headers=headers).json()["mode"]["enabled"]


def test_a_session_that_does_not_say_its_work_items_changes_nothing(http, session):
    start(http, session, work_items=1)
    assert start(http, session).json()["mode"]["enabled"]


@pytest.mark.parametrize(("source", "second"), [("clear", "allow"), ("compact", "allow"), ("resume", "block")])
def test_only_clear_and_compact_forget_the_look_ups(http, session, source, second):
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == "allow"
    http.post("/session-start", json=session | {"source": source})
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == second


def test_the_end_of_a_session_forgets_its_look_ups(http, session):
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
    http.post("/pre-tool-use", json=session | READ)
    assert http.post("/session-end", json=session | {"reason": "other"}).json() == {"ok": True, "degraded": []}
    assert http.post("/pre-tool-use", json=session | READ).json()["decision"] == "allow"


def test_the_end_of_a_tool_call_is_noted(http, session):
    body = session | READ | {"tool_response": {"ok": True}, "duration_ms": 5}
    assert http.post("/post-tool-use", json=body).json()["ok"] is True


def test_the_agent_of_a_delegated_task_is_not_told_to_delegate(http, session):
    job, lease = leased(http, session)
    http.headers["Baton-Project"] = session["project"]
    mode = {"scope": "user_project", "user": session["session_id"], "project": session["project"]}
    assert http.put("/mode", json=mode | {"enabled": True, "level": "strict"}).status_code == 200

    def directed(session_id, **headers):
        answer = http.post("/session-start", json=session | {"session_id": session_id}, headers=headers).json()
        return answer["mode"]["enabled"], "additional_context" in answer

    assert directed("agent's", **{"Baton-Job": job}) == (False, False)
    assert directed("agent's") == (False, False)
    assert directed("mine") == (True, True)
    assert directed(session["session_id"], **{"Baton-Job": job}) == (True, True)  # who delegated is none of these
    assert directed("mine", **{"Baton-Job": "job_none"}) == (True, True)
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "ask the git-master agent to squash"}

    def routed(session_id):
        return http.post("/hooks/claude-code", json=prompt | {"session_id": session_id}).json()

    until(lambda: routed("mine"))  # a roster that the server does not know yet is read beside the first prompt
    assert not routed("agent's")
    known = {"seq": 1, "type": "agent.session", "body": {"id": "agent's"}}
    http.post(f"/runners/r/jobs/{job}/events", json=lease | {"events": [known]})
    assert directed("another", **{"Baton-Job": job}) == (True, True)
    other, lease = leased(http, session)
    tell(http, other, lease, state="completed")
    assert directed("late", **{"Baton-Job": other}) == (True, True)


BAD = [
    ("/session-start", {}, "session_id"),
    ("/session-start", {"session_id": "s", "work_items": -1}, "work_items"),
    ("/session-start", {"session_id": "s", "work_items": "3"}, "work_items"),
    ("/session-start", {"session_id": "s", "work_items": True}, "work_items"),
    ("/session-start", {"session_id": "s", "source": "boredom"}, "source"),
    ("/session-end", {"session_id": 5}, "session_id"),
    ("/post-tool-use", {"session_id": "s"}, "tool_name"),
    ("/post-tool-use", {"session_id": "s", "tool_name": "Read", "tool_input": []}, "tool_input"),
]


@pytest.mark.parametrize(("path", "body", "field"), BAD, ids=[f"{row[0]}-{row[2]}-{i}" for i, row in enumerate(BAD)])
def test_bad_events_get_a_problem_that_names_the_field(http, path, body, field):
    response = http.post(path, json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == field
