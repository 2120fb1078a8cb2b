"""A session stays in the project of its first event, over real HTTP: mode, rules, records, every endpoint, every worker."""

import pytest

from tests.support.http_calls import introduce
from tests.support.server import served, until, until_lasting

EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "/repo/a.py"}}
SHOP = {"Baton-User": "petra", "Baton-Project": "acme/shop", "Baton-Root": "/repo"}
RENAMED = {"Baton-User": "petra", "Baton-Project": "/repo", "Baton-Root": "/repo"}
"""What the shim sends after `git remote rename origin upstream`."""
MOVED = {"Baton-User": "petra", "Baton-Project": "acme/other", "Baton-Root": "/other"}
"""… and after the agent has moved into another repository."""


@pytest.fixture(scope="module", params=["1", pytest.param("2", marks=pytest.mark.slow("starts two workers"))])
def shop(request, tmp_path_factory):
    """A server, by itself or with two workers, where Petra's mode is on in `acme/shop` alone."""
    home = tmp_path_factory.mktemp("pinned") / "home"
    with served(home, BATON_WORKERS=request.param) as server, server.client() as admin:
        introduce(server, projects=["acme/shop"], users=["petra"])
        mode = {"scope": "user_project", "user": "petra", "project": "acme/shop", "enabled": True, "level": "strict"}
        assert admin.put("/mode", json=mode).status_code == 200
        until_lasting(lambda: all(each_time(server, SHOP, lambda agent: agent.get("/mode").json()["enabled"])))
        yield server


def each_time(server, headers, request):
    """Ask over several connections, so that both workers answer."""
    for _ in range(8):
        with server.agent(**headers) as agent:
            yield request(agent)


@pytest.mark.slow
@pytest.mark.matrix(2)
@pytest.mark.parametrize("later", [RENAMED, MOVED], ids=["renamed", "moved"])
@pytest.mark.parametrize("first", ["start", "call", "prompt"])
def test_mode_and_rules_stay_those_of_the_first_project(shop, later, first):
    session = f"{first} {later['Baton-Project']}"
    ids = {"session_id": session, "cwd": later["Baton-Root"]}
    with shop.agent(**SHOP) as agent:
        if first == "start":
            agent.post("/session-start", json=ids)
        elif first == "call":
            agent.post("/pre-tool-use", json=ids | {"tool_name": "Read", "tool_input": {}})
        else:
            agent.post("/hooks/claude-code", json=ids | {"hook_event_name": "SessionStart", "source": "startup"})
    for answer in each_time(shop, later, lambda agent: agent.post("/pre-tool-use", json=ids | EDIT)):
        assert answer.json()["decision"] == "block"
        assert answer.json()["degraded"] == ["project"]
        assert answer.headers["baton-degraded"] == "project"
    for answer in each_time(shop, later, lambda agent: agent.get("/mode", params={"session_id": session})):
        assert answer.json()["enabled"]
    subagent = ids | EDIT | {"agent_id": "a1", "agent_type": "general-purpose"}
    for answer in each_time(shop, later, lambda agent: agent.post("/pre-tool-use", json=subagent)):
        assert answer.json()["mode"]["enabled"]


def test_the_other_project_is_recorded_shown_and_counted(shop):
    ids = {"session_id": "visible", "cwd": "/repo"}
    with shop.agent(**SHOP) as agent:
        agent.post("/session-start", json=ids)
    with shop.agent(**RENAMED) as agent:
        decision = agent.post("/pre-tool-use", json=ids | EDIT).json()["decision_id"]
    with shop.client() as admin:
        record = until(lambda: (r := admin.get(f"/decisions/{decision}")).status_code == 200 and r.json())
        assert (record["project"], record["degraded"]) == ("acme/shop", ["project"])
        past = until(lambda: (r := admin.get("/sessions/visible")).status_code == 200 and r.json())["past"]
        assert (past["project"], past["other_project"]) == ("acme/shop", "/repo")
        # Each of two workers has counts of its own, and sums them up now and then.
        until(lambda: admin.get("/status").json()["degraded"].get("project", 0) >= 1)


@pytest.mark.parametrize("between", ["session-end", "session-start", "nothing"])
def test_a_session_that_ends_and_is_resumed_elsewhere_stays_where_it_was(shop, between):
    ids = {"session_id": f"resumed {between}", "cwd": "/other"}
    with shop.agent(**SHOP) as agent:
        agent.post("/session-start", json=ids)
    with shop.agent(**MOVED) as agent:
        if between != "nothing":
            agent.post(f"/{between}", json=ids)
        answer = agent.post("/session-start", json=ids | {"source": "resume", "work_items": 0}).json()
    assert answer["degraded"] == ["project"]
    assert answer["mode"]["enabled"]
    assert "belongs to `acme/shop`" in answer["message"]


def test_agent_starts_are_judged_by_the_session_s_project(shop):
    ids = {"session_id": "spawning", "cwd": "/repo"}
    with shop.client() as admin:
        row = "/policies/layers/project/agents/stravinsky/explore?name=acme/shop"
        changed = admin.put(row, json={"display_model": "shop's own"})
        assert changed.status_code in (200, 201), changed.text
    with shop.agent(**SHOP) as agent:
        agent.post("/session-start", json=ids)
    body = {"agent_type": "explore", "prompt": "p", "roster": "stravinsky"}

    def spawned(agent, **more):
        return agent.post("/spawn", json=body | more).json()["display_model"]

    with shop.agent(**MOVED) as agent:
        assert spawned(agent) != "shop's own"
        until(lambda: spawned(agent, session_id="spawning") == "shop's own")
        assert spawned(agent, session_id="spawning", project="acme/other") == "shop's own"


def test_a_session_of_one_project_is_never_called_degraded(shop):
    ids = {"session_id": "still", "cwd": "/repo/sub"}
    headers = [SHOP, SHOP | {"Baton-Root": "/repo-worktree"}, {"Baton-User": "petra"}]
    for header in headers:
        for answer in each_time(shop, header, lambda agent: agent.post("/pre-tool-use", json=ids | EDIT)):
            assert answer.json()["degraded"] == []
