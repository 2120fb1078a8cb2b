"""The way from the tools to the server: what a tool that waits for a job does when the server goes away."""

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from baton.local.server import ApiError, Refused
from baton.mcp import client as module
from baton.mcp.client import ServerClient

RUNNING, DONE = {"state": "running", "progress": ""}, {"state": "completed", "progress": ""}
GONE = ApiError("no server answers")


class Answers:
    """Answers each request with the next of a list, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def request(self, *_, **__):
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    async def sleep(seconds):
        Clock.now += seconds

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now)
    return Clock


async def tell(_text):
    pass


async def test_a_wait_outlasts_a_server_that_restarts(clock):
    api = Answers(RUNNING, *[GONE] * 200, DONE)
    assert await ServerClient(api, "s").ended("job_1", tell) == DONE
    assert 300 < clock.now < 600


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([GONE], 1), ([RUNNING, Refused("there is no job")], 2)],
    ids=["no server at first", "a refusal"],
)
async def test_a_wait_ends_at_once_where_patience_is_no_use(clock, answers, asked):
    api = Answers(*answers)
    with pytest.raises(ToolError):
        await ServerClient(api, "s").ended("job_1", tell)
    assert (api.asked, clock.now < 1) == (asked, True)


async def test_a_wait_ends_when_the_server_stays_away_or_its_own_time_is_over(clock):
    with pytest.raises(ToolError, match="no server answers"):
        await ServerClient(Answers(RUNNING, GONE), "s").ended("job_1", tell)
    assert 600 < clock.now < 610
    assert await ServerClient(Answers(RUNNING, GONE), "s").ended("job_1", tell, 5) == RUNNING
