"""Runners and the real server: every job once, every chunk once, despite any kill."""

import asyncio
import io
import json
import os
import signal
import subprocess
from contextlib import asynccontextmanager

import httpx2
import msgspec
import pytest

from baton.runner.config import RunnerConfig
from baton.runner.home import Home
from baton.runner.runner import JobRunner, TerminalProgress
from baton.runner.wire import Link
from tests.hooks.shim import HOOKS
from tests.runner.conftest import AGENT, happens
from tests.support.people import signed_in
from tests.support.processes import is_gone
from tests.support.server import BATON, served, serving

pytestmark = pytest.mark.slow("starts runners of its own")

ONCE = """\
#!/bin/sh
read -r line
prompt=$(printf %s "$line" | sed 's/.*"content":"\\([^"]*\\)".*/\\1/')
echo "$prompt" >> ran
echo '{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"did '$prompt'"}}}'
echo '{"type":"result","usage":{"input_tokens":1,"output_tokens":1}}'
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    with served(tmp_path_factory.mktemp("real") / "home", BATON_PERMISSION_S="30") as server:
        yield server


@pytest.fixture
def api(real):
    """One person a test, so that no runner gets another test's jobs."""
    with real.client(**{"Baton-User": f"user{os.urandom(4).hex()}"}) as client:
        yield client


@pytest.fixture
def runner(real, api, shop, tmp_path):
    @asynccontextmanager
    async def run(name="one", provider=None, **more):
        providers = {"codex": provider or {"command": AGENT}}
        settings = {"workspaces": {"shop": str(shop)}, "providers": providers, "cancel_grace_s": 0.3} | more
        config = msgspec.convert(settings, RunnerConfig)
        user = api.headers["Baton-User"]
        link = Link(url=real.url, user=user, token=real.token_of(user))
        made = JobRunner(config, link, Home(tmp_path / name), dict(os.environ), TerminalProgress(io.StringIO()))
        task = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            made.drain()
            made.drain()
            await asyncio.wait_for(task, 60)

    return run


def delegate(api, prompt, **more):
    answer = api.post("/delegate", json={"user_prompt": prompt, **more})
    assert answer.status_code == 202, answer.text
    return answer.json()["job"]["id"]


def state(api, job):
    return api.get(f"/jobs/{job}").json()


async def ended(api, job):
    return await happens(
        lambda: (one := state(api, job))["state"] in {"completed", "failed", "cancelled"} and one, every_s=0.1
    )


def has_said(api, job, text):
    return text in api.get(f"/jobs/{job}/output").json()["output"]


def told(api, job):
    """The events of an ended job, as a reader of its stream gets them."""
    with api.stream("GET", f"/jobs/{job}/events") as stream:
        events = [json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:")]
    assert [event["no"] for event in events] == list(range(1, len(events) + 1))
    return events


def agent_said(events):
    updates = [event["update"] for event in events if event.get("source") == "delegated_agent"]
    return "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")


async def test_a_delegation_streams_whole_and_in_order(api, runner):
    job = delegate(api, "count 200\nsay the end", workspace="shop")
    async with runner():
        done = await ended(api, job)
    whole = "".join(f"{n} " for n in range(200)) + "the end"
    assert (done["state"], agent_said(await asyncio.to_thread(told, api, job))) == ("completed", whole)
    assert api.get(f"/jobs/{job}/output").json()["output"] == whole
    assert done["usage"] == {"input_tokens": 6, "cached_tokens": 1, "output_tokens": 3, "cost_usd": 0.25}


async def test_status_shows_the_runner_as_the_server_sees_it(real, api, runner, tmp_path):
    async with runner():
        (seen,) = await happens(lambda: api.get("/runners").json()["items"])
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BATON_URL": real.url}
        env["BATON_TOKEN"] = real.token_of(seen["user"])
        shown = await asyncio.to_thread(
            subprocess.run, [BATON, "runner", "status"], env=env, capture_output=True, text=True, check=True
        )
    row = shown.stdout.splitlines()[1].split()
    assert (row[0], row[3:5]) == (seen["id"], ["codex", "shop"])


async def test_runners_of_one_machine_do_one_job_in_place_in_a_folder_at_a_time(api, runner, shop, tmp_path):
    (tmp_path / "link").symlink_to(shop)
    first_ends, second_ends = tmp_path / "first", tmp_path / "second"
    async with runner(), runner(name="two", workspaces={"other": str(tmp_path / "link")}):
        await happens(lambda: len(api.get("/runners").json()["items"]) == 2)
        first = delegate(api, f"say begun\nawait {first_ends}", workspace="shop")
        await happens(lambda: has_said(api, first, "begun"))
        second = delegate(api, f"say begun\nawait {second_ends}", workspace="other")
        beside = delegate(api, "say beside", workspace="other", concurrent=True)
        assert (await ended(api, beside))["state"] == "completed"
        why = state(api, second)["waiting"]
        assert (why["reason"], first in why["detail"]) == ("folder_busy", True)
        first_ends.touch()
        await happens(lambda: has_said(api, second, "begun"))
        assert state(api, first)["state"] == "completed"
        second_ends.touch()
        assert (await ended(api, second))["state"] == "completed"


async def test_a_thread_continues_on_its_runner_only(api, runner):
    async with runner(name="two"):
        first = delegate(api, "say one")
        assert (await ended(api, first))["state"] == "completed"
    async with runner(name="one"):
        more = delegate(api, "past", thread=first, isolation="worktree")
        fresh = delegate(api, "past", thread="fresh")
        await ended(api, fresh)
        assert api.get(f"/jobs/{fresh}/output").json()["output"] != "remembered"
        assert state(api, more)["state"] == "queued"
        assert api.post(f"/jobs/{more}/cancel").json()["state"] == "cancelled"
        async with runner(name="two"):
            more = delegate(api, "past", thread=first)
            assert (await ended(api, more))["runner"]["id"] == state(api, first)["runner"]["id"]
            assert api.get(f"/jobs/{more}/output").json()["output"] == "remembered"


async def test_a_cancel_reaches_an_agent_that_ignores_it(api, runner, tmp_path):
    pid = tmp_path / "pid"
    job = delegate(api, f"pid {pid}\nignore\nsay begun\nsleep 60")
    async with runner():
        await happens(lambda: has_said(api, job, "begun"))
        api.post(f"/jobs/{job}/cancel")
        assert (await ended(api, job))["state"] == "cancelled"
        assert is_gone(int(pid.read_text()))


@pytest.mark.parametrize(("answer", "said"), [("allow", "allow_once"), ("deny", "reject_once")])
async def test_a_persons_answer_reaches_the_agent(api, runner, answer, said):
    call = {"kind": "edit", "title": "write b.txt", "rawInput": {"file_path": "b.txt", "content": "x"}}
    job = delegate(api, f"ask {json.dumps(call)}")
    async with runner():
        await happens(lambda: state(api, job)["state"] == "awaiting_permission")
        (asked,) = api.get(f"/approvals?job={job}").json()["items"]
        assert api.post(f"/approvals/{asked['id']}", json={"answer": answer}).is_success
        done = await ended(api, job)
    assert agent_said(await asyncio.to_thread(told, api, job)) == said
    assert done["state"] == "completed"


async def test_a_guardrail_answers_an_agents_request_without_a_person(api, runner):
    call = {"kind": "execute", "title": "rm", "rawInput": {"command": "rm -rf /"}}
    tool = "ask " + json.dumps(call | {"toolCallId": "t2"})
    job = delegate(api, tool)
    async with runner():
        await ended(api, job)
    assert agent_said(await asyncio.to_thread(told, api, job)) == "reject_once"


@pytest.mark.slow("starts a hundred agents")
async def test_a_hundred_jobs_over_four_runners_run_once_each(api, runner, shop, tmp_path):
    script = tmp_path / "once"
    script.write_text(ONCE)
    script.chmod(0o755)
    jobs = {delegate(api, f"task-{number}"): f"task-{number}" for number in range(100)}
    provider = {"driver": "claude-print", "command": [str(script)]}
    async with (
        runner("a", provider, slots=9),
        runner("b", provider, slots=9),
        runner("c", provider, slots=9),
        runner("d", provider, slots=9),
    ):
        query = {"state": "completed", "limit": "200"}
        await happens(lambda: len(api.get("/jobs", params=query).json()["items"]) == 100, 240, every_s=0.3)
    assert sorted((shop / "ran").read_text().split()) == sorted(jobs.values())
    assert len({state(api, job)["runner"]["id"] for job in list(jobs)[::10]}) > 1


@pytest.mark.slow("kills a server in the middle and starts it again")
async def test_a_server_killed_in_the_middle_of_a_stream_loses_and_doubles_nothing(real, api, runner, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    job = delegate(api, f"count 50\nawait {first}\ncount 50\nawait {second}\ncount 50", workspace="shop")
    async with runner() as one:
        await happens(lambda: state(api, job)["events"] > 20)
        await asyncio.to_thread(kill, real)
        first.touch()
        (spool,) = (tmp_path / "one" / "spool").iterdir()
        await happens(lambda: spool.read_bytes().count(b'"49 "') == 2)
        await asyncio.to_thread(real.start)
        one._server._client.base_url = real.url
        api.base_url = httpx2.URL(real.url)
        second.touch()
        done = await ended(api, job)
    numbers = "".join(f"{n} " for n in range(50))
    assert agent_said(await asyncio.to_thread(told, api, job)) == numbers * 3
    assert done["state"] == "completed"


def kill(real):
    real.process.send_signal(signal.SIGKILL)
    real.process.wait(60)


async def test_a_restarted_runner_s_job_fails_and_keeps_its_events(api, runner):
    job = delegate(api, "say begun\nsleep 60")
    async with runner() as one:
        await happens(lambda: has_said(api, job, "begun"))
        for task in one._running.values():
            task.cancel()
        await asyncio.gather(*one._running.values(), return_exceptions=True)
    async with runner():
        done = await ended(api, job)
    assert (done["state"], done["error"]["code"]) == ("failed", "runner_lost")
    assert agent_said(await asyncio.to_thread(told, api, job)) == "begun"


async def test_a_second_delegation_continues_the_agent_s_session(api, runner):
    first = delegate(api, "past", session_id="conversation")
    async with runner():
        await ended(api, first)
        second = delegate(api, "past", session_id="conversation")
        await ended(api, second)
    assert agent_said(await asyncio.to_thread(told, api, first)) == "None"
    assert agent_said(await asyncio.to_thread(told, api, second)) == "remembered"


HOOKED = """\
#!/bin/sh
read -r prompt
printf %s "$BATON_TOKEN" > token
printf '{"session_id":"inner","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}' |
  HOME=$PWD sh SHIM claude-code PreToolUse > answer
env > environment
while [ ! -e go ]; do sleep 0.05; done
echo '{"type":"result","usage":{"input_tokens":1,"output_tokens":1}}'
"""


async def test_an_agents_hooks_work_with_the_token_of_its_attempt_and_of_no_other(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "cloud")
    script = tmp_path / "claude"
    script.write_text(HOOKED.replace("SHIM", str(HOOKS / "baton-hook.sh")))
    script.chmod(0o700)
    people = [("ada", "developer", "web"), ("lea", "lead", "web")]
    with serving(tmp_path / "asking", BATON_AUTH="on") as server, signed_in(server, *people) as clients:
        ada = clients["ada"]
        owner = ada.headers["Authorization"].removeprefix("Bearer ")
        providers = {"claude_code": {"driver": "claude-print", "command": [str(script)]}}
        config = msgspec.convert({"slots": 1, "workspaces": {"shop": str(shop)}, "providers": providers}, RunnerConfig)
        env = {**os.environ, "BATON_TOKEN": owner, "BATON_URL": server.url}
        made = JobRunner(
            config, Link(url=server.url, token=owner), Home(tmp_path / "one"), env, TerminalProgress(io.StringIO())
        )
        running = asyncio.create_task(made.run())
        job, other = (delegate(ada, "go", provider="claude_code", session_id=name) for name in ("s", "t"))
        try:
            await happens((shop / "environment").exists)
            answer = await happens((shop / "answer").read_text)
            assert json.loads(answer)["hookSpecificOutput"]["permissionDecision"] == "deny"
            token, given = (shop / "token").read_text(), (shop / "environment").read_text()
            assert token.startswith("baton_job_")
            assert owner not in given
            assert "cloud" not in given
            with server.client(Authorization=f"Bearer {token}") as agent:
                assert [agent.get(f"/jobs/{one}").status_code for one in (job, other)] == [200, 404]
                refused = [
                    agent.get("/jobs"),
                    agent.get("/decisions"),
                    agent.get("/tokens"),
                    agent.put("/mode", json={"scope": "user", "enabled": False, "level": "strict"}),
                    agent.post("/delegate", json={"user_prompt": "x", "session_id": "s"}),
                    agent.post("/exceptions/none/grant", json={"scope": "once", "until": "2030-01-01T00:00:00Z"}),
                    agent.put("/policies/layers/user", json={"files": {}}),
                    agent.post("/policies/unlocks", json={"rule": "*", "reason": "r", "until": "2030-01-01T00:00:00Z"}),
                    agent.post("/sessions/s/reset"),
                    agent.post("/runners/r/poll", json={"boot_id": "b", "slots": 1, "providers": [], "workspaces": []}),
                    agent.post(f"/jobs/{job}/cancel"),
                    agent.get("/users/ada/export"),
                ]
                assert [answer.text for answer in refused if answer.status_code not in {403, 404}] == []
                (shop / "go").touch()
                await ended(ada, job)
                await ended(ada, other)
                assert agent.get(f"/jobs/{job}").status_code == 401
        finally:
            made.drain()
            made.drain()
            await asyncio.wait_for(running, 60)
