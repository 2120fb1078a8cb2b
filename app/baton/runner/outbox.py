"""Sends a job's events in order, each at least once, and none before it is on disk.

The server counts an event once by its number, so sending it twice does no harm.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from baton.runner.spool import Spool, SpooledAttempt
from baton.runner.wire import Event, JobEnd, LeaseLost, Refused, Server, ServerAway, TokenRefused
from baton.shared.backoff import Backoff

BATCH = 200
BATCH_BYTES = 256 * 1024
"""Size at which a batch is full, in bytes of JSON; one event has at most about half of it (`updates.fitting`)."""
LONGEST_S = 15.0


async def waits() -> AsyncIterator[None]:
    """Yield after pauses that grow up to LONGEST_S, with jitter so that runners do not retry in step."""
    backoff = Backoff(0.25, LONGEST_S)
    while True:
        await asyncio.sleep(backoff.next_s())
        yield


class Outbox:
    """The events of one attempt on their way to the server. `on_cancel` is called when the server wants a cancel."""

    def __init__(
        self, server: Server, spool: Spool, job: str, attempt: int, token: str, on_cancel: Callable[[], None]
    ) -> None:
        self._server = server
        self._spool = spool
        self._job = job
        self._lease = {"attempt": attempt, "token": token}
        self._on_cancel = on_cancel
        self._seq = 0
        self._new: list[Event] = []
        self._stored: list[Event] = []
        self._ended: JobEnd | None = None
        self._ended_stored = False
        self._more, self._ready = asyncio.Event(), asyncio.Event()

    def put(self, kind: str, body: dict[str, Any]) -> None:
        """Add an event; never waits, so that the order is kept."""
        self._seq += 1
        self._new.append(Event(self._seq, kind, body))
        self._more.set()

    def end(self, ended: JobEnd) -> None:
        """Add the end of the attempt, after which nothing may be added."""
        self._ended = ended
        self._more.set()

    async def run(self) -> None:
        """Store and send until the server has the end.

        Raises:
            LeaseLost: If the lease is lost; the spool is removed.
            Refused: If the server accepts neither events nor end; the spool is removed.
        """
        storing = asyncio.create_task(self._store())
        try:
            await self._send()
        except (LeaseLost, Refused):
            self._spool.remove()
            raise
        except BaseException:
            self._spool.close()
            raise
        else:
            self._spool.remove()
        finally:
            storing.cancel()
            await asyncio.gather(storing, return_exceptions=True)

    async def _store(self) -> None:
        while not self._ended_stored:
            await self._more.wait()
            self._more.clear()
            events, self._new, ended = self._new, [], self._ended
            await asyncio.to_thread(self._spool.add, events, ended)
            self._stored += events
            self._ended_stored = ended is not None
            self._ready.set()

    async def _send(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._stored or self._ended_stored:
                batch = _batch(self._stored)
                last = self._ended_stored and len(batch) == len(self._stored)
                accepted = await deliver(
                    self._server, self._job, self._lease, batch, self._ended if last else None, self._on_cancel
                )
                self._stored = not_accepted(self._stored, accepted)
                if last and not self._stored:
                    return


async def deliver(
    server: Server,
    job: str,
    lease: dict[str, Any],
    events: list[Event],
    ended: JobEnd | None,
    on_cancel: Callable[[], None] = lambda: None,
    *,
    patient: bool = True,
) -> int:
    """Send one batch, repeatedly while the server is away; return the number up to which the server has everything.

    If `patient`, also repeat while the token is refused: the job goes on, and somebody may renew the token.
    """
    body = {**lease, "events": events} | ({"finish": ended} if ended else {})
    pauses = waits()
    while True:
        try:
            answer = await server.post(job, body)
        except (ServerAway, TokenRefused) as error:
            if isinstance(error, TokenRefused) and not patient:
                raise
            await anext(pauses)
            continue
        if answer.cancel and not ended:
            on_cancel()
        return answer.accepted


async def replay(server: Server, spooled: SpooledAttempt) -> str:
    """Send what an earlier run left, and return what became of it as a text.

    Raises:
        TokenRefused: If the token is refused; the spool is kept.
    """
    lease = {"attempt": spooled.attempt, "token": spooled.token}
    events = spooled.events
    try:
        while events or spooled.ended:
            batch = _batch(events)
            last = len(batch) == len(events)
            ended = spooled.ended if last else None
            events = not_accepted(events, await deliver(server, spooled.job, lease, batch, ended, patient=False))
            if last and not events:
                break
    except TokenRefused:
        raise
    except LeaseLost as error:
        if spooled.ended:  # the server keeps the result of a lost attempt, too
            with contextlib.suppress(LeaseLost, Refused, ServerAway):
                await server.post(spooled.job, {**lease, "events": [], "finish": spooled.ended})
        return f"is no longer this runner's: {error}"
    except Refused as error:
        return f"was refused: {error}"
    return "has ended, and the server knows it" if spooled.ended else "was cut short; the server has its events"


def not_accepted(events: list[Event], accepted: int) -> list[Event]:
    """Return the events that the server does not have.

    Raises:
        Refused: If the server has lost events that are no longer here.
    """
    if events and accepted < events[0].seq - 1:
        raise Refused(f"the server has events up to {accepted} only, and those before {events[0].seq} are gone")
    return [event for event in events if event.seq > accepted]


def _batch(events: list[Event]) -> list[Event]:
    size = 0
    for number, event in enumerate(events[:BATCH]):
        size += len(msgspec.json.encode(event))
        if size > BATCH_BYTES and number:
            return events[:number]
    return events[:BATCH]
