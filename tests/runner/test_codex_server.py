"""`codex app-server` without an adapter: a script with its behaviour, over real pipes."""

import json
import sys

import pytest

from tests.runner.conftest import ended, happens
from tests.support.processes import is_gone

CODEX = """\
import json, os, sys, time
def line(**fields):
    print(json.dumps(fields), flush=True)
def told(method, thread="thread-1", **params):
    line(method=method, params={"threadId": thread, **params})
def text(said, **more):
    told("item/agentMessage/delta", itemId="m1", delta=said, **more)
def item(method, **fields):
    told("item/" + method, item=fields)
def ask(number, method, **params):
    line(id=number, method=method, params={"threadId": "thread-1", **params})
    return json.loads(sys.stdin.readline())
print("no JSON at all")
for given in sys.stdin:
    request = json.loads(given)
    method, params = request["method"], request["params"]
    if method == "turn/interrupt":
        told("turn/completed", turn={"status": "interrupted"})
        continue
    if params.get("threadId") == "gone" or params.get("model") == "none":
        line(id=request["id"], error={"code": -32600, "message": "no rollout found"})
        continue
    if method.startswith("thread/"):
        opened = {"how": method, **{name: value for name, value in params.items() if name != "cwd"}}
    line(id=request["id"], result={"thread": {"id": "thread-1"}, "turn": {"id": "turn-1"}})
    if method != "turn/start":
        continue
    prompt = params["input"][0]["text"]
    if prompt == "vanish":
        sys.exit("gone")
    if prompt == "wait":
        open("pid", "w").write(str(os.getpid()))
        text("begun")
        continue
    if prompt == "ask-command":
        answers = [ask(0, "item/commandExecution/requestApproval", command="touch a"), ask(1, "item/tool/call")]
        text(json.dumps([one.get("result", one.get("error", {}).get("code")) for one in answers]))
    elif prompt == "ask-file":
        item("started", type="fileChange", id="f1", changes=[{"path": "a", "kind": {"type": "update", "move_path": "/etc/passwd"}}])
        text(json.dumps(ask(0, "item/fileChange/requestApproval", itemId="f1")["result"]))
    elif prompt == "ask-tools":
        more = {"mode": "form", "message": "Allow?", "_meta": {"tool_params": {"task": "x"}}}
        text(json.dumps([ask(0, "mcpServer/elicitation/request", serverName=name, **more)["result"]["action"]
                         for name in ("baton", "other")]))
    else:
        item("started", type="commandExecution", id="c1", command="ls", status="inProgress")
        item("completed", type="commandExecution", id="c1", status="completed", aggregatedOutput="a.txt")
        text("a sub-agent's", thread="thread-2")
        item("completed", type="agentMessage", id="m0", text=json.dumps(opened | {"prompt": prompt}))
        text("")
        item("completed", type="agentMessage", id="m1", text="shown already")
        for _ in range(2):
            used = {"last": {"inputTokens": 3, "cachedInputTokens": 2, "outputTokens": 1}}
            told("thread/tokenUsage/updated", tokenUsage=used)
    failed = {"status": "failed", "error": {"message": "no credit"}}
    told("turn/completed", turn=failed if prompt == "fail" else {"status": "completed"})
"""


@pytest.fixture
def codex(tmp_path):
    script = tmp_path / "codex.py"
    script.write_text(CODEX)
    return {"driver": "codex-server", "command": [sys.executable, "-I", "-S", str(script)], "mode": "workspace-write"}


async def test_its_items_become_updates_and_its_counts_the_usage(server, running, codex):
    job = server.give(
        "do it",
        model="luna",
        system_prompt="be brief",
        agent_session="before",
        recap="never shown",
        agent_type="planner",
    )
    async with running(provider=codex):
        finish = await ended(server, job)
    opened = json.loads(finish["output"])
    assert (opened["how"], opened["threadId"], opened["prompt"]) == ("thread/resume", "before", "do it")
    assert (opened["model"], opened["sandbox"], opened["approvalPolicy"]) == ("luna", "workspace-write", "on-request")
    assert opened["developerInstructions"] == "be brief"
    assert opened["config"]["mcp_servers.baton"]["args"] == ["mcp"]
    assert finish["usage"] == {"input_tokens": 6, "cached_tokens": 4, "output_tokens": 2}
    kinds = [one["body"]["update"]["sessionUpdate"] for one in server.events[job].values() if "update" in one["body"]]
    assert [kind for kind in kinds if kind != "agent_message_chunk"] == [
        "tool_call", "tool_call_update", "usage_update", "usage_update",
    ]  # fmt: skip
    assert server.events[job][1]["body"] == {"id": "thread-1"}


@pytest.mark.parametrize(
    ("policy", "person", "decision"),
    [
        ("allow", None, "accept"),
        ("deny", None, "decline"),
        ("pending", "allow", "accept"),
        ("pending", "deny", "decline"),
    ],
)
async def test_its_question_is_the_policys_or_the_persons(server, running, codex, policy, person, decision):
    server.policy = lambda _request: {"answer": policy}
    job = server.give("ask-command")
    async with running(provider=codex):
        if person:
            await happens(lambda: server.asked)
            server.command(job, "permission", permission="p1", answer=person)
        finish = await ended(server, job)
    assert json.loads(finish["output"]) == [{"decision": decision}, -32601]
    asked = server.asked[0]
    assert (asked["title"], asked["kind"], asked["tool_input"]) == ("Bash touch a", "execute", {"command": "touch a"})


async def test_a_write_outside_the_workspace_is_refused_without_a_question(server, running, codex):
    job = server.give("ask-file")
    async with running(provider=codex):
        finish = await ended(server, job)
    assert json.loads(finish["output"]) == {"decision": "decline"}
    assert not server.asked


async def test_only_batons_own_tools_need_no_question(server, running, codex):
    server.policy = lambda _request: {"answer": "deny"}
    job = server.give("ask-tools", agent_type="planner")
    async with running(provider=codex):
        finish = await ended(server, job)
    assert json.loads(finish["output"]) == ["accept", "decline"]
    assert [(one["tool_name"], one["tool_input"]) for one in server.asked] == [("mcp__other", {"task": "x"})]


async def test_a_lost_thread_restarts_with_a_summary(server, running, codex):
    job = server.give("go on", agent_session="gone", recap="you said hello")
    async with running(provider=codex):
        finish = await ended(server, job)
    opened = json.loads(finish["output"])
    assert (finish["state"], opened["how"]) == ("completed", "thread/start")
    assert "you said hello" in opened["prompt"]
    updates = [one["body"]["update"] for one in server.events[job].values() if "update" in one["body"]]
    assert "summary" in next(one["title"] for one in updates if one.get("toolCallId") == "runner")


@pytest.mark.parametrize(
    ("prompt", "model", "code", "message"),
    [
        ("fail", "", "agent_failed", "no credit"),
        ("vanish", "", "agent_died", ""),
        ("go", "none", "agent_refused", "no rollout found"),
    ],
)
async def test_a_failure_is_reported(server, running, codex, prompt, model, code, message):
    job = server.give(prompt, model=model)
    async with running(provider=codex):
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"]) == ("failed", code)
    assert message in finish["error"]["detail"]


async def test_a_cancel_ends_it(server, running, codex, shop):
    job = server.give("wait")
    async with running(provider=codex):
        await happens(lambda: server.texts(job))
        server.command(job, "cancel")
        finish = await ended(server, job)
    assert (finish["state"], finish["output"]) == ("cancelled", "begun")
    assert is_gone(int((shop / "pid").read_text()))
