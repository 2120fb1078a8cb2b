"""An OpenAI-compatible endpoint as a runner's agent, over real pipes and a real socket."""

import pytest

from tests.runner.conftest import ended, happens
from tests.support.chat_endpoint import ChatEndpoint
from tests.support.samples import one_in
from tests.support.server import BATON

pytestmark = pytest.mark.slow("starts runners of its own")


@pytest.fixture
async def endpoint():
    async with ChatEndpoint() as endpoint:
        endpoint.how = "streams"
        yield endpoint


@pytest.fixture
def provider(endpoint):
    command = [BATON, "runner", "model-agent", "--url", endpoint.url, "--model", "small", "--model", "large"]
    return {"command": [*command, "--key-variable", "THE_KEY", "--reasoning-effort", "high"], "env": {"THE_KEY": "k3y"}}


async def test_a_prompt_is_one_completion_with_streamed_pieces(server, running, endpoint, provider):
    endpoint.says = "hello there"
    job = server.give("say hello", system_prompt="Be brief.", model="large")
    async with running(provider=provider):
        finish = await ended(server, job)
    assert (finish["state"], finish["output"]) == ("completed", "hello there")
    (asked,) = endpoint.asked
    assert (asked["model"], asked["reasoning_effort"]) == ("large", "high")
    assert asked["messages"] == [{"role": "user", "content": "Be brief.\n\nsay hello"}]
    assert "tools" not in asked
    assert endpoint.headers[0]["authorization"] == "Bearer k3y"


@pytest.mark.slow("starts an agent")
async def test_a_model_that_is_not_offered_is_refused_before_it_is_asked(server, running, endpoint, provider):
    job = server.give("say hello", model="huge")
    async with running(provider=provider):
        finish = await ended(server, job)
    assert finish["error"]["code"] == "model_not_offered"
    assert "`small`, `large`" in finish["error"]["detail"]
    assert endpoint.asked == []


@pytest.mark.parametrize("how", one_in(3, ["answers", "answers_on_many_lines", "streams"], "starts an agent"))
async def test_streamed_and_whole_texts_are_reported(server, running, endpoint, provider, how):
    endpoint.how, endpoint.says = how, "one\u2028two\nthree"
    job = server.give("say hello")
    async with running(provider=provider):
        finish = await ended(server, job)
    assert (finish["state"], finish["output"]) == ("completed", "one\u2028two\nthree")


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("how", "why"),
    one_in(
        4,
        [
            ("sends_html", "without content"),
            ("streams_an_error", "out of memory"),
            ("sends_no_choices", "without content"),
            ("sends_null", "without content"),
        ],
        "starts an agent",
    ),
)
async def test_an_empty_answer_fails_the_job_with_the_reason(server, running, endpoint, provider, how, why):
    endpoint.how = how
    job = server.give("say hello")
    async with running(provider=provider):
        finish = await ended(server, job)
    assert finish["state"] == "failed"
    assert why in finish["error"]["detail"]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "how",
    one_in(5, ["fails", "sends_huge_headers", "sends_deep_json", "hangs_up_midway", "sends_bytes"], "starts an agent"),
)
async def test_an_endpoint_that_misbehaves_fails_the_job(server, running, endpoint, provider, how):
    endpoint.how = how
    job = server.give("say hello")
    async with running(provider=provider):
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"]) == ("failed", "agent_refused")
    assert "the model at" in finish["error"]["detail"]
    assert "k3y" not in finish["error"]["detail"]


async def test_a_cancel_closes_the_call(server, running, endpoint, provider):
    endpoint.how = "hangs"
    job = server.give("say hello")
    async with running(provider=provider):
        await happens(lambda: endpoint.asked)
        server.command(job, "cancel")
        finish = await ended(server, job)
    assert finish["state"] == "cancelled"
    await happens(endpoint.given_up.is_set)
