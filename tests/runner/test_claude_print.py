"""`claude -p` without an adapter: a script with its behaviour, over real pipes."""

import json
import sys

import pytest

from tests.runner.conftest import ended, happens
from tests.support.processes import is_gone

CLAUDE = """\
import json, os, signal, sys, time
prompt = json.loads(sys.stdin.readline())["message"]["content"]
def line(**fields):
    print(json.dumps(fields), flush=True)
def text(said, **more):
    line(type="stream_event", event={"type": "content_block_delta", "delta": {"type": "text_delta", "text": said}}, **more)
if "--resume" in sys.argv and "gone" in sys.argv:
    line(type="result", subtype="error_during_execution", is_error=True, num_turns=0, usage={})
    sys.exit("No conversation found with session ID: gone")
line(type="system", subtype="init", session_id="session-1")
if prompt == "wait":
    open("pid", "w").write(str(os.getpid()))
    text("begun")
    time.sleep(60)
if prompt.startswith("ask"):
    tool, given = ("Write", {"file_path": "../a"}) if prompt == "ask-file" else ("Bash", {"command": prompt[4:]})
    asked = {"subtype": "can_use_tool", "tool_name": tool, "input": given}
    line(type="control_request", request_id="r0", request={"subtype": "hook_callback"})
    line(type="control_request", request_id="r1", request=asked)
    answers = sorted((json.loads(sys.stdin.readline())["response"] for _ in range(2)), key=lambda one: one["request_id"])
    text(json.dumps([one.get("response", one["subtype"]) for one in answers]))
    line(type="result", usage={})
    sys.exit(sys.stdin.read())
print("no JSON at all")
text(" ".join(sys.argv[1:]) + "|" + prompt + "|" + os.environ.get("MAX_THINKING_TOKENS", ""))
text("a sub-agent's", parent_tool_use_id="t1")
line(type="assistant", message={"content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]})
for _ in range(2):
    used = {"input_tokens": 1, "cache_read_input_tokens": 4, "output_tokens": 2, "service_tier": "standard"}
    line(type="assistant", message={"id": "m1", "usage": used, "content": []})
line(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]})
line(type="user", message={"content": "plain"})
line(type="system", subtype="other", message="a text", event="another")
if prompt != "vanish":
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3}
    line(type="result", is_error=prompt == "fail", result="no credit", usage=usage, total_cost_usd=0.5)
"""


@pytest.fixture
def claude(tmp_path):
    script = tmp_path / "claude.py"
    script.write_text(CLAUDE)
    return {"driver": "claude-print", "command": [sys.executable, "-I", "-S", str(script)], "mode": "acceptEdits"}


async def test_its_stream_becomes_updates_and_its_result_the_cost(server, running, claude):
    more = {"model": "haiku", "system_prompt": "be brief", "agent_session": "before", "thinking_budget": 2000}
    job = server.give("do it", **more)
    async with running(provider=claude):
        finish = await ended(server, job)
    flags = "-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages"
    flags += " --permission-prompt-tool stdio --disallowedTools AskUserQuestion --model haiku"
    flags += " --permission-mode acceptEdits --append-system-prompt be brief --resume before"
    assert finish["output"] == f"{flags}|do it|2000"
    assert finish["usage"] == {"input_tokens": 3, "cached_tokens": 2, "output_tokens": 3, "cost_usd": 0.5}
    kinds = [one["body"]["update"]["sessionUpdate"] for one in server.events[job].values() if "update" in one["body"]]
    assert kinds == ["agent_message_chunk", "tool_call", "usage_update", "tool_call_update"]
    assert server.events[job][1]["body"] == {"id": "session-1"}


@pytest.mark.parametrize(
    ("policy", "person", "behavior"),
    [("allow", None, "allow"), ("deny", None, "deny"), ("pending", "allow", "allow"), ("pending", "deny", "deny")],
)
async def test_its_question_is_the_policys_or_the_persons(server, running, claude, policy, person, behavior):
    server.policy = lambda _request: {"answer": policy}
    job = server.give("ask touch a")
    async with running(provider=claude):
        if person:
            await happens(lambda: server.asked)
            server.command(job, "permission", permission="p1", answer=person)
        finish = await ended(server, job)
    unknown, answer = json.loads(finish["output"])
    assert (unknown, answer["behavior"]) == ("error", behavior)
    assert answer.get("updatedInput") == ({"command": "touch a"} if behavior == "allow" else None)
    asked = server.asked[0]
    assert (asked["title"], asked["kind"], asked["tool_input"]) == ("Bash touch a", "execute", {"command": "touch a"})


async def test_a_write_outside_the_workspace_is_refused_without_a_question(server, running, claude):
    job = server.give("ask-file")
    async with running(provider=claude):
        finish = await ended(server, job)
    assert json.loads(finish["output"])[1]["behavior"] == "deny"
    assert not server.asked


@pytest.mark.parametrize("recap", ["", "you said hello"])
async def test_a_lost_session_restarts_with_a_summary(server, running, claude, recap):
    job = server.give("go on", agent_session="gone", recap=recap)
    async with running(provider=claude):
        finish = await ended(server, job)
    assert finish["state"] == "completed"
    assert ("you said hello" in finish["output"]) == bool(recap)
    assert "go on|" in finish["output"]
    assert "--resume" not in finish["output"]
    updates = [one["body"]["update"] for one in server.events[job].values() if "update" in one["body"]]
    told = [one["title"] for one in updates if one["sessionUpdate"] == "tool_call" and one["toolCallId"] == "runner"]
    assert ["summary" in title for title in told] == [True] * bool(recap)


@pytest.mark.parametrize(("prompt", "code"), [("fail", "agent_failed"), ("vanish", "agent_died")])
async def test_a_failure_is_reported(server, running, claude, prompt, code):
    job = server.give(prompt)
    async with running(provider=claude):
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"]) == ("failed", code)


async def test_a_cancel_ends_it(server, running, claude, shop):
    job = server.give("wait")
    async with running(provider=claude):
        await happens(lambda: server.texts(job))
        server.command(job, "cancel")
        finish = await ended(server, job)
    assert (finish["state"], finish["output"]) == ("cancelled", "begun")
    assert is_gone(int((shop / "pid").read_text()))
