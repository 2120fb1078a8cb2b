"""Over HTTP: a session's events and their readers."""

import json

import jsonschema
import pytest

from tests.support.cases import every
from tests.support.http_calls import ok
from tests.support.server import served, until

SECRET = "ghp_" + "a1B2" * 9
PROMPT = "fix the failing parser tests please, and mind the token " + SECRET + " in the file " + "x" * 80


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that asks for tokens and publishes every topic."""
    home = tmp_path_factory.mktemp("events") / "home"
    with served(home, BATON_AUTH="on") as server:
        yield server


@pytest.fixture(scope="module")
def people(guarded):
    """Clients of people of two teams, by name. The first team keeps prompts."""
    admin = guarded.client(Authorization=f"Bearer {(guarded.home / 'admin-token').read_text().strip()}")

    def person(user, role, team):
        admin.put(f"/teams/{team}", json={})
        text = ok(admin.post("/tokens", json={"user": user, "role": role, "team": team}), 201)["text"]
        return guarded.client(Authorization=f"Bearer {text}")

    found = {
        "admin": admin,
        "ann": person("events-ann", "developer", "events-web"),
        "amy": person("events-amy", "developer", "events-web"),
        "lead": person("events-lead", "lead", "events-web"),
        "bob": person("events-bob", "developer", "events-data"),
        "auditor": person("events-auditor", "auditor", "events-data"),
        "observer": person("events-observer", "observer", "events-data"),
    }
    ok(admin.put("/teams/events-web/settings", json={"keep_prompts": True}))
    yield found
    for client in found.values():
        client.close()


def of_session(client, topic, session_id):
    """Read all events of a session that a client may see."""
    found, cursor = [], ""
    while True:
        page = ok(client.get(f"/events/topics/{topic}", params={"cursor": cursor, "limit": 200}))
        found += [event for event in page["events"] if event["subject"] == session_id]
        if not page["events"]:
            return list({event["id"]: event for event in found}.values())  # delivery is at least once
        cursor = page["cursor"]


@pytest.fixture(scope="module")
def told(people):
    """Ann's session from its start to its end."""
    ann, session = people["ann"], "events-s1"
    hook = {"session_id": session, "cwd": "/home/ann/shop"}

    def post(event, **more):
        assert ann.post("/hooks/claude-code", json=hook | {"hook_event_name": event} | more).status_code == 200

    post("SessionStart", source="startup")
    post("UserPromptSubmit", prompt=PROMPT)
    call = {"tool_name": "Write", "tool_input": {"file_path": "/home/ann/shop/CLAUDE.md", "content": f"key {SECRET}"}}
    post("PreToolUse", tool_use_id="t1", **call)
    for _ in range(2):  # a client may post it again
        post("PostToolUse", tool_use_id="t1", tool_response={"ok": True}, **call)
    post("PreToolUse", tool_use_id="t2", tool_name="Bash", tool_input={"command": "false"})
    post("PostToolUseFailure", tool_use_id="t2", tool_name="Bash", tool_input={"command": "false"}, error="1")
    post("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    post("Stop")
    post("SessionEnd", reason="logout")
    until(lambda: of_session(people["auditor"], "session-ended", session))
    return session


ENVELOPE = {"event_type", "schema_version", "source", "session_id", "correlation_id"}


def test_a_session_s_events_are_published_and_fit_their_schemas(people, told):
    expected = {
        "session-started": [{"hook_source": "startup", "working_directory": "/home/ann/shop", "client": "claude-code"}],
        "prompt-submitted": [{"prompt_length": len(PROMPT), "detected_intent": "debug"}],
        "decisions": [{"tool_name": "Write", "tool_execution_id": "t1"}, {"tool_execution_id": "t2"}],
        "tool-executed": [
            {"tool_execution_id": "t1", "success": True, "summary": "Write ran"},
            {"tool_execution_id": "t2", "success": False, "summary": "Bash failed"},
        ],
        "outcomes": [{"outcome": "ran"}, {"outcome": "failed"}],
        "notification-blocked": [{"tool_name": "Bash"}],
        "notification-completed": [{"agent_name": "claude-code"}],
        "session-ended": [{"reason": "logout", "tools_used_count": 2, "tools_failed_count": 1, "outcome": "failed"}],
        "routing-decision": [{"method": "none"}],
    }
    schemas = ok(people["ann"].get("/events/schemas"))["schemas"]
    for topic, wanted in expected.items():
        found = of_session(people["ann"], topic, told)
        assert len(found) == len(wanted), (topic, found)
        for event, fields in zip(found, wanted, strict=True):
            jsonschema.validate(event, schemas[topic])
            assert event["data"].keys() >= ENVELOPE
            assert fields.items() <= event["data"].items(), topic
            assert (event["user"], event["team"]) == ("events-ann", "events-web")
    assert of_session(people["ann"], "session-ended", told)[0]["data"]["duration_seconds"] >= 0


def test_events_of_one_thing_are_correlated(people, told):
    def correlations(*topics):
        return {
            event["data"]["correlation_id"]
            for topic in topics
            for event in of_session(people["ann"], topic, told)
            if event["data"].get("tool_execution_id") != "t2"
        }

    assert len(correlations("prompt-submitted", "routing-decision")) == 1
    of_call = correlations("decisions")
    assert len(of_call) == 1
    assert of_call == correlations("tool-executed", "outcomes")


def test_the_preview_is_for_everybody_and_the_prompt_for_observers_alone(people, told):
    (shown,) = of_session(people["ann"], "prompt-submitted", told)
    assert shown["data"]["prompt_preview"].startswith("fix the failing parser tests please")
    assert shown["data"]["prompt_preview"].endswith("...")
    assert len(shown["data"]["prompt_preview"]) <= 100
    (whole,) = of_session(people["observer"], "claude-hook-event", told)
    assert whole["data"]["prompt"] == PROMPT.replace(SECRET, "[masked:github-token]")
    assert shown["data"]["causation_id"] == whole["id"]


def test_of_a_team_that_keeps_no_prompts_only_the_preview_is_published(people):
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "events-s2", "cwd": "/home/bob/x", "prompt": PROMPT}
    assert people["bob"].post("/hooks/claude-code", json=prompt).status_code == 200
    until(lambda: of_session(people["observer"], "prompt-submitted", "events-s2"))
    assert of_session(people["observer"], "claude-hook-event", "events-s2") == []


def test_no_secret_is_on_any_topic(people, told):
    for topic in ok(people["observer"].get("/events/topics"))["items"]:
        found = of_session(people["observer"], topic["name"], told)
        assert SECRET not in json.dumps(found), topic["name"]


@every("topic", ["claude-hook-event", "compliance-evaluate"])
@every("who", ["ann", "lead", "auditor", "admin"])
def test_a_restricted_topic_is_its_readers_alone(people, who, topic):
    assert people[who].get(f"/events/topics/{topic}").status_code == 403


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("ann", True),
        ("lead", True),
        ("auditor", True),
        ("observer", True),
        ("admin", True),
        ("amy", False),
        ("bob", False),
    ],
)
def test_open_topics_follow_the_reach_of_the_role(people, told, who, sees):
    assert bool(of_session(people[who], "decisions", told)) == sees


def test_a_reader_waits_for_what_is_to_come(people):
    ann = people["ann"]
    start = ok(ann.get("/events/topics/session-started", params={"cursor": "newest"}))
    assert start["events"] == []
    ann.post("/session-start", json={"session_id": "events-s2"})
    page = ok(ann.get("/events/topics/session-started", params={"cursor": start["cursor"], "wait_s": 20}))
    assert [event["subject"] for event in page["events"]] == ["events-s2"]
    assert page["gap"] is False


@every(
    ("path", "names"),
    [
        ("/events/topics/decision", ("topic", "`decisions`")),
        ("/events/schemas/none", ("topic", "unknown topic")),
        ("/events/topics/jobs?cursor=x", ("cursor", "not a cursor")),
        ("/events/topics/jobs?limit=0", ("limit",)),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(people, path, names):
    answer = people["ann"].get(path)
    assert answer.status_code == 422
    assert all(name in answer.text for name in names)


def test_nothing_is_emitted_of_a_session_that_baton_is_off_for(people):
    ann = people["ann"]
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        body = {"session_id": "events-off", "hook_event_name": event, "prompt": "hush"}
        ann.post("/hooks/claude-code", json=body, headers={"Baton-Disabled": "1"})
    ann.post("/session-start", json={"session_id": "events-on"})
    until(lambda: of_session(ann, "session-started", "events-on"))
    assert not of_session(ann, "session-started", "events-off")
    assert not of_session(ann, "prompt-submitted", "events-off")


def test_agents_read_no_events(people, guarded):
    topic = "/events/topics/decisions"
    made = ok(people["ann"].post("/tokens/hook", json={"machine": "laptop"}), 201)
    with guarded.client(Authorization=f"Bearer {made['text']}") as agent:
        answers = [agent.get("/events/topics"), agent.get("/events/schemas"), agent.get(topic)]
    assert {answer.status_code for answer in answers} == {403}
