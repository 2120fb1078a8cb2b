"""Live events of a job or of a session, from any number on."""

from collections.abc import AsyncIterator, Awaitable, Callable

from baton.delegate.core.job import ENDED_STATES, Job, JobEvent
from baton.delegate.core.notifier import JobNotifier, wait
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores.events import LARGEST_READ
from baton.kernel.base.sql import Database, DatabaseUnavailable

LOOK_S = 1.0  # interval of checks whether a stream continues, in seconds
GoesOn = Callable[[], bool]
_Read = Callable[[int], Awaitable[tuple[list[JobEvent], bool]]]


class JobStreams:
    """Reads stored events at each notification, so that none is lost or repeated."""

    def __init__(self, database: Database, notifier: JobNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def of_job(self, job: Job, after: int, goes_on: GoesOn) -> AsyncIterator[JobEvent]:
        """Yield a job's events after a number, until its last one or until `goes_on` returns False."""

        async def read(last: int) -> tuple[list[JobEvent], bool]:
            async with self._database.transaction() as connection:
                # Read the state first: otherwise an end in between would hide the last events.
                now = await jobs.get(connection, job.organisation, job.id)
                events = await events_store.of_job(connection, job.id, last)
            return events, now is None or now.state in ENDED_STATES

        async for event in self._follow(f"job {job.id}", after, goes_on, read, lambda event: event.no):
            yield event

    async def of_session(
        self, organisation: str, user: str, session_id: str, after: int, goes_on: GoesOn
    ) -> AsyncIterator[JobEvent]:
        """Yield the events of a session's jobs after a number, until `goes_on` returns False."""

        async def read(last: int) -> tuple[list[JobEvent], bool]:
            async with self._database.transaction() as connection:
                return await events_store.of_session(connection, organisation, user, session_id, last), False

        topic = f"session {user} {session_id}"
        async for event in self._follow(topic, after, goes_on, read, lambda event: event.session_no):
            yield event

    async def _follow(
        self, topic: str, last: int, goes_on: GoesOn, read: _Read, number: Callable[[JobEvent], int]
    ) -> AsyncIterator[JobEvent]:
        # Subscribe before the first read: an event stored in between then wakes the stream.
        with self._notifier.subscribe(topic) as woken:
            while goes_on():
                try:
                    events, is_over = await read(last)
                except DatabaseUnavailable:
                    events, is_over = [], False
                for event in events:
                    last = number(event)
                    yield event
                if len(events) == LARGEST_READ:
                    continue
                if is_over:
                    return
                waited = 0.0
                while goes_on() and waited < self._notifier.pause_s:
                    if await wait(woken, min(LOOK_S, self._notifier.pause_s)):
                        break
                    waited += LOOK_S
