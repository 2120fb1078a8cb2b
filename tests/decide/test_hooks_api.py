"""`POST /hooks/{client}` over real HTTP: each client's own dialect, and never an error."""

import json

import pytest

from tests.support.cases import every
from tests.support.http_calls import introduce
from tests.support.recorded import recorded
from tests.support.server import served, until

RECORDED = [(one, kind, payload) for one in ("claude_code", "codex") for kind, payload in recorded(one).items()]


def post(http, client, payload, event="", **headers):
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    response = http.post(f"/hooks/{client}", params={"event": event} if event else {}, content=body, headers=headers)
    assert response.status_code == 200
    return response


def pre(session, tool, given, **more):
    return session | {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given} | more


def enable(http, session, level="strict"):
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level}
    assert http.put("/mode", json=body).status_code == 200


@every(("client", "kind", "payload"), RECORDED)
def test_every_recorded_event_is_answered_in_its_client_s_dialect(http, client, kind, payload):
    answer = post(http, client.replace("_", "-"), payload).json()
    assert set(answer) <= {"hookSpecificOutput", "systemMessage", "decision", "reason"}, kind
    specific = answer.get("hookSpecificOutput", {"hookEventName": payload["hook_event_name"]})
    assert specific["hookEventName"] == payload["hook_event_name"]
    assert "null" not in json.dumps({k: v for k, v in specific.items() if k != "updatedInput"})


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_strict_denies_and_guidance_remarks(http, session, client):
    call = pre(session, "Write", {"file_path": "a.py", "content": "x"})
    enable(http, session)
    specific = post(http, client, call).json()["hookSpecificOutput"]
    assert specific["permissionDecision"] == "deny"
    ready = {"claude-code": "Task(", "codex": "spawn_agent("}[client]
    assert ready in specific["permissionDecisionReason"]
    enable(http, session, "guidance")
    specific = post(http, client, call).json()["hookSpecificOutput"]
    assert "permissionDecision" not in specific
    assert specific["additionalContext"].startswith("⚠️")


GLM, CLAUDE = "glm-5", "claude-opus-5-5"


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ([], "haiku"),
        ([({"model": CLAUDE}, {})], "haiku"),
        ([({"model": "qwen3-coder:30b"}, {})], None),
        ([({"model": GLM}, {}), ({"source": "resume"}, {})], None),
        ([({"model": GLM}, {}), ({"source": "resume", "model": CLAUDE}, {})], "haiku"),
        ([({}, {"Baton-Models": "gateway"})], None),
        ([({"model": GLM}, {"Baton-Models": "haiku gateway"})], "haiku"),
        ([({}, {"Baton-Models": "cloud model=claude-opus-4-6"})], None),
        ([({"model": CLAUDE}, {"Baton-Models": "gateway model=glm-5"})], "haiku"),
        ([({}, {"Baton-Models": "nonsense model"})], "haiku"),
    ],
)
def test_a_sub_agent_gets_no_alias_that_the_session_s_provider_does_not_know(http, session, starts, expected):
    for payload, headers in starts:
        post(
            http, "claude-code", session | {"hook_event_name": "SessionStart", "source": "startup"} | payload, **headers
        )
    call = pre(session, "Agent", {"subagent_type": "Explore", "prompt": "find x", "description": "d"})
    answer = post(http, "claude-code", call).json()
    assert answer.get("hookSpecificOutput", {}).get("updatedInput", {}).get("model") == expected


def test_codex_patches_are_edits(http, session):
    enable(http, session)
    patch = "*** Begin Patch\n*** Update File: src/a.py\n-x\n+y\n*** End Patch\n"
    specific = post(http, "codex", pre(session, "apply_patch", {"command": patch})).json()["hookSpecificOutput"]
    assert specific["permissionDecision"] == "deny"


def test_a_rewrite_leaves_claude_code_s_own_prompt(http, session):
    given = {"subagent_type": "Explore", "prompt": "p", "description": "d", "extra": None}
    answer = post(http, "claude-code", pre(session, "Agent", given)).json()
    assert answer == {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": given | {"model": "haiku"}}}


@every(
    ("tool_input", "answered"),
    [
        (b'{"command":"rm -rf /","timeout":1e999}', b'"permissionDecision":"deny"'),
        (b'{"command":"git status","timeout":1e999}', b"{}"),
        (b'{"subagent_type":"Explore","prompt":"p","description":"d","n":-1e999}', b'"n":-1e999,"model":"haiku"}'),
    ],
    ids=["deny", "no opinion", "rewrite"],
)
def test_a_call_with_a_number_that_no_float_holds_is_judged_and_keeps_it(http, tool_input, answered):
    tool = b"Agent" if b"subagent_type" in tool_input else b"Bash"
    body = b'{"hook_event_name":"PreToolUse","tool_name":"%s","tool_input":%s}' % (tool, tool_input)
    assert answered in post(http, "claude-code", body).content


def test_no_model_is_ever_put_into_a_codex_spawn(http, session):
    for tool in ("spawn_agent", "collaborationspawn_agent"):
        given = {"task_name": "t", "message": "m", "agent_type": "explore"}
        assert post(http, "codex", pre(session, tool, given)).json() == {}


def test_a_line_that_cannot_be_read_is_asked_about_and_denied_where_there_is_no_ask(http, session):
    call = pre(session, "Bash", {"command": "echo 'never closed"})
    assert post(http, "claude-code", call).json()["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert post(http, "codex", call).json()["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_allowed_calls_are_no_opinion_natively(http, session):
    enable(http, session)
    assert post(http, "claude-code", pre(session, "Bash", {"command": "git status"})).json() == {}
    assert post(http, "claude-code", pre(session, "Read", {"file_path": "a"})).json() == {}


def test_debug_headers_show_the_decision(http, session):
    call = pre(session, "Task", {"subagent_type": "ultrapower:explore", "prompt": "p", "description": "d"})
    quiet = post(http, "claude-code", call)
    assert "baton-decision" not in quiet.headers
    loud = post(http, "claude-code", call, **{"Baton-Debug": "1"})
    assert loud.headers["baton-decision"] == "rewrite models/inject"
    assert loud.headers["baton-message"].startswith("Auto-injecting model: haiku for ")
    assert loud.headers["baton-protocol"] == "1"
    assert loud.headers["baton-decision-id"]


def test_calls_without_a_project_have_the_session_s(server, http):
    introduce(server, projects=["acme/placed"], users=["paula"])
    ids = {"session_id": "placed", "cwd": "/home/dev/placed/sub"}
    start = ids | {"hook_event_name": "SessionStart", "source": "startup"}
    headers = {"Baton-User": "paula", "Baton-Project": "acme/placed", "Baton-Root": "/home/dev/placed"}
    http.put(
        "/mode",
        json={"scope": "user_project", "user": "paula", "project": "acme/placed", "enabled": True, "level": "strict"},
    )
    context = post(http, "claude-code", start, **headers).json()["hookSpecificOutput"]["additionalContext"]
    assert "orchestrator mode is on" in context
    call = pre(ids, "Edit", {"file_path": "/home/dev/placed/x.py"})
    assert (
        post(http, "claude-code", call, **{"Baton-User": "paula"}).json()["hookSpecificOutput"]["permissionDecision"]
        == "deny"
    )


FAILURES = [
    ("PreToolUse", "block", {"hookSpecificOutput": "deny"}),
    ("PreToolUse", "allow", {"hookSpecificOutput": "ask"}),
    ("PreToolUse", "", {"hookSpecificOutput": "ask"}),
    ("", "block", {"decision": "block"}),
    ("Stop", "block", {}),
    ("SessionStart", "block", {}),
]


@every(("event", "wanted", "expected"), FAILURES)
@every("body", [b"", b"{", b"[1]", b"\xff"])
def test_a_body_that_cannot_be_read_gets_the_configured_answer_and_is_counted(http, event, wanted, expected, body):
    before = sum(http.get("/status").json()["hook_failures"].values())
    answer = post(http, "claude-code", body, event, **({"Baton-On-Failure": wanted} if wanted else {})).json()
    if "hookSpecificOutput" in expected:
        assert answer["hookSpecificOutput"]["permissionDecision"] == expected["hookSpecificOutput"]
    else:
        assert {key: answer[key] for key in expected} == expected
        assert bool(answer) == bool(expected)
    assert sum(http.get("/status").json()["hook_failures"].values()) == before + 1


def test_a_body_of_megabytes_is_decided_on(http, session):
    enable(http, session)
    call = pre(session, "Write", {"file_path": "a.py", "content": "x" * (20 << 20)})
    assert post(http, "claude-code", call).json()["hookSpecificOutput"]["permissionDecision"] == "deny"


@every("name", ["emacs", "%1F%00%7F", "%C3%A4%E2%80%AE", "e" * 2_000], ids=lambda name: name[:9])
def test_an_unknown_client_gets_no_opinion_and_the_clients_that_there_are(http, name):
    response = post(http, name, {"hook_event_name": "PreToolUse"})
    assert response.json() == {}
    said = response.headers["baton-error"]
    assert "is not a supported client" in said or len(said) == 512
    assert "claude-code" in said or len(said) == 512


def test_an_override_is_announced_once_at_the_session_s_start_and_found_again(http, session):
    start = session | {"hook_event_name": "SessionStart", "source": "startup"}
    answer = post(http, "claude-code", start, **{"Baton-Disabled": "1"}).json()
    assert "recorded" in answer["systemMessage"]
    enable(http, session)
    call = pre(session, "Edit", {"file_path": "a.py"})
    assert post(http, "claude-code", call, **{"Baton-Disabled": "1"}).json() == {}
    query = {"session_id": session["session_id"], "overridden": True, "event": "SessionStart"}
    assert len(until(lambda: http.get("/decisions", params=query).json()["items"])) == 1


def test_variables_that_the_shim_left_out_are_named_at_a_session_s_start(http, session):
    headers = {"Baton-Ignored": "BATON_URL BATON_DISABLED <b>"}
    start = session | {"hook_event_name": "SessionStart", "source": "startup"}
    told = post(http, "claude-code", start, **headers).json()["systemMessage"]
    assert "Baton's hooks ignore `BATON_URL`, `BATON_DISABLED`" in told
    assert "<b>" not in told


def test_a_session_with_the_mode_off_gets_no_directives_follows_no_work_items_and_is_recorded(http, session):
    enable(http, session)
    start = session | {"hook_event_name": "SessionStart", "source": "startup"}
    headers = {"Baton-Orchestrator-Disabled": "1", "Baton-Work-Items": "3"}
    answer = post(http, "claude-code", start, **headers).json()
    assert "switches the orchestrator mode off" in answer["systemMessage"]
    assert "hookSpecificOutput" not in answer
    query = {"session_id": session["session_id"], "overridden": True, "event": "SessionStart"}
    assert len(until(lambda: http.get("/decisions", params=query).json()["items"])) == 1


@pytest.mark.parametrize(("protocol", "side"), [("0", "hooks"), ("2", "server")])
def test_a_version_mismatch_names_the_side_to_update(http, session, protocol, side):
    start = session | {"hook_event_name": "SessionStart", "source": "startup"}
    assert side in post(http, "claude-code", start, **{"Baton-Protocol": protocol}).json()["systemMessage"]


def test_a_client_is_shown_with_its_last_contact(http, session):
    post(http, "codex", pre(session, "Bash", {"command": "ls"}), **{"Baton-User": "wanda"})
    seen = until(lambda: [c for c in http.get("/status").json()["clients"] if c["user"] == "wanda"])
    assert [c["client"] for c in seen] == ["codex"]


SETS = """id: org/set
description: x
match: {tools: [Bash, Edit, exec_command, apply_patch, mcp__x__run, Agent, spawn_agent]}
decision: rewrite
reason: the team's own prompt
set: {command: echo evil, cmd: echo evil, file_path: /etc/evil, prompt: Be brief., message: Be brief.}
tests: {match: [ls], not_match: [{tool: Read}]}
"""
OTHER_TOOLS = [
    ("claude-code", "Bash", {"command": "ls -la"}),
    ("claude-code", "Edit", {"file_path": "a", "old_string": "b", "new_string": "c"}),
    ("claude-code", "mcp__x__run", {"prompt": "p"}),
    ("codex", "Bash", {"command": "ls -la"}),
    ("codex", "exec_command", {"cmd": "ls -la"}),
    ("codex", "apply_patch", {"command": "*** Begin Patch\n*** End Patch"}),
]


@pytest.fixture(scope="module")
def rewriting(tmp_path_factory):
    """A server whose operator wrote a rule that rewrites every tool it can name."""
    home = tmp_path_factory.mktemp("rewriting") / "home"
    (home / "policies" / "org").mkdir(parents=True)
    (home / "policies" / "org" / "set.yaml").write_text(SETS)
    with served(home) as server, server.client() as client:
        yield client


@pytest.mark.parametrize(("client", "tool", "given"), OTHER_TOOLS, ids=[f"{row[0]}: {row[1]}" for row in OTHER_TOOLS])
def test_rewrites_need_the_developer_s_acceptance(rewriting, session, client, tool, given):
    call = pre(session, tool, given)
    assert post(rewriting, client, call).json() == {}
    elsewhere = post(rewriting, client, call, **{"Baton-Accept-Rewrites": "Other, Read"})
    assert elsewhere.json() == {}
    accepted = post(rewriting, client, call, **{"Baton-Accept-Rewrites": f"Other, {tool}"}).json()
    assert accepted["hookSpecificOutput"]["updatedInput"]["command"] == "echo evil"
    assert "org/set" in accepted["systemMessage"]
    answer = rewriting.post("/pre-tool-use", json=session | {"tool_name": tool, "tool_input": given}).json()
    assert (answer["modifiedInput"], "message" in answer) == (given, False)
    assert {"id": "org/set", "effect": "shadow"} in answer["rules"]


@pytest.mark.parametrize(
    ("client", "tool", "key"), [("claude-code", "Agent", "prompt"), ("codex", "spawn_agent", "message")]
)
def test_a_changed_prompt_of_an_agent_is_shown_to_the_person(rewriting, session, client, tool, key):
    given = {"subagent_type": "x", key: "long", "description": "d", "model": "opus"}
    answer = post(rewriting, client, pre(session, tool, given)).json()
    assert answer["hookSpecificOutput"]["updatedInput"][key] == "Be brief."
    assert answer["systemMessage"].startswith("Baton changed `")
    assert f"`{key}`" in answer["systemMessage"]
    assert answer["systemMessage"].endswith("Rule org/set: the team's own prompt")
