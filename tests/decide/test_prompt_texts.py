"""Shell lines of skills and commands, and calls changed by other hooks, over real HTTP."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.cases import every
from tests.support.server import until

HOOKS = "/hooks/claude-code"
FORCE = "git push --force origin main"
ASKED = "$tool -rf build"


def post(http, session, event, path=HOOKS, **more):
    answer = http.post(path, json=session | {"hook_event_name": event} | more)
    assert answer.status_code == 200, answer.text
    return answer


def line(http, session, command, **more):
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1:preamble-0"} | more
    return post(http, session, "PreSkillShellCommand", **call).json()


def texts(http, session, text, event="PreToolUse", **more):
    """Announce a skill, and send its text as the shim does."""
    wanted = post(http, session, event, **more).headers["baton-wants"].split(" ")
    answer = http.post(HOOKS, params={"event": event, "about": wanted[2]}, content=text.encode())
    assert answer.status_code == 200, answer.text
    return wanted[1], answer.json()


def skill(http, session, text, name="hello", **more):
    return texts(http, session, text, tool_name="Skill", tool_use_id="t", tool_input={"skill": name} | more)[1]


def decided(http, session):
    query = {"session_id": session["session_id"], "event": "PreToolUse"}
    return [(one["effect"], one["outcome"]) for one in http.get("/decisions", params=query).json()["items"]]


@pytest.mark.parametrize(("command", "stopped"), [("git status", False), (FORCE, True), (ASKED, True)])
def test_a_line_in_a_prompt_is_refused_or_allowed(http, session, command, stopped):
    said = line(http, session, command, command_name="deploy", invoked_by="user")
    specific = said.get("hookSpecificOutput", {})
    assert specific.get("permissionDecision") == ("deny" if stopped else None)
    assert specific.get("hookEventName") == ("PreSkillShellCommand" if stopped else None)
    until(lambda: len(decided(http, session)) == 1)


def test_a_line_is_held_to_no_mode_and_is_no_look_up(http, session):
    http.put("/mode", json={"scope": "session", "id": session["session_id"], "enabled": True, "level": "strict"})
    for command in ("cat a.py", "cat b.py", "npm test"):
        assert line(http, session, command, tool_use_id=command) == {}
    call = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}, "tool_use_id": "t"}
    assert "deny" not in post(http, session, "PreToolUse", **call).text


def test_the_strictest_line_of_a_skill_answers_its_call(http, session):
    assert skill(http, session, "It is !`git status`.") == {}
    asked = skill(http, session, f"!`git status` !`{ASKED}`")["hookSpecificOutput"]
    assert asked["permissionDecision"] == "ask"
    denied = skill(http, session, f"!`{ASKED}`\n```!\n{FORCE}\n```")["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
    assert f"Loading `hello` would run `{FORCE}`" in denied["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("text", "args", "effect"),
    [
        ("!`git push $ARGUMENTS`", "--force origin main", "deny"),
        ("!`git push $1 origin $2`", "--force main", "deny"),
        ("!`git push $ARGUMENTS[0] origin main`", "--force", "deny"),
        ("!`echo $ARGUMENTS`", "; rm -rf ~", "deny"),
        ("!`echo $ARGUMENTS`", "x" * 5_000, "ask"),
        ("!`git push $ARGUMENTS`", "origin feature", ""),
        ("!`echo $9`", "a", ""),
    ],
)
def test_arguments_are_filled_in(http, session, text, args, effect):
    said = skill(http, session, text, args=args)
    assert said.get("hookSpecificOutput", {}).get("permissionDecision", "") == effect


def test_more_lines_than_are_read_are_asked_about(http, session):
    for text in ("!`ls`\n" * 101, "x" * 1_000_000):
        assert skill(http, session, text)["hookSpecificOutput"]["permissionDecision"] == "ask"


@pytest.mark.parametrize("command", [FORCE, ASKED])
def test_a_person_s_command_with_a_stopped_line_is_not_expanded(http, session, command):
    more = {"command_name": "team:deploy", "command_args": "", "expansion_type": "slash_command", "prompt": "/x"}
    name, said = texts(http, session, f"!`{command}`", "UserPromptExpansion", **more)
    assert (name, said["decision"]) == ("deploy", "block")
    assert command in said["reason"]


@pytest.mark.parametrize(
    "call", [{"tool_name": "Bash", "tool_input": {"command": "ls"}}, {"tool_name": "Skill", "tool_input": {}}]
)
def test_no_prompt_is_requested_for_other_calls(http, session, call):
    assert "baton-wants" not in post(http, session, "PreToolUse", tool_use_id="t", **call).headers


@every("about", ["x", "eyJ9", "WyJhIl0="])
def test_an_unknown_about_is_a_question_and_no_error(http, about):
    answer = http.post(HOOKS, params={"event": "PreToolUse", "about": about}, content=b"!`ls`")
    assert answer.status_code == 200
    said = answer.json()["hookSpecificOutput"]
    assert said["permissionDecision"] == "ask"
    assert "update Baton's hooks" in said["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("ran", "told"),
    [
        ({"command": "echo hello", "description": "Say hello", "timeout": 2000}, ""),
        ({"command": "echo CHANGED"}, "Another hook or program changed a call of `Bash`"),
        ({"command": FORCE}, "Baton would have stopped it: rule guardrails/force-push"),
    ],
)
def test_a_call_changed_by_another_hook_is_judged_again(http, session, ran, told):
    call = {"tool_name": "Bash", "tool_use_id": "toolu_9"}
    post(http, session, "PreToolUse", tool_input={"command": "echo hello"}, **call)
    said = post(http, session, "PostToolUse", tool_input=ran, tool_response={}, **call).json()
    assert told in said.get("systemMessage", "")
    assert bool(said) is bool(told)
    until(lambda: decided(http, session) == [("abstain", "changed_by_other" if told else "ran")])
    at_the_end = post(http, session, "Stop").json().get("systemMessage", "")
    assert ("another hook or program" in at_the_end) is bool(told)
    assert post(http, session, "UserPromptSubmit", prompt="go on").json().get("systemMessage") is None


def test_a_rule_that_a_person_lifted_does_not_refuse_in_the_dialog(http, session):
    mine = session["session_id"]
    http.put("/mode", json={"scope": "session", "id": mine, "enabled": True, "level": "strict"})
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"}}
    asked = session | {"hook_event_name": "PermissionRequest"} | edit
    assert "deny" in http.post(HOOKS, json=asked, headers={"Baton-User": "ann"}).text
    call = session | edit
    refused = http.post("/pre-tool-use", json=call, headers={"Baton-User": "ann"}).json()["decision_id"]
    until(lambda: http.get(f"/decisions/{refused}").status_code == 200)
    made = http.post("/exceptions", json={"decision_id": refused, "reason": "r"}).json()
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    granted = http.post(f"/exceptions/{made['id']}/grant", json={"scope": "once", "until": soon})
    assert granted.status_code == 200, granted.text
    passed = http.post("/pre-tool-use", json=call, headers={"Baton-User": "ann"}).json()
    assert passed["decision"] == "allow"
    assert http.post(HOOKS, json=asked, headers={"Baton-User": "ann"}).json() == {}
