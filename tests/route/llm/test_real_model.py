"""A real small model behind a real server: the protocol, time-outs, cancellation, the breaker. Not its wisdom."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from baton.lib.router.agents import Candidate
from baton.route.llm.client import Endpoint, ModelClient, ModelFailed
from baton.route.pipeline.model_choice import ChoiceClient
from baton.route.prompt import Prompt
from tests.support.routing import DEVELOPER

pytestmark = pytest.mark.slow("loads a real model and waits for its words")
SCRIPT = Path(__file__).parents[2] / "support" / "small_model.py"
PATIENT_S = 120
CANDIDATES = (
    Candidate(name="tester", score=0.4, why="", description="writes and repairs tests"),
    Candidate(name="documenter", score=0.3, why="", description="writes documentation"),
)
STORY = [{"role": "user", "content": "Tell a very long story about a fox."}]


@pytest.fixture(scope="module")
def url():
    with subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        address = process.stdout.readline().strip()
        assert address, "the small model did not start: is `.venv/.model` made?"
        yield address
        process.stdin.close()
        process.wait(60)


@pytest.fixture
async def client():
    client = ModelClient()
    yield client
    await client.close()


async def until_it_works(url, *, works):
    """Wait until the server works on something, or on nothing."""
    async with asyncio.timeout(PATIENT_S), httpx2.AsyncClient(trust_env=False, timeout=PATIENT_S) as http:
        while works != any(  # noqa: ASYNC110
            slot["is_processing"] for slot in (await http.get(url.removesuffix("/v1") + "/slots")).json()
        ):
            await asyncio.sleep(0.02)


async def test_a_real_model_answers_with_a_candidate_or_none(url, client):
    endpoint = Endpoint(url=url)
    await client.alive(endpoint, PATIENT_S)
    asker = ChoiceClient(client, endpoint, PATIENT_S)
    assert await asker.ask("write tests for the parser", CANDIDATES) in {"tester", "documenter", ""}


async def test_a_call_out_of_time_ends_the_models_work(url, client):
    with pytest.raises(ModelFailed, match="no answer within 500 ms"):
        await client.chat(Endpoint(url=url), STORY, timeout_s=0.5, max_tokens=1_500)
    await until_it_works(url, works=False)


async def test_a_call_that_is_cancelled_ends_the_models_work(url, client):
    call = asyncio.create_task(client.chat(Endpoint(url=url), STORY, timeout_s=PATIENT_S, max_tokens=1_500))
    await until_it_works(url, works=True)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until_it_works(url, works=False)


async def test_a_model_that_is_too_slow_is_no_longer_asked(url, process):
    server = await process(model_url=url, llm_routing_timeout_s=0.001).healthy()
    prompt = Prompt(text="write tests for the parser", principal=DEVELOPER)
    for _ in range(12):
        assert await server.models.model.choose(prompt, CANDIDATES) is None
        await server.settle()
    assert server.counters.model_calls == {("model", "timeout"): 10}
    assert server.breaker().status().state.phase == "open"
    await until_it_works(url, works=False)
