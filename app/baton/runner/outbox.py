"""Sends a job's events in their order, each at least once and none before it is on disk. It does not read them.

The server takes an event once by its number, so what is sent twice counts once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from baton.runner.spool import Kept, Spool
from baton.runner.wire import Ended, Event, LeaseLost, NotLetIn, Refused, Server, ServerAway
from baton.shared.backoff import Backoff

BATCH = 200
BATCH_BYTES = 256 * 1024
"""Least size at which a batch is closed; a single event is at most about this size (`updates.fitting`)."""
LONGEST_S = 15.0


async def waits() -> AsyncIterator[None]:
    """Wait longer from step to step, up to LONGEST_S, and never in step with other runners."""
    backoff = Backoff(0.25, LONGEST_S)
    while True:
        await asyncio.sleep(backoff.next_s())
        yield


class Outbox:
    """The way of one attempt's events to the server. `on_cancel` is called when the server wants the job cancelled."""

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
        self._ended: Ended | None = None
        self._ended_stored = False
        self._more, self._ready = asyncio.Event(), asyncio.Event()

    def put(self, kind: str, body: dict[str, Any]) -> None:
        """Take an event; never waits, so that order is kept."""
        self._seq += 1
        self._new.append(Event(self._seq, kind, body))
        self._more.set()

    def end(self, ended: Ended) -> None:
        """Take the end, after which nothing comes."""
        self._ended = ended
        self._more.set()

    async def run(self) -> None:
        """Store and send until the server has the end.

        Raises:
            LeaseLost: when the job is another's; the spool is forgotten once the end was offered.
            Refused: when the server takes neither events nor end; the spool is forgotten.
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
                self._stored = left_of(self._stored, accepted)
                if last and not self._stored:
                    return


async def deliver(
    server: Server,
    job: str,
    lease: dict[str, Any],
    events: list[Event],
    ended: Ended | None,
    on_cancel: Callable[[], None] = lambda: None,
    *,
    patient: bool = True,
) -> int:
    """Send one batch, again and again while the server is away; gives the number up to which the server has all.

    While the token is refused too, where `patient`: a job goes on, and somebody may mend it.
    """
    body = {**lease, "events": events} | ({"finish": ended} if ended else {})
    pauses = waits()
    while True:
        try:
            answer = await server.post(job, body)
        except (ServerAway, NotLetIn) as error:
            if isinstance(error, NotLetIn) and not patient:
                raise
            await anext(pauses)
            continue
        if answer.cancel and not ended:
            on_cancel()
        return answer.accepted


async def replay(server: Server, kept: Kept) -> str:
    """Send what an earlier run left; gives what became of it, in words.

    Raises:
        NotLetIn: the token is refused; nothing is forgotten.
    """
    lease = {"attempt": kept.attempt, "token": kept.token}
    events = kept.events
    try:
        while events or kept.ended:
            batch = _batch(events)
            last = len(batch) == len(events)
            ended = kept.ended if last else None
            events = left_of(events, await deliver(server, kept.job, lease, batch, ended, patient=False))
            if last and not events:
                break
    except NotLetIn:
        raise
    except LeaseLost:
        return "is another's by now"
    except Refused as error:
        return f"was not taken: {error}"
    return "ended, and the server knows it" if kept.ended else "was cut short; the server has what it said"


def left_of(events: list[Event], accepted: int) -> list[Event]:
    """Give the events that the server does not have.

    Raises:
        Refused: when it has forgotten some that are here no more.
    """
    if events and accepted < events[0].seq - 1:
        raise Refused(f"the server has events up to {accepted} only; those before {events[0].seq} are gone")
    return [event for event in events if event.seq > accepted]


def _batch(events: list[Event]) -> list[Event]:
    size = 0
    for number, event in enumerate(events[:BATCH]):
        size += len(msgspec.json.encode(event))
        if size > BATCH_BYTES and number:
            return events[:number]
    return events[:BATCH]
