"""The tools of `baton mcp` over real pipes, with a real server behind them and a runner with a small agent."""

import json
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import yaml
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from baton.delegate.jobs.arguments import ARGUMENTS
from baton.local.server import Api
from baton.mcp.delegation import spawn_summary
from baton.mcp.server import build
from tests.runner.conftest import git
from tests.support.command_line import surroundings
from tests.support.server import BATON, served, until

pytestmark = pytest.mark.slow("starts servers and runners")

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "runner" / "agent.py")]
GIVEN_UP = "sleep 77"
TOOLS = {
    "agent_cancel",
    "agent_output",
    "agent_spawn",
    "delegate.run",
    "graph_create",
    "graph_spawn",
    "graph_status",
    "invoke_gemini",
    "invoke_gemini_agentic",
    "invoke_openai",
    "job_apply",
    "job_branch",
    "job_cancel",
    "job_diff",
    "job_discard",
    "job_pr",
    "job_reply",
    "job_retry",
    "job_show",
    "jobs_list",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server, and the environment of a developer whose runner runs a small agent in place of all others."""
    folder = tmp_path_factory.mktemp("mcp")
    shop = folder / "shop"
    shop.mkdir()
    with served(folder / "home") as server:
        env = server.env | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "BATON_URL": server.url}
        env |= {"BATON_USER": "ann", "XDG_STATE_HOME": str(folder / "state")}
        file = folder / "config" / "baton" / "runner.yaml"
        file.parent.mkdir(parents=True)
        provider = {"command": AGENT}
        file.write_text(
            yaml.safe_dump(
                {
                    "slots": 4,
                    "cancel_grace_s": 1,
                    "workspaces": {"shop": str(shop)},
                    "providers": {"codex": provider, "claude_code": provider, "gemini": provider},
                }
            )
        )
        with (folder / "runner.log").open("ab") as log:
            of_ann = env | {"BATON_TOKEN": server.token_of("ann")}
            runner = subprocess.Popen([BATON, "runner", "run"], env=of_ann, cwd=folder, stdout=log, stderr=log)
            try:
                with server.client(**{"Baton-User": "ann"}) as http:
                    until(lambda: http.get("/runners").json()["items"])
                    yield http, env, folder
            finally:
                runner.terminate()
                runner.wait(60)


class Connected:
    """A client of `baton mcp`, which runs in a loop of its own."""

    def __init__(self, portal, client):
        self.call = partial(portal.call)
        self.client = client

    def called(self, name, progress=None, **arguments):
        """Call a tool; gives its texts, and what it says in JSON where it says that."""
        result = self.call(partial(self.client.call_tool, name, arguments, progress_callback=progress))
        texts = [block.text for block in result.content]
        assert not result.is_error, texts
        return texts, result.structured_content

    def refused(self, name, **arguments):
        result = self.call(self.client.call_tool, name, arguments)
        assert result.is_error, result.content
        return result.content[0].text


@pytest.fixture(scope="module")
def connected():
    """Connect a client to a server, until the module ends."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def connect(server):
            client = Client(server, read_timeout_seconds=120)
            return Connected(portal, stack.enter_context(portal.wrap_async_context_manager(client)))

        yield connect


@pytest.fixture(scope="module")
def connect(world, connected):
    """Start `baton mcp` as a client does; each is a session of its own."""
    _, env, folder = world
    return lambda **more: connected(StdioServerParameters(command=BATON, args=["mcp"], env=env | more, cwd=folder))


@pytest.fixture(scope="module")
def connect_here(world, connected):
    """Serve the tools of a session in this process: starting another one takes ten times as long as most tests."""
    _, env, folder = world

    def make(session):
        with surroundings(env, folder, ""):
            return connected(build(Api(), session))

    return make


@pytest.fixture(scope="module")
def mcp(connect):
    return connect()


def test_the_tools_their_arguments_and_when_to_use_them(mcp):
    tools = {tool.name: tool for tool in mcp.call(mcp.client.list_tools).tools}
    assert set(tools) == TOOLS
    assert "use the delegate.run tool to route the task to Codex or Claude Code" in mcp.client.instructions
    assert "respond yourself" in mcp.client.instructions
    delegate = tools["delegate.run"]
    assert delegate.description == (
        "Route a coding task to specialized agents (Codex or Claude Code) for execution. Use this for any file"
        " operations, code analysis, refactoring, or workspace exploration."
    )
    assert delegate.input_schema["required"] == ["user_prompt"]
    described = {name: field["description"] for name, field in delegate.input_schema["properties"].items()}
    fixed = {
        "user_prompt": "The specific coding task to perform",
        "provider": "Which agent to use: 'codex' or 'claude_code' (default: codex)",
        "description": "Optional brief description of the delegation",
    }
    assert described.items() >= fixed.items()
    assert set(described) == {*fixed, *ARGUMENTS}
    for name in ("agent_spawn", "graph_spawn", "invoke_gemini", "invoke_gemini_agentic", "invoke_openai"):
        properties = tools[name].input_schema["properties"]
        assert {argument: properties[argument]["description"] for argument in ARGUMENTS} == {
            argument: described[argument] for argument in ARGUMENTS
        }
        assert not {*ARGUMENTS, "arguments"} & set(tools[name].input_schema.get("required", []))
    assert tools["invoke_gemini_agentic"].input_schema["properties"]["max_turns"]["default"] == 10
    assert tools["invoke_openai"].input_schema["properties"]["reasoning_effort"]["default"] == "high"
    assert "context" not in json.dumps(
        [tool.input_schema["properties"].get("context") or "" for tool in tools.values()]
    )


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("given", "provider"), [({}, "codex"), ({"provider": None}, "codex"), ({"provider": "claude-code"}, "claude_code")]
)
def test_a_delegation_is_acknowledged_before_its_answer(world, mcp, given, provider):
    http, *_ = world
    texts, _ = mcp.called("delegate.run", user_prompt="say did it", **given)
    assert texts[0] == f"✓ Delegated to {provider}. Task: say did it"
    job = texts[1].split("'")[1]
    _, output = mcp.called("agent_output", task_id=job)
    assert output == {"task_id": job, "state": "completed", "output": "did it"}
    session = http.get(f"/jobs/{job}").json()["session_id"]
    assert session.startswith("mcp-")
    assert http.get(f"/sessions/{session}/agent-mode").json()["agent_mode"] == "default_mode"


@pytest.mark.slow("starts clients of its own")
def test_the_client_s_own_session_is_used_if_given(world, connect):
    http, *_ = world
    texts, _ = connect(BATON_SESSION="s-42").called("delegate.run", user_prompt="say hello")
    assert http.get(f"/jobs/{texts[1].split(chr(39))[1]}").json()["session_id"] == "s-42"


def test_a_model_is_invoked_and_its_answer_is_the_tools(world, mcp):
    http, *_ = world
    for tool, provider in (
        ("invoke_gemini", "gemini"),
        ("invoke_gemini_agentic", "gemini"),
        ("invoke_openai", "codex"),
    ):
        texts, _ = mcp.called(tool, prompt=f"say {tool} did it")
        assert texts == [f"{tool} did it"]
        (job,) = [
            one for one in http.get("/jobs").json()["items"] if tool in http.get(f"/jobs/{one['id']}").json()["prompt"]
        ]
        assert job["provider"] == provider


def test_a_failed_model_names_the_reason(mcp):
    assert "failed" in mcp.refused("invoke_openai", prompt="die")


def test_progress_is_reported_while_a_tool_waits(world, mcp):
    *_, folder = world
    heard = folder / "heard"

    async def hear(_progress, _total, message):
        if "running" in message:
            heard.touch()

    texts, _ = mcp.called("invoke_gemini", hear, prompt=f"await {heard}\nsay done")
    assert texts == ["done"]


def test_a_task_is_looked_at_without_waiting_and_cancelled(mcp):
    texts, _ = mcp.called("delegate.run", user_prompt="sleep 60")
    job = texts[1].split("'")[1]
    _, now = mcp.called("agent_output", task_id=job, block=False)
    assert now["state"] in {"queued", "leased", "running"}
    mcp.called("agent_cancel", task_id=job)
    _, later = mcp.called("agent_output", task_id=job, timeout_s=60)
    assert later["state"] == "cancelled"


@pytest.mark.slow("waits")
def test_an_ended_wait_explains_how_to_continue(mcp, world):
    *_, folder = world
    go_on = folder / "go-on"
    texts, _ = mcp.called("delegate.run", user_prompt=f"say half\nawait {go_on}\nsay done")
    job = texts[1].split("'")[1]
    _, now = mcp.called("agent_output", task_id=job, timeout_s=2)
    assert now["state"] in {"queued", "leased", "running"}
    assert f"agent_output(task_id='{job}')" in now["note"]
    go_on.touch()
    _, later = mcp.called("agent_output", task_id=job)
    assert later == {"task_id": job, "state": "completed", "output": "halfdone"}


def test_a_tool_call_that_is_given_up_cancels_its_job(world, mcp):
    http, *_ = world
    with pytest.raises(Exception, match=r"(?i)timed out|timeout"):
        mcp.call(partial(mcp.client.call_tool, "invoke_openai", {"prompt": GIVEN_UP}, read_timeout_seconds=2))

    def states():
        jobs = http.get("/jobs").json()["items"]
        return [job["state"] for job in jobs if job["title"] == f"invoke_openai: {GIVEN_UP}"]

    until(lambda: states() == ["cancelled"])


def test_an_agent_of_the_roster_is_spawned_and_runs(world, mcp):
    http, *_ = world
    _, spawned = mcp.called("agent_spawn", agent_type="explore", prompt="say found it", roster="stravinsky")
    _, output = mcp.called("agent_output", task_id=spawned["task_id"])
    assert output["output"] == "found it"
    assert http.get(f"/jobs/{spawned['task_id']}").json()["agent_type"] == "explore"


def test_a_waiting_task_names_the_reason():
    waiting = {"reason": "slots_busy", "detail": "all slots are busy", "since": "2026-01-01T00:00:00Z"}
    job = {"id": "job_1", "state": "queued"}
    assert spawn_summary({"job": job | {"waiting": waiting}})["waiting"] == waiting
    assert "waiting" not in spawn_summary({"job": job})


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("delegate.run", {"user_prompt": "model"}),
        ("agent_spawn", {"agent_type": "explore", "prompt": "model", "roster": "stravinsky"}),
        ("invoke_gemini", {"prompt": "model"}),
        ("invoke_gemini_agentic", {"prompt": "model"}),
        ("invoke_openai", {"prompt": "model"}),
    ],
)
def test_the_arguments_of_each_tool_reach_the_job(world, connect_here, tool, more):
    http, *_ = world
    session = f"arguments-{tool}"
    arguments = {
        "workspace": "shop", "isolation": "in_place", "model": "cheap", "timeout_s": 77, "inactivity_timeout_s": 66,
        "thread": "fresh", "concurrent": True, "queue_expiry_s": 55,
    }  # fmt: skip
    connect_here(session).called(tool, **more, **arguments)
    (found,) = http.get("/jobs", params={"session_id": session}).json()["items"]
    job = http.get(f"/jobs/{found['id']}").json()
    assert {name: job[name] for name in arguments} == arguments


@pytest.mark.parametrize(("job", "concurrent"), [("", False), ("job_0", True)])
def test_the_tools_of_an_agent_at_work_do_not_wait_for_its_folder(world, connect_here, monkeypatch, job, concurrent):
    http, *_ = world
    monkeypatch.setenv("BATON_JOB", job)
    texts, _ = connect_here(f"at-work-{job}").called("delegate.run", user_prompt="say hello")
    assert http.get(f"/jobs/{texts[1].split(chr(39))[1]}").json()["concurrent"] is concurrent


def test_a_refusal_has_the_server_s_text(mcp):
    assert "allowed" in mcp.refused("delegate.run", user_prompt="x", provider="gpt")
    refused = mcp.refused("delegate.run", user_prompt="x", provider="opencode")
    assert "not served by your runners" in refused
    assert "claude_code, codex, gemini in shop" in refused
    assert "timeout_s" in mcp.refused("invoke_openai", prompt="x", timeout_s=0)
    assert "`thread`" in mcp.refused(
        "agent_spawn", agent_type="explore", prompt="x", roster="stravinsky", thread="job_0"
    )
    assert "unknown_agent" in mcp.refused("agent_spawn", agent_type="nobody", prompt="x")
    assert "not_found" in mcp.refused("agent_output", task_id="job_" + "0" * 32)
    assert "not_found" in mcp.refused("graph_status", graph_id="../jobs")
    orchestrator = {"agent_type": "explore", "prompt": "x", "spawning_agent": "stravinsky", "roster": "stravinsky"}
    assert "missing_metadata" in mcp.refused("agent_spawn", **orchestrator)


def test_a_graph_is_made_spawned_wave_by_wave_and_looked_at(mcp):
    tasks = {
        "a": {"description": "say one", "agent_type": "explore"},
        "b": {"description": "say two", "agent_type": "explore"},
        "c": {"description": "say three", "agent_type": "explore", "depends_on": ["a", "b"]},
    }
    _, graph = mcp.called("graph_create", tasks=tasks, roster="stravinsky")
    assert graph["waves"] == [["a", "b"], ["c"]]
    _, after = mcp.called("graph_spawn", graph_id=graph["graph_id"])
    assert {one["task"] for one in after["spawned"]} == {"a", "b"}
    for one in after["spawned"]:
        mcp.called("agent_output", task_id=one["task_id"])
    _, after = mcp.called("graph_spawn", graph_id=graph["graph_id"], tasks=["c"])
    mcp.called("agent_output", task_id=after["spawned"][0]["task_id"])
    _, status = mcp.called("graph_status", graph_id=graph["graph_id"])
    assert {name: task["state"] for name, task in status["tasks"].items()} == dict.fromkeys("abc", "completed")
    assert "already_spawned" in mcp.refused("graph_spawn", graph_id=graph["graph_id"], tasks=["c"])


@pytest.mark.slow("waits for each tool to give up")
def test_without_a_server_each_tool_reports_it(connect):
    away = connect(BATON_URL="http://127.0.0.1:1")
    assert "no server answers" in away.refused("delegate.run", user_prompt="x")


def test_jobs_of_the_session_are_listed_shown_compared_and_run_again(connect_here, world):
    http, _, folder = world
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one", "--allow-empty")):
        git(folder / "shop", *words)
    agent = connect_here("looks-after-jobs")
    body = {"user_prompt": "write new.txt", "isolation": "worktree", "session_id": "looks-after-jobs"}
    job = http.post("/delegate", json=body).json()["job"]["id"]
    agent.called("agent_output", task_id=job)
    _, listed = agent.called("jobs_list")
    assert [(one["id"], one["state"]) for one in listed["jobs"]] == [(job, "completed")]
    assert agent.called("jobs_list", state="failed")[1] == {"jobs": []}
    _, shown = agent.called("job_show", job_id=job)
    assert (shown["prompt"], shown["isolation"], "token" in shown) == ("write new.txt", "worktree", False)
    _, change = agent.called("job_diff", job_id=job)
    assert [(file["path"], file["change"]) for file in change["files"]] == [("new.txt", "added")]
    for page in ({"path": "new.txt"}, {"offset": 0}, {"path": "new.txt", "offset": 0}):
        text = agent.called("job_diff", job_id=job, **page)[1]
        assert ("+written" in text["text"], text["offset"], "next_offset" in text) == (True, 0, False)
    assert "no.txt" in agent.refused("job_diff", job_id=job, path="no.txt")
    comment = {"file": "new.txt", "line": 1, "text": "more"}
    _, replied = agent.called("job_reply", job_id=job, message="read new.txt\nwrite more.txt", comments=[comment])
    assert (replied["thread"], replied["task_id"]) == (job, replied["id"])
    _, answered = agent.called("agent_output", task_id=replied["task_id"])
    assert (answered["state"], answered["output"]) == ("completed", '{"content": "written"}{}')
    assert [file["path"] for file in agent.called("job_diff", job_id=replied["id"])[1]["files"]] == [
        "more.txt",
        "new.txt",
    ]
    prompt = agent.called("job_show", job_id=replied["id"])[1]["prompt"]
    assert "- new.txt:1: more\n  (the line is: `written`)" in prompt
    (folder / "shop" / "new.txt").write_text("mine")
    refused = agent.called("job_apply", job_id=job)[1]
    assert (refused["state"], refused["code"]) == ("refused", "conflict")
    assert "new.txt: already exists in working directory" in refused["reasons"]
    (folder / "shop" / "new.txt").unlink()
    applied = agent.called("job_apply", job_id=job)[1]
    assert (applied["state"], applied["changed"]) == ("done", 1)
    assert (folder / "shop" / "new.txt").read_text() == "written"
    assert agent.called("job_branch", job_id=job, branch="theirs")[1]["branch"] == "theirs"
    assert agent.called("job_pr", job_id=job)[1]["code"] == "no_remote"
    for one in (job, replied["id"]):
        assert agent.called("job_discard", job_id=one)[1]["state"] == "done"
    assert agent.called("job_apply", job_id=job)[1]["code"] == "no_result"
    assert "refs/baton" not in git(folder / "shop", "for-each-ref")
    assert "completed" in agent.refused("job_retry", job_id=job)
    assert "completed" in agent.refused("job_cancel", job_id=job)
    stopped = http.post("/delegate", json=body | {"approval": "ask"}).json()["job"]["id"]
    assert agent.called("job_cancel", job_id=stopped)[1]["state"] == "cancelled"
    assert agent.called("job_retry", job_id=stopped)[1]["id"] == stopped
    assert "there is no job `job_0`" in agent.refused("job_show", job_id="job_0")
