"""The tools' connection to the server: a tool waiting for a job, with an unavailable server."""

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from baton.local.server import ApiError, Refused
from baton.mcp import client as module
from baton.mcp.client import ServerClient, standing
from tests.cli.test_account import JOB, STANDING
from tests.support.cases import every

pytestmark = pytest.mark.slow("imports what takes longer than its tests")

RUNNING = {"state": "running", "progress": "", "events": 1}
DONE = RUNNING | {"state": "completed"}
LONG_S = 3_600
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
    assert await ServerClient(api, "s").ended("job_1", tell, LONG_S) == DONE
    assert 300 < clock.now < 600


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([GONE], 1), ([RUNNING, Refused("there is no job")], 2)],
    ids=["no server at first", "a refusal"],
)
async def test_a_wait_ends_at_once_where_patience_is_no_use(clock, answers, asked):
    api = Answers(*answers)
    with pytest.raises(ToolError):
        await ServerClient(api, "s").ended("job_1", tell, LONG_S)
    assert (api.asked, clock.now < 1) == (asked, True)


async def test_a_wait_ends_with_an_absent_server_or_its_timeout(clock):
    with pytest.raises(ToolError, match="no server answers"):
        await ServerClient(Answers(RUNNING, GONE), "s").ended("job_1", tell, LONG_S)
    assert 600 < clock.now < 610
    assert await ServerClient(Answers(RUNNING, GONE), "s").ended("job_1", tell, 5) == RUNNING


class Server:
    """Answers each look at a job with the next state, and keeps what was asked."""

    def __init__(self, *states):
        self.states = list(states)
        self.asked = []

    def request(self, method, path, *, body=None, query=None):
        self.asked.append((method, path, dict(query or {})))
        if path.endswith("/output"):
            return {"output": "did it"}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"id": "job_1", "state": state, "progress": "", "events": len(self.asked)}


async def test_a_wait_uses_the_event_stream_without_polling():
    server, told = Server("queued", "running", "completed"), []

    async def tell(text):
        told.append(text)

    assert await ServerClient(server, "s").answer("job_1", tell, 60) == "did it"
    assert told == ["queued", "running"]
    waits = [query for _, path, query in server.asked if path == "/jobs/job_1"]
    assert waits == [{}, {"wait_s": "5.000", "after": "1"}, {"wait_s": "5.000", "after": "2"}]


@pytest.mark.parametrize("limit", [0, 0.2])
async def test_a_late_answer_explains_how_to_continue(limit):
    async def tell(_):
        return

    said = await ServerClient(Server("running"), "s").answer("job_1", tell, limit)
    assert said.startswith("The task job_1 is running.")
    assert "agent_output(task_id='job_1')" in said


async def test_a_wait_for_a_job_without_a_runner_ends_at_once_and_names_it():
    class Alone(Server):
        def request(self, method, path, **more):
            waiting = {"reason": "no_runner", "detail": "no runner for codex is connected", "since": "2026-01-01"}
            return super().request(method, path, **more) | {"waiting": waiting}

    async def tell(_):
        return

    server = Alone("queued")
    said = await ServerClient(server, "s").answer("job_1", tell, 60)
    assert said.startswith("The task job_1 is queued: no runner for codex is connected.")
    assert len(server.asked) == 1


@every(("more", "said"), [row for row in STANDING if "cancel_requested" not in row[0]])
def test_agents_see_a_job_s_state_as_in_lists(more, said):
    assert said.startswith(standing(JOB | more))
