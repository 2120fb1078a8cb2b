import json

import pytest

from baton.lib.router.agents import Candidate
from baton.route.pipeline.stage import Choice
from baton.route.prompt import Prompt
from tests.support.chat_endpoint import answer
from tests.support.routing import DEVELOPER

PROMPT = Prompt(
    text="deploy with sk-abcdefghijklmnopqrstuvwx", principal=DEVELOPER, session_id="s", project="acme/web", roster="r"
)
CANDIDATES = (
    Candidate(name="deployer", score=0.02, why="", description="deploys"),
    Candidate(name="tester", score=0.01, why=""),
)


@pytest.fixture
def node(endpoint, process):
    def make(says, **settings):
        async def node(_reader, writer):
            writer.write(answer(says if isinstance(says, bytes) else json.dumps(says).encode()))

        endpoint._node = node
        endpoint.how = "node"
        on = {"use_routing_node": True, "routing_node_url": endpoint.url, "routing_node_key": "k3y"}
        return process(**on | settings)

    return make


async def test_the_node_gets_the_agents_and_its_answer_is_used(endpoint, node):
    server = node({"selected_agent": "tester", "confidence": 0.8})
    assert await server.models.node.choose(PROMPT, CANDIDATES) == Choice(agent="tester")
    assert endpoint.asked == [
        {
            "prompt": "deploy with [masked:sk-key]",
            "session_id": "s",
            "project": "acme/web",
            "roster": "r",
            "agents": [{"name": "deployer", "description": "deploys"}, {"name": "tester", "description": ""}],
        }
    ]
    assert endpoint.headers[0]["authorization"] == "Bearer k3y"


async def test_the_node_may_say_none(node):
    assert await node({"selected_agent": ""}).models.node.choose(PROMPT, CANDIDATES) == Choice(agent="")


@pytest.mark.parametrize(
    "says",
    [
        {"selected_agent": "evil"},
        {"selected_agent": "Tester"},
        {"selected_agent": 7},
        {"selected_agent": "tester", "confidence": 7},
        {},
        [],
        b"<html>",
        b"\xff",
        b'{"x": ' + b"[" * 50_000,
    ],
)
async def test_an_answer_without_a_known_agent_is_no_choice(node, says):
    server = node(says)
    assert await server.models.node.choose(PROMPT, CANDIDATES) is None
    await server.settle()
    assert server.breaker("node").status().failed == 1


async def test_a_hanging_node_costs_its_budget_only(endpoint, node):
    server = node({}, llm_routing_timeout_s=0.05)
    endpoint.how = "hangs"
    assert await server.models.node.choose(PROMPT, CANDIDATES) is None
    assert server.counters.model_calls == {("node", "timeout"): 1}


@pytest.mark.parametrize(
    ("flag", "url", "on"), [(True, "http://x/", True), (False, "http://x/", False), (True, "", False)]
)
async def test_the_node_is_asked_only_with_its_flag_and_a_url(process, flag, url, on):
    server = process(use_routing_node=flag, routing_node_url=url)
    assert (server.models.node is not None) == on
