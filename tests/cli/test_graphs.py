"""`baton spawn` and `baton jobs graph` against a real server."""

import json

import pytest

from tests.delegate.jobs.test_api import POLL

TASKS = {
    "find": {"description": "Find callers", "agent_type": "explore", "depends_on": []},
    "read": {"description": "Read up", "agent_type": "dewey", "depends_on": []},
    "build": {"description": "Build it", "agent_type": "frontend", "depends_on": ["find", "read"]},
}
LEAD = ("--by", "stravinsky", "--reason", "cheaper", "--outcome", "a list", "--tools", "Read, Grep")
CREW = ("--roster", "stravinsky")


@pytest.fixture
def graph(baton):
    def make(*options):
        words = ("jobs", "graph", "create", "-", "--session", "c1", "--window", "600000", "--json", *CREW, *options)
        return json.loads(baton(*words, stdin=json.dumps(TASKS)))["id"]

    return make


def test_a_plan_is_printed_readably(baton):
    said = baton("spawn", "explore", "Find every caller", *LEAD, *CREW, "--thinking", "2048")
    for part in (
        "explore of roster stravinsky", "gemini-3-flash, CHEAP (green); the client runs on its own default",
        "delegates  invoke_gemini_agentic → gemini-3-flash (max_turns=10)", "Read, Grep, Glob",
        "MAX_THINKING_TOKENS=2048 claude -p --output-format text --append-system-prompt … < prompt", "| Agent type: explore",
    ):  # fmt: skip
        assert part in said
    assert json.loads(baton("spawn", "planner", "Plan", *CREW, "--json"))["cli_model"] == "opus"


def test_refusals_and_unknown_agents_are_shown(baton):
    assert "cannot spawn worker `explore`" in baton("spawn", "explore", "x", "--by", "dewey", *CREW, refused=True)
    assert "(missing_metadata)" in baton("spawn", "explore", "x", "--by", "stravinsky", *CREW, refused=True)
    assert "note: `me` is in none of the rosters" in baton("spawn", "explore", "x", "--by", "me", *CREW)


def test_a_running_task_names_its_job(baton, alice):
    alice.post("/runners/g/poll", json=POLL | {"boot_id": "g", "slots": 0, "providers": ["claude_code", "codex"]})
    said = baton("spawn", "planner", "Plan", *CREW, "--run")
    assert "is queued; follow it with: baton jobs show job_" in said
    assert "waiting since " in said


def test_a_graph_runs_wave_by_wave(baton, graph):
    made = graph()
    assert "No graphs." not in baton("jobs", "graph", "list", "--session", "c1")
    said = baton("jobs", "graph", "show", made)
    for part in (
        "strict, barrier wave, window 600000 ms, then refuse",
        "wave 2",
        "build  frontend after find, read  blocked",
    ):
        assert part in said
    assert "waits for `find`, `read`" in baton("jobs", "graph", "spawn", made, "build", *LEAD, refused=True)
    started = baton("jobs", "graph", "spawn", made, *LEAD)
    assert "task find: explore" in started
    assert "task read: dewey" in started
    assert "no task of task graph" in baton("jobs", "graph", "spawn", made, *LEAD, refused=True)
    assert "find  explore  completed: found 3" in baton(
        "jobs", "graph", "complete", made, "find", "--detail", "found 3"
    )
    assert "build  frontend after find, read  skipped: `read` failed" in baton("jobs", "graph", "fail", made, "read")
    report = baton("jobs", "graph", "report", made)
    assert "wave 1  2 of 2 started, spread 0 ms" in report
    assert "wave 2  0 of 1 started, not started" in report
    assert made in baton("jobs", "graph", "report", "--session", "c1")
    assert "wrong_wave, refused: task `build` of wave 2 waits for `find`, `read`" in report
    assert json.loads(baton("jobs", "graph", "report", made, "--json"))["violations"] == {"wrong_wave": 1}


def test_a_graph_is_created_from_a_file_or_its_faults_are_named(baton, tmp_path):
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps({"tasks": TASKS}))
    said = baton(
        "jobs", "graph", "create", str(file), "--session", "c2", *CREW, "--guidance", "--ready", "--auto-spawn"
    )
    assert "guidance, barrier ready, window 500 ms, then auto_spawn, plan" in said
    file.write_text(json.dumps({"a": {"agent_type": "explore", "depends_on": ["a"]}}))
    assert "names `a` itself" in baton("jobs", "graph", "create", str(file), "--session", "c2", *CREW, refused=True)
    assert "cannot be read as JSON" in baton("jobs", "graph", "create", "none.json", "--session", "c2", refused=True)
    assert "name a graph, or a session" in baton("jobs", "graph", "report", refused=True)


def test_a_wave_is_opened_again_only_when_it_is_closed(baton, graph):
    made = graph()
    assert "has not been opened yet" in baton("jobs", "graph", "reopen", made, "1", refused=True)
