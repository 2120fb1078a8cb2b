"""Delegation over HTTP: refusals, streams, messages of runners and people."""

import json
import threading

import pytest

from tests.support.cases import every
from tests.support.delegating import chunk
from tests.support.server import serving, until

POLL = {"boot_id": "b", "slots": 1, "wait_s": 0, "providers": ["codex"], "workspaces": ["shop"]}


def delegate(http, session, key="", **body):
    task = {"user_prompt": "list files", "session_id": session["session_id"]} | body
    return http.post("/delegate", json=task, headers={"Idempotency-Key": key} if key else {})


def leased(http, session, **body):
    """Delegate as a user of the session's own, and lease the job."""
    http.headers["Baton-User"] = session["session_id"]
    job = delegate(http, session, **body).json()["job"]["id"]
    (lease,) = http.post("/runners/r/poll", json=POLL).json()["jobs"]
    assert lease["job"] == job
    return job, {"attempt": lease["attempt"], "token": lease["token"]}


def tell(http, job, lease, *texts, first=1, runner="r", **finish):
    events = [
        {"seq": first + n, "type": "session.update", "body": {"update": chunk(text)}} for n, text in enumerate(texts)
    ]
    body = lease | {"events": events} | ({"finish": finish} if finish else {})
    return http.post(f"/runners/{runner}/jobs/{job}/events", json=body)


def events(http, path, after="", into=None):
    """Read a stream to its end; `into` fills while it is read."""
    found = [] if into is None else into
    with http.stream("GET", path, headers={"Last-Event-ID": after} if after else {}) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                found.append([int(value)])
            elif name in {"event", "data"}:
                found[-1].append(json.loads(value) if name == "data" else value)
    return found


def test_a_delegation_is_acknowledged_in_the_seed_s_words(http, session):
    fresh = http.get(f"/sessions/{session['session_id']}/agent-mode").json()
    assert (fresh["agent_mode"], fresh["provider"]) == ("default_mode", "")
    answer = delegate(http, session, provider="claude-code", description="look")
    assert answer.status_code == 202
    body = answer.json()
    assert body["acknowledgement"] == "✓ Delegated to claude_code. Task: list files"
    assert (body["job"]["state"], body["job"]["timeout_s"], body["job"]["events"]) == ("queued", 3_600, 2)
    listed = http.get("/jobs", params={"session_id": session["session_id"]}).json()["items"]
    assert [one["title"] for one in listed] == ["look"]
    mode = http.get(f"/sessions/{session['session_id']}/agent-mode").json()
    assert (mode["agent_mode"], mode["provider"]) == ("default_mode", "claude_code")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"user_prompt": ""}, "user_prompt"),
        ({"user_prompt": "  "}, "user_prompt"),
        ({"user_prompt": "x" * 131_073}, "user_prompt"),
        ({"provider": "gpt"}, "provider"),
        ({"approval": "later"}, "approval"),
        ({"depends_on": ["job_0"]}, "depends_on"),
        ({"timeout_s": -1}, "timeout_s"),
        ({"command": "rm"}, "command"),
    ],
)
def test_bad_input_is_a_422_and_makes_nothing(http, session, body, field):
    answer = delegate(http, session, **body)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert answer.json()["errors"][0]["field"] == field
    assert http.get("/jobs", params={"session_id": session["session_id"]}).json()["items"] == []


def test_an_idempotency_key_makes_one_job(http, session):
    key = session["session_id"]
    first, again = (delegate(http, session, key=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["job"]["id"] == again.json()["job"]["id"]
    assert delegate(http, session, key=key, provider="gemini").status_code == 409


def test_a_stream_resumes_after_any_event_and_ends_with_the_job(http, session):
    job, lease = leased(http, session)
    assert tell(http, job, lease, "a", "b").json() == {"accepted": 2, "cancel": False}
    tell(http, job, lease, "c", first=3, state="completed", usage={"input_tokens": 5, "output_tokens": 6})
    whole = events(http, f"/jobs/{job}/events")
    assert [number for number, *_ in whole] == list(range(1, len(whole) + 1))
    assert whole[-1][1:2] == ["job.state"]
    assert whole[-1][2]["state"] == "completed"
    assert {data["job"] for *_, data in whole} == {job}
    for after in (1, 4, len(whole)):
        assert events(http, f"/jobs/{job}/events", str(after)) == whole[after:]
    assert http.get(f"/jobs/{job}/output").json()["output"] == "abc"
    assert http.get(f"/jobs/{job}").json()["usage"] == {"input_tokens": 5, "cached_tokens": 0, "output_tokens": 6}


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "99999999999999999"])
def test_a_number_that_is_none_is_refused(http, session, number):
    job = delegate(http, session).json()["job"]["id"]
    answer = http.get(f"/jobs/{job}/events", headers={"Last-Event-ID": number})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "Last-Event-ID")


@every("path", ["/jobs/job_0/events", "/sessions/none/events", "/jobs/job_0", "/sessions/none/agent-mode?user=none"])
def test_an_unknown_job_or_session_is_404(http, path):
    assert http.get(path).status_code == 404


def test_a_permission_is_judged_by_rules_then_a_person(http, session):
    job, lease = leased(http, session)

    def ask(**tool_input):
        request = {"tool_name": "Bash", "tool_input": tool_input}
        return http.post(f"/runners/r/jobs/{job}/permissions", json=lease | {"request": request}).json()

    denied = ask(command="rm -rf /")
    assert denied["answer"] == "deny"
    assert "guardrails/remove-root" in denied["reason"]
    query = {"session_id": session["session_id"]}
    (kept,) = until(lambda: http.get("/decisions", params=query).json()["items"])
    assert (kept["decision"], kept["agent_id"]) == ("block", job)
    pending = ask(command="make")
    assert pending["answer"] == "pending"
    path = f"/approvals/{pending['permission']}"
    assert http.post(path, json={"answer": "perhaps"}).status_code == 422
    assert http.get(path).json()["state"] == "waiting"
    assert http.post(path, json={"answer": "allow"}).json()["state"] == "approved"
    assert [one["state"] for one in http.get("/approvals", params={"job": job}).json()["items"]] == ["approved"]
    assert http.post(path, json={"answer": "deny"}).status_code == 409
    (command,) = http.post("/runners/r/poll", json=POLL | {"active": [{"job": job, **lease}]}).json()["commands"]
    assert command["body"] == {"permission": pending["permission"], "answer": "allow", "by": "user"}


@pytest.mark.slow("starts a server of its own")
def test_a_server_that_is_killed_between_a_question_and_its_answer_loses_neither(tmp_path):
    act = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}
    act["tool_input"]["command"] = "docker run -v /:/host alpine touch /host/x"
    with serving(tmp_path / "home") as server, server.client() as http:
        job, lease = leased(http, {"session_id": "s"})
        request = {"tool_name": "Bash", "tool_input": {"command": "make"}}
        asked = http.post(f"/runners/r/jobs/{job}/permissions", json=lease | {"request": request}).json()
        assert "baton approve" in http.post("/hooks/codex", json=act).text
        server.process.kill()
        server.process.wait(60)
    with serving(tmp_path / "home") as server, server.client(**{"Baton-User": "s"}) as http:
        items = http.get("/approvals").json()["items"]
        assert [one["kind"] for one in items] == ["job", "session"]
        for one in items:
            assert http.post(f"/approvals/{one['id']}", json={"answer": "allow"}).json()["state"] == "approved"
        (command,) = http.post("/runners/r/poll", json=POLL | {"active": [{"job": job, **lease}]}).json()["commands"]
        assert (command["body"]["permission"], command["body"]["answer"]) == (asked["permission"], "allow")
        assert http.post("/hooks/codex", json=act).text == "{}"


def test_a_lease_that_is_over_is_a_409_of_its_own(http, session):
    job, lease = leased(http, session)
    answer = tell(http, job, lease | {"token": "no"}, "x")
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")


def test_the_status_shows_runners(http, session):
    leased(http, session)
    (runner,) = until(lambda: http.get("/status").json()["runners"])
    assert (runner["id"], runner["workspaces"]) == ("r", ["shop"])


@pytest.mark.slow("starts a server of its own")
def test_a_stream_ends_with_its_token(tmp_path):
    with serving(tmp_path / "home", BATON_AUTH="on") as server:
        root = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {root}") as admin:
            made = admin.post("/tokens", json={"user": "ada", "role": "developer"}).json()
            with server.client(Authorization=f"Bearer {made['text']}") as ada:
                job = delegate(ada, {"session_id": "s"}).json()["job"]["id"]
                found = []
                reading = threading.Thread(target=events, args=(ada, "/sessions/s/events"), kwargs={"into": found})
                reading.start()
                until(lambda: len(found) == 2)
                assert reading.is_alive()
                assert admin.delete(f"/tokens/{made['token']['id']}").status_code == 204
                reading.join(60)
                assert not reading.is_alive()
                assert [data["job"] for *_, data in found] == [job] * 2
