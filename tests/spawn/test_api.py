"""`POST /spawn` over real HTTP: every refusal as a problem, and the plan."""

from tests.support.cases import every
from tests.support.http_calls import introduce

SAID = {"delegation_reason": "cheaper", "expected_outcome": "a list", "required_tools": ["Read"]}
LEAD = {"spawning_agent": "stravinsky", **SAID}


def spawn(http, agent="explore", *, roster="stravinsky", **more):
    body = {"agent_type": agent, "prompt": "Find every caller", "description": "Find", "roster": roster}
    return http.post("/spawn", json=body | more)


@every(
    ("more", "status", "code", "field", "given", "allowed"),
    [
        ({"agent": "explorer"}, 422, "unknown_agent", "agent_type", "explorer", "explore"),
        ({"spawning_agent": "stravinsky"}, 422, "missing_metadata", "expected_outcome", "stravinsky", "required_tools"),
        ({**LEAD, "delegation_reason": "  "}, 422, "missing_metadata", "delegation_reason", "stravinsky", "required_tools"),
        ({**LEAD, "required_tools": []}, 422, "missing_metadata", "required_tools", "stravinsky", "required_tools"),
        ({**LEAD, "expected_outcome": None}, 422, "missing_metadata", "expected_outcome", "stravinsky", "required_tools"),
        ({**LEAD, "required_tools": None}, 422, "missing_metadata", "required_tools", "stravinsky", "required_tools"),
        ({**LEAD, "delegation_reason": "\u200b"}, 422, "missing_metadata", "delegation_reason", "stravinsky", "required_tools"),
        ({**LEAD, "required_tools": ["Edit"]}, 403, "tool_not_allowed", "required_tools", "explore", "Grep"),
        ({"spawning_agent": "dewey"}, 403, "hierarchy", "spawning_agent", "dewey", "research-lead"),
    ],
)  # fmt: skip
def test_a_refusal_is_a_problem_with_given_and_allowed_values(http, more, status, code, field, given, allowed):
    answer = spawn(http, **more)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert field in [one["field"] for one in problem["errors"]]
    assert given in problem["given"].values()
    assert allowed in problem["allowed"]


@every(
    ("body", "field"),
    [
        ({"agent_type": "explore"}, "prompt"),
        ({"agent_type": "explore", "prompt": " \n"}, "prompt"),
        ({"prompt": "p"}, "agent_type"),
        ({"agent_type": "explore", "prompt": "p", "roster": "none"}, "roster"),
        ({"agent_type": "explore", "prompt": "p", "graph_id": "graph_x"}, "task"),
        ({"agent_type": "explore", "prompt": "p", "task": "a"}, "graph_id"),
        ({"agent_type": "explore", "prompt": "p", "model": "--dangerous"}, "model"),
        ({"agent_type": "explore", "prompt": "p", "thinking_budget": -1}, "thinking_budget"),
        ({"agent_type": "explore", "prompt": "p" * 131_073}, "prompt"),
        ({"agent_type": "explore", "prompt": "p", "execute": "now"}, "execute"),
    ],
)
def test_a_body_that_is_wrong_names_its_field(http, body, field):
    answer = http.post("/spawn", json=body)
    assert answer.status_code == 422
    assert field in [one["field"] for one in answer.json()["errors"]]


def test_null_equals_an_omitted_field(http):
    nulls = dict.fromkeys(("spawning_agent", "delegation_reason", "required_tools", "model", "thinking_budget"))
    found = spawn(http, **nulls, description=None, graph_id=None, task=None).json()
    assert (found["agent_type"], "cli_model" in found, found["env"]) == ("explore", False, {})
    body = {"user_prompt": "x", "provider": None, "description": None}
    assert http.post("/delegate", json=body).json()["job"]["provider"] == "codex"


def test_an_invalid_string_is_repaired(http):
    body = b'{"agent_type": "Explore", "prompt": "a\\ud800b\\u0000c", "execute": "run"}'
    answer = http.post("/spawn", content=body, headers={"content-type": "application/json"})
    assert answer.json()["stdin"] == "a\ufffdb\ufffdc"
    tasks = b'{"session_id": "s", "tasks": {"a\\ud800": {"agent_type": "Explore"}}}'
    graph = http.post("/graphs", content=tasks, headers={"content-type": "application/json"}).json()
    assert graph["waves"] == [["a\ufffd"]]


def test_a_plan_holds_all_that_starts_the_agent(http):
    plan = spawn(http, **LEAD, thinking_budget=4_096).json()
    assert (plan["agent_type"], plan["roster"], plan["display_model"]) == ("explore", "stravinsky", "gemini-3-flash")
    assert (plan["tier"], plan["colour"]) == ("CHEAP", "green")
    assert "cli_model" not in plan
    assert plan["delegation"] == {"target": "gemini-3-flash", "call": "invoke_gemini_agentic", "max_turns": 10}
    assert plan["argv"][:5] == ["claude", "-p", "--output-format", "text", "--append-system-prompt"]
    assert plan["argv"][5] == plan["system_prompt"]
    for part in (
        "Agent type: explore",
        "Display model: gemini-3-flash",
        f"Task id: {plan['task_id']}",
        "IMMEDIATELY call",
    ):
        assert part in plan["system_prompt"]
    assert (plan["stdin"], plan["env"]) == ("Find every caller", {"MAX_THINKING_TOKENS": "4096"})
    assert plan["acp"] == {"provider": "claude_code", "mode": "default"}
    assert plan["notes"] == []
    assert "job" not in plan


def test_the_team_s_list_is_asked_where_no_roster_is_named(http):
    plan = spawn(http, "Explore", roster="").json()
    assert (plan["roster"], plan["display_model"], plan["cli_model"]) == ("claude-code", "haiku", "haiku")
    assert spawn(http, "frontend", roster="").json()["roster"] == "stravinsky"
    assert spawn(http, "nobody", roster="").json()["code"] == "unknown_agent"


def test_an_unknown_spawner_is_not_judged_and_reported(http):
    (note,) = spawn(http, spawning_agent="somebody").json()["notes"]
    assert "neither its metadata nor its rank was judged" in note


def test_a_team_s_own_row_counts(server):
    introduce(server, teams=["spawners"])
    with server.client(**{"Baton-Team": "spawners"}) as team, server.client() as admin:
        change = {"tier": "MEDIUM", "prompt": "Ask {target} and nobody else.", "tools": ["Read", "Edit"]}
        row = "/policies/layers/team/agents/stravinsky/explore"
        assert admin.put(row, params={"name": "spawners"}, json=change).status_code == 200
        plan = spawn(team, required_tools=["Edit"]).json()
        assert (plan["colour"], plan["instruction"]) == ("blue", "Ask gemini-3-flash and nobody else.")
        assert "Edit" in plan["tools"]
        assert spawn(admin).json()["colour"] == "green"


def test_a_started_agent_is_a_job_with_the_plan_s_parts(http, session):
    answer = spawn(http, "planner", execute="run", session_id=session["session_id"]).json()
    job = http.get(f"/jobs/{answer['job']['id']}").json()
    assert answer["job"]["state"] == job["state"] == "queued"
    assert (job["provider"], job["agent_type"], job["tier"], job["model"]) == (
        "claude_code",
        "planner",
        "EXPENSIVE",
        "opus",
    )
    assert job["session_id"] == session["session_id"]
    assert answer["job"]["waiting"] == job["waiting"]
    assert job["waiting"]["reason"] == "no_runner"
