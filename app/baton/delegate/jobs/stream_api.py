"""Jobs' events as server-sent events, from any number on."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import msgspec
from fastapi import APIRouter, Depends, Header, Path, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from baton.delegate.core.job import JobEvent
from baton.delegate.jobs.api import AgentModesOf, JobId, JobsOf
from baton.delegate.jobs.streams import GoesOn, JobStreams
from baton.kernel.base.errors import Invalid
from baton.kernel.http.event_streams import EventStream
from baton.kernel.http.features import Lifecycle, of
from baton.kernel.http.paging import Text
from baton.people.callers import CallerOf, CallerReader, CallerReaderOf, caller_of_stream

router = APIRouter(tags=["jobs"])
LifecycleOf = Annotated[Lifecycle, Depends(of(Lifecycle))]
JobStreamsOf = Annotated[JobStreams, Depends(of(JobStreams))]
LONGEST_NUMBER = 2**53
LastEventId = Annotated[str, Header(alias="Last-Event-ID", max_length=20, description="The id of the last event read.")]
_EXAMPLE = 'id: 1\nevent: job.state\ndata: {"job":"job_1","no":1,"state":"queued"}\n\n'
_EVENT = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}  # the schema of one event, for OpenAPI 3.2's `itemSchema`. Readers of 3.1 ignore it.
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            "Events of the types `session.update`, `job.state`, `permission.requested`, `permission.resolved`,"
            " `agent.session`, `workspace.diff` and `workspace.action`, each with its number as `id` and a JSON object as `data`."
        ),
        "content": {"text/event-stream": {"itemSchema": _EVENT, "example": _EXAMPLE}},
    }
}


@router.get("/jobs/{job_id}/events", response_class=EventSourceResponse, responses=_STREAM)
async def stream_job_events(
    request: Request,
    caller: CallerOf,
    streams: JobStreamsOf,
    callers: CallerReaderOf,
    lifecycle: LifecycleOf,
    jobs: JobsOf,
    job_id: JobId,
    last_event_id: LastEventId = "",
) -> EventSourceResponse:
    """Stream a job's events, from the first or after `Last-Event-ID`, until its last event."""
    after = _number(last_event_id)
    job = await jobs.get(caller.principal, job_id)
    stopping = anyio.Event()
    events = streams.of_job(job, after, _goes_on(request, callers, lifecycle, stopping))
    return EventStream(_lines(events, of_session=False), stopping)


@router.get("/sessions/{session_id}/events", response_class=EventSourceResponse, responses=_STREAM)
async def stream_session_events(
    request: Request,
    caller: CallerOf,
    streams: JobStreamsOf,
    callers: CallerReaderOf,
    lifecycle: LifecycleOf,
    agent_modes: AgentModesOf,
    session_id: Annotated[str, Path(max_length=1_024)],
    user: Text = "",
    last_event_id: LastEventId = "",
) -> EventSourceResponse:
    """Stream the events of all jobs of a session, with one numbering, until the server stops or the token ends."""
    after = _number(last_event_id)
    found = await agent_modes.get(caller.principal, session_id, user, fresh=False)
    stopping = anyio.Event()
    goes_on = _goes_on(request, callers, lifecycle, stopping)
    organisation = caller.principal.organisation
    events = streams.of_session(organisation, found.user, session_id, after, goes_on)
    return EventStream(_lines(events, of_session=True), stopping)


async def _lines(events: AsyncIterator[JobEvent], *, of_session: bool) -> AsyncIterator[ServerSentEvent]:
    async for event in events:
        data = {
            "job": event.job_id,
            "no": event.no,
            "session_no": event.session_no,
            "attempt": event.attempt,
            "at": event.at,
        }
        yield ServerSentEvent(
            data=msgspec.json.encode(event.body | data).decode(),
            event=event.type,
            id=str(event.session_no if of_session else event.no),
            sep="\n",
        )


def _goes_on(request: Request, callers: CallerReader, lifecycle: Lifecycle, stopping: anyio.Event) -> GoesOn:
    caller = caller_of_stream(request, callers, lifecycle, stopping)
    return lambda: caller() is not None


def _number(last_event_id: str) -> int:
    if not last_event_id:
        return 0
    if not last_event_id.isascii() or not last_event_id.isdigit() or int(last_event_id) > LONGEST_NUMBER:
        raise Invalid("Last-Event-ID", f"is `{last_event_id}`; pass an event's id (a number)")
    return int(last_event_id)
