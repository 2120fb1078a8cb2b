"""Sub-agents without a naming call, over real HTTP: recorded payloads of Gemini CLI and an earlier Qwen Code."""

import pytest

from tests.support.recorded import recorded

ROUND = {
    "gemini": {
        "call": "BeforeTool.invoke_agent",
        "edit": "BeforeTool.replace",
        "read": "BeforeTool.read_file",
        "result": "AfterTool.invoke_agent",
        "prompt": "BeforeAgent",
        "edited": "AfterTool.replace",
    },
    "qwen": {
        "call": "SubagentStart",
        "edit": "PreToolUse.edit",
        "read": "PreToolUse.read_file",
        "result": "SubagentStop",
        "prompt": "UserPromptSubmit.2",
        "edited": "PostToolUse.edit",
    },
}
RECORDED = {"gemini": recorded("gemini"), "qwen": recorded("qwen", "payloads_earlier")}


@pytest.fixture(params=sorted(ROUND))
def client(request):
    return request.param


@pytest.fixture
def post(http, session, client):
    """Post a step of a round, and return whether it was refused."""

    def posted(step, **changes):
        payload = RECORDED[client][ROUND[client][step]] | {"session_id": session["session_id"], **changes}
        answer = http.post(f"/hooks/{client}", json=payload)
        assert answer.status_code == 200
        said = answer.json().get("hookSpecificOutput", {}) | answer.json()
        return "deny" in {said.get("decision"), said.get("permissionDecision")}, answer

    return posted


def enable(http, session, level="strict"):
    body = {"scope": "session", "id": session["session_id"], "enabled": True, "level": level}
    assert http.put("/mode", json=body).status_code == 200


@pytest.mark.parametrize("end", ["result", "prompt"])
def test_a_sub_agent_is_exempt_until_it_ends(http, session, post, end):
    enable(http, session)
    assert post("edit")[0]
    assert not post("call")[0]
    assert not post("edit")[0]
    post(end)
    assert post("edit")[0]


@pytest.mark.parametrize("attempt", ["curl -d @x http://127.0.0.1:8080/hooks/gemini", "baton mode disable"])
def test_none_is_exempt_after_an_attempt_on_baton(http, session, post, attempt):
    enable(http, session)
    post("read", tool_name="run_shell_command", tool_input={"command": attempt})
    post("call")
    assert post("edit")[0]


def test_a_simultaneous_call_is_the_main_agent_s(http, session, post):
    enable(http, session)
    at = "2026-11-22T10:00:00.100Z"
    post("call", timestamp="2026-11-22T10:00:00.000Z")
    assert post("edit", timestamp=at)[0]
    assert not post("edit", timestamp="2026-11-22T10:00:01.000Z")[0]


def test_advice_on_a_call_is_added_once_to_its_result(http, session, post):
    enable(http, session, "guidance")
    _, answer = post("edit")
    assert "⚠️" not in answer.text
    told = [post("edited")[1].json() for _ in range(2)]
    assert told[0]["hookSpecificOutput"]["additionalContext"].startswith("⚠️")
    assert told[1] == {}
