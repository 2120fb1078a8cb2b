"""Outcomes of decided calls, over real HTTP: the client's report, and the person's notice of disobedience."""

import pytest
from redis import Redis

from tests.support.server import until

DENIED = {"command": "rm -rf /"}
EXPLORE = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
FULL = {"resolvedModel": "claude-haiku-5-5", "usage": {"input_tokens": 10, "output_tokens": 5}}


class Client:
    """A session of an agent client; each call has the id that is given."""

    def __init__(self, http, session, client="claude-code", **headers):
        self.http, self.session, self.path, self.headers = http, session, f"/hooks/{client}", headers

    def post(self, event, **more):
        answer = self.http.post(self.path, json=self.session | {"hook_event_name": event} | more, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def call(self, event, tool, given, name="toolu_1", **more):
        return self.post(event, tool_name=tool, tool_input=given, tool_use_id=name, **more)

    def decisions(self):
        query = {"session_id": self.session["session_id"], "event": "PreToolUse"}
        return self.http.get("/decisions", params=query).json()["items"]

    def outcomes(self):
        return [one["outcome"] for one in reversed(self.decisions())]

    def came_to(self, *outcomes):
        until(lambda: self.outcomes() == list(outcomes), about=lambda: str(self.outcomes()))


@pytest.fixture
def client(http, session):
    return Client(http, session)


@pytest.mark.parametrize(
    ("tool", "given", "client", "each_its_own", "most"),
    [
        ("Bash", {"command": "ls"}, "api", False, 10),
        ("Bash", DENIED, "api", False, 10),
        ("Bash", DENIED, "api", True, 14),
        ("Bash", {"command": "git push --force"}, "codex", False, 11),
        ("Read", {"file_path": "/w/a.py"}, "api", False, 10),
    ],
)
def test_a_decision_costs_ten_redis_commands_and_1600_bytes_and_is_written_once(
    server, http, session, tool, given, client, each_its_own, most
):
    mode = {"scope": "session", "id": session["session_id"], "enabled": tool == "Read", "level": "strict"}
    http.put("/mode", json=mode).raise_for_status()
    with Redis(unix_socket_path=str(server.home / "valkey" / "valkey.sock")) as valkey:

        def spent():
            until(lambda: http.get("/status").json()["records"]["queued"] == 0)
            calls = {name: one["calls"] for name, one in valkey.info("commandstats").items()}
            return sum(calls.values()), valkey.info("stats")["total_net_input_bytes"], calls.get("cmdstat_eval", 0)

        def ask(number):
            name = {"session_id": f"{session['session_id']}-{number}"} if each_its_own else {}
            body = (
                session | name | {"cwd": "/w", "project": "p", "tool_name": tool, "tool_input": given, "client": client}
            )
            headers = {"Baton-Project": "acme/p", "Baton-Root": "/w"}
            http.post("/pre-tool-use", json=body | {"tool_use_id": f"u{number}"}, headers=headers).raise_for_status()

        ask(-1)
        before = spent()
        for number in range(300):
            ask(number)
        commands, received, evaluated = (now - then for now, then in zip(spent(), before, strict=True))
    assert (commands / 300 <= most, received / 300 <= 1_600, evaluated) == (True, True, 0), (commands, received)


@pytest.mark.parametrize(
    ("tool", "given", "reports", "outcome"),
    [
        ("Bash", {"command": "ls"}, [], "unknown"),
        ("Bash", {"command": "ls"}, [("PostToolUse", {})], "ran"),
        ("Bash", {"command": "ls"}, [("PostToolUseFailure", {"error": "Exit code 1"})], "failed"),
        ("Bash", {"command": "ls"}, [("PermissionDenied", {})], "refused"),
        ("Bash", DENIED, [], "refused"),
        ("Bash", DENIED, [("PermissionDenied", {})], "refused"),
        ("Bash", DENIED, [("PostToolUse", {})], "ran_anyway"),
        ("Bash", DENIED, [("PostToolUseFailure", {})], "ran_anyway"),
        ("Agent", EXPLORE, [("PostToolUse", {"tool_response": FULL})], "rewrite_ignored"),
    ],
)
def test_a_call_has_the_outcome_that_its_client_reports(client, tool, given, reports, outcome):
    client.call("PreToolUse", tool, given)
    for event, more in reports:
        client.call(event, tool, given, **more)
    client.came_to(outcome)


def test_an_obeyed_rewrite_ran_on_the_model_that_it_was_given(client):
    given = client.call("PreToolUse", "Agent", EXPLORE)["hookSpecificOutput"]["updatedInput"]
    client.call("PostToolUse", "Agent", given, tool_response=FULL, duration_ms=1131)
    client.came_to("ran")
    [one] = client.decisions()
    assert one["duration_ms"] == 1131
    assert (one["model_used"], one["input_tokens"], one["output_tokens"]) == ("claude-haiku-5-5", 10, 5)


def test_a_call_unanswered_at_the_turn_s_end_counts_as_refused(client):
    asked = {"command": "$tool -rf build"}
    answer = client.call("PreToolUse", "Bash", asked)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
    client.post("Stop")
    client.came_to("refused")
    # The report of a call that was allowed can come late.
    client.call("PostToolUse", "Bash", asked)
    client.came_to("ran")


@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit"])
def test_a_call_without_a_report_was_refused_by_someone_else(client, event):
    client.call("PreToolUse", "Bash", {"command": "ls"})
    client.call("PreToolUse", "Bash", {"command": "pwd"}, "toolu_2", agent_id="a1")
    client.call("PreToolUse", "Bash", {"command": "date"}, "toolu_3")
    client.call("PostToolUse", "Bash", {"command": "date"}, "toolu_3")
    client.post(event, prompt="go on")
    client.came_to("refused", "unknown", "ran")


def test_a_client_that_reports_no_failures_leaves_calls_without_an_outcome(http, session):
    client = Client(http, session, "codex")
    client.call("PreToolUse", "Bash", {"command": "ls"})
    client.post("Stop")
    client.call("PreToolUse", "Bash", {"command": "date"}, "toolu_2")
    client.call("PostToolUse", "Bash", {"command": "date"}, "toolu_2")
    client.came_to("unknown", "ran")


def test_a_report_without_a_tool_is_no_end_of_a_turn(client):
    asked = {"command": "$tool -rf build"}
    client.call("PreToolUse", "Bash", asked)
    client.post("PostToolUse", tool_input=asked)
    client.call("PreToolUse", "Bash", {"command": "ls"}, "toolu_2")
    client.call("PostToolUse", "Bash", {"command": "ls"}, "toolu_2")
    client.came_to("unknown", "ran")


def test_a_question_that_a_client_cannot_put_is_a_refusal(http, session):
    client = Client(http, session, "codex")
    asked = {"command": "$tool -rf build"}
    assert client.call("PreToolUse", "Bash", asked)["hookSpecificOutput"]["permissionDecision"] == "deny"
    client.came_to("refused")
    client.call("PostToolUse", "Bash", asked)
    client.came_to("ran_anyway")


def test_ignored_decisions_are_reported_once_and_counted_by_version(http, session):
    client = Client(http, session, **{"Baton-Client": "claude-code_2-1-329_harness"})
    for name in ("toolu_1", "toolu_2"):
        client.call("PreToolUse", "Bash", DENIED, name)
        client.call("PostToolUse", "Bash", DENIED, name)
    client.call("PreToolUse", "Agent", EXPLORE, "toolu_3")
    client.call("PostToolUse", "Agent", EXPLORE, "toolu_3")
    told = client.post("UserPromptSubmit", prompt="go on")["systemMessage"]
    assert "ran `Bash` 2 times although Baton had refused it" in told
    assert "ran `Agent` without the changes" in told
    assert "systemMessage" not in client.post("UserPromptSubmit", prompt="go on")
    until(lambda: "claude-code 2.1.329 ran_anyway" in http.get("/status").json()["disobeyed"])
    metrics = http.get("/metrics").text
    assert 'baton_disobeyed_total{client="claude-code",outcome="rewrite_ignored",version="2.1.329"}' in metrics


def test_decisions_are_listed_by_outcome(client, http):
    client.call("PreToolUse", "Bash", DENIED)
    client.call("PostToolUse", "Bash", DENIED)
    client.came_to("ran_anyway")
    query = {"session_id": client.session["session_id"], "outcome": "ran_anyway"}
    assert len(http.get("/decisions", params=query).json()["items"]) == 1
    assert http.get("/decisions", params=query | {"outcome": "ran"}).json()["items"] == []
    problem = http.get("/decisions", params={"outcome": "gone"})
    assert problem.status_code == 422
    assert "outcome" in problem.text


def test_the_typed_endpoint_reports_an_outcome_as_well(http, session):
    call = session | {"tool_name": "Bash", "tool_input": DENIED, "tool_use_id": "t"}
    assert http.post("/pre-tool-use", json=call).json()["decision"] == "block"
    assert http.post("/post-tool-use", json=call | {"duration_ms": 7}).json() == {"ok": True, "degraded": []}
    Client(http, session).came_to("ran_anyway")


def test_a_colleague_s_report_changes_no_other_decision(http, session):
    mine = Client(http, session, **{"Baton-User": "ann"})
    mine.call("PreToolUse", "Bash", DENIED)
    Client(http, session, **{"Baton-User": "bob"}).call("PostToolUse", "Bash", DENIED)
    mine.call("PreToolUse", "Bash", {"command": "ls"}, "toolu_2")
    mine.call("PostToolUse", "Bash", {"command": "ls"}, "toolu_2")
    mine.came_to("refused", "ran")


@pytest.mark.parametrize(
    "odd",
    [
        {"tool_use_id": "x" * 5_000},
        {"tool_use_id": "a\0b"},
        {"tool_name": "T" * 100_000},
        {"duration_ms": -1},
        {"duration_ms": "long"},
        {"tool_response": {"usage": {"input_tokens": 10**30}, "resolvedModel": "m" * 100_000}},
        {"tool_response": [1, None]},
        {"tool_input": None},
        {"agent_id": "sk-ant-REDACTED"},
    ],
)
def test_odd_reports_are_taken_and_disturb_no_other(client, odd):
    client.call("PreToolUse", "Bash", {"command": "ls"})
    client.post("PostToolUse", **({"tool_name": "Bash", "tool_input": {"command": "ls"}} | odd))
    client.call("PostToolUse", "Bash", {"command": "ls"})
    client.came_to("ran")
