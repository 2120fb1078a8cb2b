import asyncio

import pytest

from baton.kernel.base.settings import Settings
from baton.lib.router.agents import Candidate
from baton.route.pipeline.stage import Choice
from baton.route.prompt import Prompt
from tests.support.cases import every
from tests.support.routing import DEVELOPER

PROMPT = Prompt(text="write a test for the parser", principal=DEVELOPER)
CANDIDATES = tuple(
    Candidate(name=name, score=score, why="", description=f"{name} does it")
    for name, score in (("tester", 0.4), ("documenter", 0.3), ("none", 0.1))
)


def choose(process, candidates=CANDIDATES):
    return process.models.model.choose(PROMPT, candidates)


async def test_the_model_chooses_among_the_candidates_by_their_descriptions(endpoint, process):
    server = await process().healthy()
    assert await choose(server) == Choice(agent="tester", model="small")
    (asked,) = endpoint.asked
    assert "- documenter: documenter does it" in asked["messages"][0]["content"]
    enum = asked["response_format"]["json_schema"]["schema"]["properties"]["agent"]["enum"]
    assert enum == ["tester", "documenter", "none"]


async def test_the_model_may_say_none(endpoint, process):
    endpoint.says = '{"agent": "none"}'
    assert await choose(await process().healthy()) == Choice(agent="", model="small")


@pytest.mark.parametrize(
    "says", ["evil", '{"agent": "evil"}', "## Agent Selection\n\nUse evil", "tester or documenter", "\x00", "x" * 9_000]
)
async def test_an_answer_without_a_candidate_is_no_choice(endpoint, process, says):
    endpoint.says = says
    server = await process().healthy()
    assert await choose(server) is None
    assert server.counters.model_calls == {("model", "garbage"): 1}


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        ("hangs", "timeout"),
        ("streams_for_ever", "too_large"),
        ("fails", "refused"),
        ("sends_html", "garbage"),
        ("sends_huge_headers", "garbage"),
        ("hangs_up", "garbage"),
    ],
)
async def test_a_misbehaving_endpoint_gives_no_choice_and_raises_nothing(endpoint, process, how, outcome):
    server = await process(llm_routing_timeout_s=0.1 if how == "hangs" else 20).healthy()
    endpoint.how = how
    assert await choose(server) is None
    await server.settle()
    assert server.counters.model_calls == {("model", outcome): 1}
    seen = server.breaker().status()
    assert (seen.calls, seen.failed) == (1, 1)


async def test_a_time_out_counts_as_slow_and_as_failed(endpoint, process):
    endpoint.how = "hangs"
    server = await process(llm_routing_timeout_s=0.05, breaker_slow_ms=10_000).healthy()
    assert await choose(server) is None
    await server.settle()
    seen = server.breaker().status()
    assert (seen.calls, seen.slow, seen.failed) == (1, 1, 1)


async def test_an_endpoint_that_knows_no_schema_is_asked_without(endpoint, process):
    endpoint.how, endpoint.says = "knows_no_format", '{"agent": "documenter"}'
    server = await process().healthy()
    assert [(await choose(server)).agent for _ in range(2)] == ["documenter"] * 2
    assert ["response_format" in asked for asked in endpoint.asked] == [True, False, False]


async def test_one_that_refuses_either_way_is_asked_with_the_schema_again(endpoint, process):
    server = await process().healthy()
    endpoint.how, endpoint.says = "knows_no_format", "nobody"
    assert await choose(server) is None
    endpoint.how = "refuses_the_key"
    assert await choose(server) is None
    assert ["response_format" in asked for asked in endpoint.asked] == [True, False, False]


@pytest.mark.parametrize("score", [0.05, 0.61])
async def test_a_scorer_that_is_sure_or_has_nothing_needs_no_model(endpoint, process, score):
    server = await process().healthy()
    assert await choose(server, (Candidate(name="tester", score=score, why=""),)) is None
    assert await choose(server, ()) is None
    assert endpoint.asked == []


async def test_before_the_first_look_and_while_it_is_ill_the_model_is_not_asked(endpoint, process):
    server = process()
    assert await choose(server) is None
    endpoint.healthy = False
    await server.healthy()
    assert await choose(server) is None
    assert (server.models.status.up, server.models.status.detail) == (False, "it answered 503")
    endpoint.healthy = True
    await server.healthy()
    assert await choose(server) is not None
    assert len(endpoint.asked) == 1


async def test_a_prompt_that_is_given_up_closes_the_call_and_is_not_counted(endpoint, process):
    endpoint.how = "hangs"
    server = await process().healthy()
    call = asyncio.create_task(choose(server))
    async with asyncio.timeout(60):
        while not endpoint.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        endpoint.given_up.clear()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await endpoint.given_up.wait()
    assert server.counters.model_calls == {}


@every(
    ("off", "on"),
    [
        ({}, True),
        ({"use_llm_routing": False}, False),
        ({"enable_local_inference_pipeline": False}, False),
        ({"model_url": ""}, False),
    ],
)
def test_the_model_is_asked_only_with_both_flags_and_a_url(off, on):
    flags = {"use_llm_routing": True, "enable_local_inference_pipeline": True, "model_url": "http://x/v1"} | off
    assert Settings(**flags).llm_routing_on == on
