"""Events of a job or of a session, as they come, from any number on. It speaks no protocol: the API does."""

from collections.abc import AsyncIterator, Awaitable, Callable

from baton.delegate.core import events_store
from baton.delegate.core import store as jobs
from baton.delegate.core.bell import Bell, wait
from baton.delegate.core.events_store import LARGEST_READ, Event
from baton.delegate.core.protocol import ENDED
from baton.delegate.core.store import Job
from baton.kernel.base.sql import Database, DatabaseUnavailable

LOOK_S = 1.0
"""How often a stream looks whether it is still wanted, in seconds."""
Wanted = Callable[[], bool]
_Read = Callable[[int], Awaitable[tuple[list[Event], bool]]]


class JobStreams:
    """Reads the log again whenever it is told to, so that nothing is lost and nothing comes twice."""

    def __init__(self, database: Database, bell: Bell) -> None:
        self._database = database
        self._bell = bell

    async def of_job(self, job: Job, after: int, wanted: Wanted) -> AsyncIterator[Event]:
        """Give a job's events after a number; ends after the job's last one, or once nobody wants it."""

        async def read(last: int) -> tuple[list[Event], bool]:
            async with self._database.transaction() as connection:
                now = await jobs.get(connection, job.organisation, job.id)
                events = await events_store.of_job(connection, job.id, last)
            return events, now is None or now.state in ENDED

        async for event in self._follow(f"job {job.id}", after, wanted, read, lambda event: event.no):
            yield event

    async def of_session(
        self, organisation: str, user: str, session_id: str, after: int, wanted: Wanted
    ) -> AsyncIterator[Event]:
        """Give the events of all of a session's jobs after a number; ends once nobody wants it."""

        async def read(last: int) -> tuple[list[Event], bool]:
            async with self._database.transaction() as connection:
                return await events_store.of_session(connection, organisation, user, session_id, last), False

        topic = f"session {user} {session_id}"
        async for event in self._follow(topic, after, wanted, read, lambda event: event.session_no):
            yield event

    async def _follow(
        self, topic: str, last: int, wanted: Wanted, read: _Read, number: Callable[[Event], int]
    ) -> AsyncIterator[Event]:
        with self._bell.heard(topic) as rang:
            while wanted():
                try:
                    events, over = await read(last)
                except DatabaseUnavailable:
                    events, over = [], False
                for event in events:
                    last = number(event)
                    yield event
                if len(events) == LARGEST_READ:
                    continue
                if over:
                    return
                waited = 0.0
                while wanted() and waited < self._bell.pause_s:
                    if await wait(rang, min(LOOK_S, self._bell.pause_s)):
                        break
                    waited += LOOK_S
