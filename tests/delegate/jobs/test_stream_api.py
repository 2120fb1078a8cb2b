"""A stream's answer to a reader that accepts nothing."""

import asyncio

import anyio

from baton.delegate.core.job import JobEvent
from baton.delegate.jobs import stream_api
from baton.kernel.http import event_streams


async def test_a_reader_who_takes_nothing_is_left_without_a_fault_in_the_log(monkeypatch):
    monkeypatch.setattr(event_streams, "SEND_S", 0.05)
    sent = []

    async def events():
        yield JobEvent(job_id="job_1", no=1, session_no=1, attempt=1, seq=None, type="job.state", body={}, at=None)

    async def send(message):
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    answer = event_streams.EventStream(stream_api._lines(events(), of_session=False), anyio.Event())
    await asyncio.wait_for(answer({"type": "http", "method": "GET"}, receive, send), 60)
    assert sent == ["http.response.start", "http.response.body"]
