"""A session's activity: the spawner of each agent, and agents, jobs and cost in the list of sessions."""

from datetime import UTC, datetime, timedelta

from baton.delegate.jobs.costs import parse_prices
from baton.sessions.activity import AgentCalls, AgentSpawn, tree_of
from tests.delegate.jobs.test_api import delegate
from tests.support.cases import every
from tests.support.http_calls import ok
from tests.support.records import id_at
from tests.support.server import until

PRICES = parse_prices("CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def at(second):
    return id_at(NOON + timedelta(seconds=second))


def agent(name, kind, first):
    return AgentCalls(agent_id=name, agent_type=kind, calls=2, blocked=1, first=at(first), last=at(first + 1))


def spawn(second, kind, parent="", model="", tokens=0):
    return AgentSpawn(
        id=at(second), parent=parent, agent_type=kind, model=model, input_tokens=tokens, cached_tokens=0,
        output_tokens=0, is_over=model != "",
    )  # fmt: skip


@every(
    ("calls", "spawns", "parents"),
    [
        ([agent("a", "Explore", 2)], [spawn(1, "explore")], {"a": "main"}),
        ([agent("a", "Explore", 2)], [], {"a": "main"}),
        ([agent("a", "plan", 2), agent("b", "Explore", 4)], [spawn(1, "plan"), spawn(3, "Explore", "a")], {"a": "main", "b": "a"}),
        # Two of one type belong to their calls in the order of both.
        ([agent("a", "x", 3), agent("b", "x", 4)], [spawn(1, "x", "p"), spawn(2, "x", "q")], {"a": "p", "b": "q"}),
        # A later call cannot have started an earlier agent.
        ([agent("a", "x", 1)], [spawn(5, "x", "p")], {"a": "main", "": "p"}),
    ],
)  # fmt: skip
def test_an_agent_belongs_to_the_call_that_can_have_started_it(calls, spawns, parents):
    names = {one.agent_id for one in calls}
    assert {one.id if one.id in names else "": one.parent for one in tree_of(calls, spawns, PRICES)} == parents


def test_an_agent_s_cost_is_the_client_s_report():
    silent = spawn(5, "Explore", model="claude-haiku-4-5", tokens=2_000_000)
    started = [spawn(1, "Explore", model="claude-haiku-4-5", tokens=1_000_000), silent]
    first, second = tree_of([agent("a", "Explore", 2)], started, PRICES)
    assert (first.id, first.usd, first.calls, first.is_over) == ("a", 1.0, 2, True)
    assert (second.id, second.usd, second.calls) == (silent.id, 2.0, 0)


def test_the_list_shows_agents_jobs_and_requests_and_is_searchable(server, session):
    name = f"activity {session['session_id']}"
    mine = session | {"session_id": name}
    explore = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
    with server.client(**{"Baton-User": "vera"}) as http:
        http.post("/pre-tool-use", json=mine | {"tool_name": "Agent", "tool_input": explore})
        by_agent = {"agent_id": "a1", "agent_type": "Explore", "tool_name": "Read", "tool_input": {"file_path": "a"}}
        http.post("/pre-tool-use", json=mine | by_agent)
        delegate(http, mine, approval="ask")

        def listed(**query):
            return [one for one in ok(http.get("/sessions", params=query))["items"] if one["session_id"] == name]

        until(lambda: listed() and listed()[0]["agents"] == 1)
        (one,) = listed()
        assert (one["live"], one["waiting"], one["jobs"], one["agents"]) == (True, 1, 1, 1)
        assert listed(live=True) == [one]
        for q in (name[:12].upper(), "VER", session["project"][-4:]):
            assert listed(q=q) == [one], q
        for q in (name[1:], "%", "nobody"):
            assert listed(q=q) == [], q
        (child,) = ok(http.get(f"/sessions/{name}"))["tree"]
        assert (child["id"], child["type"], child["parent"], child["calls"]) == ("a1", "Explore", "main", 1)
    with server.client(**{"Baton-User": "mallory"}) as other:
        assert ok(other.get("/sessions", params={"q": "activity"}))["items"] == []
        assert other.get(f"/sessions/{name}").status_code == 404
