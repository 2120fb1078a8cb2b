"""`POST /pre-tool-use` over real HTTP: the typed decision and its words."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.cases import every
from tests.support.server import served, until

EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}}
READ = {"tool_name": "Read", "tool_input": {"file_path": "src/a.py"}}
EXPLORE = {"subagent_type": "ultrapower:explore", "prompt": "find", "description": "d", "run_in_background": True}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests' own: some hold only where nobody else has switched the mode on."""
    with served(tmp_path_factory.mktemp("own") / "home") as running:
        yield running


def bash(command):
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def ask(http, session, call, **more):
    response = http.post("/pre-tool-use", json=session | call | more)
    assert response.status_code == 200, response.text
    return response.json()


def enable(http, session, level="strict"):
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level}
    assert http.put("/mode", json=body).status_code == 200


def has_null(value):
    if isinstance(value, dict):
        return any(has_null(item) for item in value.values())
    if isinstance(value, list):
        return any(has_null(item) for item in value)
    return value is None


def test_with_the_mode_off_no_rule_speaks(http, session):
    answer = ask(http, session, EDIT)
    assert (answer["decision"], answer["continue"], answer["rules"]) == ("allow", True, [])
    assert answer["mode"] == {"enabled": False, "level": "guidance", "scope": "default"}
    assert answer["modifiedInput"] == EDIT["tool_input"]
    assert answer["degraded"] == []
    assert not {"reason", "guidance", "suggestion", "message", "shell", "overridden"} & set(answer)


def test_strict_blocks_an_edit_with_the_remedy(http, session):
    enable(http, session)
    answer = ask(http, session, EDIT)
    assert (answer["decision"], answer["continue"]) == ("block", False)
    assert answer["rules"] == [{"id": "orchestrator/direct-edit", "effect": "deny"}]
    assert "ORCHESTRATOR MODE" in answer["reason"]
    assert "baton mode disable" in answer["reason"]
    assert answer["suggestion"].startswith("Task(")
    assert answer["mode"]["scope"] == "session"


def test_guidance_allows_the_same_edit_and_remarks_on_it(http, session):
    enable(http, session, "guidance")
    answer = ask(http, session, EDIT)
    assert (answer["decision"], answer["continue"]) == ("allow", True)
    assert answer["rules"] == [{"id": "orchestrator/direct-edit", "effect": "guidance"}]
    assert answer["guidance"].startswith("⚠️")
    assert "reason" not in answer


def test_a_sub_agent_does_the_same_freely(http, session):
    enable(http, session)
    for call in (EDIT, READ, READ, bash("pytest")):
        assert ask(http, session, call, agent_id="a1")["decision"] == "allow"


def test_an_agent_type_on_the_main_thread_gives_no_exemption(http, session):
    enable(http, session)
    assert ask(http, session, EDIT, agent_type="orch")["decision"] == "block"


def test_the_second_look_up_is_blocked_until_three_others_came_between(http, session):
    enable(http, session)
    first, second = ask(http, session, READ), ask(http, session, READ)
    assert (first["decision"], first["guidance"]) == ("allow", "✅ Single lookup allowed")
    assert second["decision"] == "block"
    for tool in ("TodoWrite", "Task", "Edit", "Skill"):  # the Edit is refused, so it is no step of the session
        assert ask(http, session, READ)["decision"] == "block"
        ask(http, session, {"tool_name": tool, "tool_input": {}})
    assert ask(http, session, READ)["decision"] == "allow"


def claude(http, session, command, **more):
    """Post a Bash call as Claude Code 2.1.329 does, which has no Grep and no Glob; return whether it is refused."""
    payload = {
        "session_id": session["session_id"],
        "transcript_path": "/home/ann/x.jsonl",
        "cwd": session["cwd"],
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Look"},
        "tool_use_id": f"toolu_{command}",
    }
    answer = http.post("/hooks/claude-code", json=payload | more).json().get("hookSpecificOutput", {})
    return answer.get("permissionDecisionReason") if answer.get("permissionDecision") == "deny" else ""


def test_look_ups_by_shell_are_look_ups(http, session):
    enable(http, session)
    lines = ["grep -rn price src", "cat src/a.py", "sed -n 1,80p src/b.py", "find . -name '*.py'", "head -50 README.md"]
    refused = [claude(http, session, line) for line in lines]
    assert refused[0] == ""
    assert all("Multiple look-ups (Bash, then `" in text for text in refused[1:]), refused
    assert "Explore" in refused[1]
    for line in ("git status", "ls -la", "pwd"):
        assert claude(http, session, line) == ""
    assert claude(http, session, "git show HEAD:a.py") == ""
    assert ask(http, session, READ)["decision"] == "block"


def test_a_look_up_by_a_tool_counts_for_the_shell_and_the_other_way_round(http, session):
    enable(http, session)
    assert ask(http, session, READ)["decision"] == "allow"
    assert "(Read, then `cat a.py`)" in claude(http, session, "cat a.py")


def test_sub_agents_look_things_up_by_shell_as_often_as_they_like(http, session):
    enable(http, session)
    assert not any(claude(http, session, f"cat {name}", agent_id="a1", agent_type="Explore") for name in "abcd")


def test_a_shell_that_only_filters_or_looks_at_the_repository_is_no_look_up(http, session):
    enable(http, session)
    claude(http, session, "cat a.py")
    lines = ["npm ls | grep react", "git log --oneline | head -n 5", "ps aux | rg node", "git diff --stat", "ls src"]
    assert not any(claude(http, session, line) for line in lines)


def test_each_agent_and_each_session_has_a_history_of_its_own(http, session):
    enable(http, session)
    ask(http, session, READ, agent_id="a1")
    ask(http, session | {"session_id": session["session_id"] + "-other"}, READ)
    assert ask(http, session, READ)["decision"] == "allow"


def test_one_developer_s_look_ups_never_count_for_another_with_the_same_session_id(http, server, session):
    enable(http, session)
    with server.client(**{"Baton-User": "mallory"}) as other:
        ask(other, session, READ)
    assert ask(http, session, READ)["decision"] == "allow"


@pytest.mark.parametrize("call", [READ, bash("npm test > out.txt"), bash("git status")], ids=["read", "deny", "allow"])
def test_a_retry_gets_the_same_answer_and_is_recorded_once(http, session, call):
    enable(http, session)
    first = ask(http, session, call, tool_use_id="t1")
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": False})
    again = ask(http, session, call, tool_use_id="t1")
    assert again == first
    last = ask(http, session, bash("ls"), tool_use_id="t2")["decision_id"]
    query = {"session_id": session["session_id"]}
    found = until(
        lambda: (page := http.get("/decisions", params=query).json()["items"]) and page[0]["id"] == last and page
    )
    assert [item["id"] for item in found] == [last, first["decision_id"]]


def test_retries_that_come_at_once_get_one_answer(http, session):
    enable(http, session)

    def post(_):
        return ask(http, session, bash("npm test | tee out.txt"), tool_use_id="t1")

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(post, range(48)))
    assert answers == [answers[0]] * 48


@pytest.mark.parametrize("absent", [{}, {"model": ""}, {"model": None}], ids=["absent", "empty", "null"])
def test_a_model_is_injected_whatever_the_mode(http, session, absent):
    answer = ask(http, session, {"tool_name": "Task", "tool_input": EXPLORE | absent})
    assert answer["modifiedInput"] == EXPLORE | {"model": "haiku"}
    assert answer["decision"] == "allow"
    assert answer["message"].startswith("Auto-injecting model: haiku for ")


@every(
    ("tool", "given"),
    [
        ("Task", EXPLORE | {"model": "opus"}),
        ("Task", EXPLORE | {"subagent_type": "nobody-knows"}),
        ("Task", {"prompt": "p"}),
        ("Bash", {"command": "ls", "subagent_type": "explore"}),
    ],
    ids=["explicit model", "unknown agent", "no agent call", "other tool"],
)
def test_other_input_is_returned_unchanged(http, session, tool, given):
    answer = ask(http, session, {"tool_name": tool, "tool_input": given})
    assert answer["modifiedInput"] == given
    assert "message" not in answer


def test_the_shell_shows_every_program_at_every_level(http, session):
    shell = ask(http, session, bash("FOO=1 sudo env A=1 pytest -q '$x' | tee out.txt > /dev/null"))["shell"]
    assert shell["programs"] == [
        ["sudo", "env", "A=1", "pytest", "-q", "$x"],
        ["env", "A=1", "pytest", "-q", "$x"],
        ["pytest", "-q", "$x"],
        ["tee", "out.txt"],
    ]
    assert shell["writes"] == ["out.txt"]
    assert set(shell["categories"]) >= {"test-or-build", "file-write"}
    assert shell["unparsed"] is False


def test_camel_case_payloads_are_the_same_call(http, session):
    enable(http, session)
    payload = {"sessionId": session["session_id"], "toolName": "Edit", "toolInput": EDIT["tool_input"]}
    assert http.post("/pre-tool-use", json=payload).json()["decision"] == "block"


def test_an_override_skips_the_rules_and_is_reported(http, session):
    enable(http, session)
    response = http.post("/pre-tool-use", json=session | EDIT, headers={"Baton-Disabled": "1"})
    assert response.json()["decision"] == "allow"
    assert response.json()["overridden"] is True


def test_the_mode_alone_can_be_switched_off_for_a_session_and_guardrails_stay(http, session):
    enable(http, session)
    off = {"Baton-Orchestrator-Disabled": "1"}
    edit = http.post("/pre-tool-use", json=session | EDIT, headers=off).json()
    assert (edit["decision"], edit["mode"]["enabled"], edit["overridden"]) == ("allow", False, True)
    guarded = http.post("/pre-tool-use", json=session | bash("sudo rm -rf / --no-preserve-root"), headers=off).json()
    assert guarded["decision"] == "block"
    assert ask(http, session, EDIT)["decision"] == "block"


def test_where_the_mode_is_off_its_variable_overrides_nothing(http, session):
    answer = http.post("/pre-tool-use", json=session | EDIT, headers={"Baton-Orchestrator-Disabled": "1"}).json()
    assert "overridden" not in answer or answer["overridden"] is False


def test_a_guardrail_holds_in_a_sub_agent_with_the_mode_off(http, session):
    answer = ask(http, session, bash("cd /tmp && sudo rm -rf / --no-preserve-root"), agent_id="a1")
    assert answer["decision"] == "block"
    assert answer["rules"][0]["id"].startswith("guardrails/")


@every("call", [EDIT, READ, bash("echo $(date) > x"), {"tool_name": "Task", "tool_input": EXPLORE}])
@every("level", ["strict", "guidance"])
def test_no_answer_holds_a_null(http, session, call, level):
    enable(http, session, level)
    answer = ask(http, session, call)
    answer.pop("modifiedInput")
    assert not has_null(answer)


HUGE = b'"tool_name":"Task","tool_input":{"subagent_type":"explore","prompt":"p","description":"d","n":1e999}'


def test_a_number_beyond_float_is_returned_unchanged(http, session):
    body = b'{"session_id":"%s","tool_use_id":"t1",%s}' % (session["session_id"].encode(), HUGE)
    for _ in range(2):
        answer = http.post("/pre-tool-use", content=body)
        assert answer.status_code == 200
        assert b'"n":1e999,"model":"haiku"}' in answer.content


BAD = [
    (b"", 400, "bad_json", "body"),
    (b"{", 400, "bad_json", "line 1"),
    (b"[]", 400, "bad_json", "an array"),
    (b"\xff{}", 400, "bad_json", "UTF-8"),
    (b'{"a":' + b"[" * 19_000, 400, "bad_json", "deeply"),
    (b'{"tool_name":"Read","tool_input":{"a":NaN}}', 400, "bad_json", "NaN"),
    (b"{}", 422, "validation", "tool_name"),
    (b'{"tool_name":null}', 422, "validation", "tool_name"),
    (b'{"tool_name":"  "}', 422, "validation", "tool_name"),
    (b'{"tool_name":5}', 422, "validation", "tool_name"),
    (b'{"tool_name":"Read","tool_input":5}', 422, "validation", "tool_input"),
    (b'{"tool_name":"Read","session_id":{}}', 422, "validation", "session_id"),
    (b'{"tool_name":"Read","agentId":5}', 422, "validation", "agentId"),
    (b'{"tool_name":"Read","session_id":"' + b"s" * 5_000 + b'"}', 422, "validation", "session_id"),
    (b'{"tool_name":"Write","tool_input":{"content":"' + b"x" * (8 << 20) + b'"}}', 413, "body_too_large", "8 MiB"),
]


@every(("body", "status", "code", "named"), BAD, ids=[f"{row[2]}-{row[3]}-{i}" for i, row in enumerate(BAD)])
def test_bad_input_is_a_problem_naming_the_field(http, body, status, code, named):
    response = http.post("/pre-tool-use", content=body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["code"], problem["status"]) == (code, status)
    assert named in problem["detail"]
    assert "Traceback" not in response.text


ODD = [
    {"tool_name": "Bash", "tool_input": None},
    {"tool_name": "Bash", "tool_input": {"command": 5}},
    {"tool_name": "Bash", "tool_input": {"command": ["ls", 5]}},
    {"tool_name": "Bash", "tool_input": {"command": "a\0b"}},
    {"tool_name": "Edit", "tool_input": {"file_path": {"a": 1}}},
    {"tool_name": "Task", "tool_input": {"subagent_type": [], "prompt": 1, "description": None}},
    {"tool_name": "mcp__x__y", "tool_input": {"n": 10**30, "f": 1e308}},
    {"tool_name": "X" * 4_000, "tool_input": {"a": {"b": [[[[{}]]]]}}},
    {"tool_name": "Read", "tool_input": {}, "unknown": [1, None], "transcript_path": None},
]


@every("payload", ODD)
def test_odd_calls_get_a_decision(http, session, payload):
    assert ask(http, session, payload)["decision"] in {"allow", "ask", "block"}


def test_half_a_surrogate_pair_costs_no_rule_its_effect(http, session):
    body = b'{"tool_name":"Bash","tool_input":{"command":"echo \\ud800; rm -rf /"}}'
    response = http.post("/pre-tool-use", content=body)
    assert response.status_code == 200
    assert response.json()["decision"] in {"block", "ask"}


@every("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_refused(http, method):
    response = http.request(method, "/pre-tool-use")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


def test_a_rewritten_input_with_half_a_surrogate_pair_is_answered(http, session):
    enable(http, session)
    body = (
        '{"session_id":"%s","tool_use_id":"t1","tool_name":"Task",'  # noqa: UP031 - JSON is full of braces
        '"tool_input":{"subagent_type":"explore","description":"d","prompt":"\\ud800"}}' % session["session_id"]
    )
    answers = [http.post("/pre-tool-use", content=body).json() for _ in range(2)]
    assert answers[0]["modifiedInput"]["model"] == "haiku"
    assert answers[0]["decision_id"] == answers[1]["decision_id"]


def subagent(http, session, kind="Explore"):
    body = {"hook_event_name": "SubagentStart", "cwd": "/w", "agent_id": "a1", "agent_type": kind} | session
    return http.post("/hooks/claude-code", json=body)


def test_an_agent_without_a_starting_call_is_reported_once(http, session):
    before = http.get("/status").json()["degraded"].get("agent_model", 0)
    first, second = subagent(http, session), subagent(http, session)
    assert "`Explore` started without a call" in first.json()["systemMessage"]
    assert "`haiku`" in first.json()["systemMessage"]
    assert "systemMessage" not in second.json()
    assert "agent_model" in second.headers["baton-degraded"]
    assert until(lambda: http.get("/status").json()["degraded"].get("agent_model", 0) >= before + 2)


def test_an_agent_that_a_call_started_is_expected(http, session):
    ask(http, session, {"tool_name": "Task", "tool_input": EXPLORE | {"subagent_type": "Explore"}})
    assert "baton-degraded" not in subagent(http, session).headers
    assert "agent_model" in subagent(http, session).headers["baton-degraded"]


def test_an_agent_that_no_roster_knows_may_run_on_any_model(http, session):
    assert "baton-degraded" not in subagent(http, session, "my-own-agent").headers
