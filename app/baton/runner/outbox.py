"""Sends a job's events in order, each at least once, and none before it is on disk.

The server counts an event once by its number, so sending it twice does no harm. While the disk takes nothing the agent is
not listened to; only what an agent that has ended left behind is then sent from memory.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice
from typing import Any

import msgspec

from baton.runner.spool import BATCH, Batch, Spool, event_line
from baton.runner.wire import JobEnd, LeaseLost, Refused, Server, ServerAway, TokenRefused
from baton.shared.backoff import Backoff

LONGEST_S = 15.0
MOST_UNSTORED = 4 << 20
"""Bytes of events that are not on the disk yet, above which the agent is not listened to."""
RETRY_S = 1.0
"""How often events are offered to a disk that refused them, in seconds."""
_MEMORY_BATCH = 256 * 1024


async def waits() -> AsyncIterator[None]:
    """Yield after pauses that grow up to LONGEST_S, with jitter so that runners do not retry in step."""
    backoff = Backoff(0.25, LONGEST_S)
    while True:
        await asyncio.sleep(backoff.next_s())
        yield


class Outbox:
    """The events of one attempt on their way to the server.

    Attributes:
        trouble: Why the disk takes nothing now, "" while it does.
        stored: Set when the attempt is on the disk, so that its agent may be started.
    """

    def __init__(
        self,
        server: Server,
        spool: Spool,
        on_cancel: Callable[[], None],
        on_disk: Callable[[str], None] = lambda _trouble: None,
    ) -> None:
        """Keep the arguments.

        Args:
            server: Where the events go.
            spool: Where they are stored before.
            on_cancel: Called when the server wants the job cancelled.
            on_disk: Called with the trouble when the disk begins to refuse events, and with "" when it takes them again.
        """
        self._server = server
        self._spool = spool
        self._lease = _lease(spool)
        self._on_cancel = on_cancel
        self._on_disk = on_disk
        self._listen: Callable[[bool], None] = lambda _on: None
        self._seq = 0
        self._unstored: deque[bytes] = deque()
        self._unstored_size = 0
        self._ended: JobEnd | None = None
        self._ended_stored = False
        self._more, self._ready = asyncio.Event(), asyncio.Event()
        self._refused_since: float | None = None
        self._waited_s = 0.0
        self._sent = 0
        self._told_waiting = False
        self.trouble = ""
        self.stored = asyncio.Event()
        self._more.set()  # the file is made at once

    @property
    def waited_s(self) -> float:
        """Return how long the disk has refused events so far, in seconds; the agent could not go on meanwhile."""
        since = self._refused_since
        return self._waited_s + (time.monotonic() - since if since is not None else 0.0)

    @property
    def is_ended(self) -> bool:
        """Return whether the end is on the disk, so that the next run of the runner sends what this one does not."""
        return self._ended_stored

    def listen_by(self, listen: Callable[[bool], None]) -> None:
        """Set what stops and resumes listening to the agent."""
        self._listen = listen
        listen(self._unstored_size < MOST_UNSTORED)

    def put(self, kind: str, body: dict[str, Any]) -> None:
        """Add an event; never waits, so that the order is kept."""
        self._seq += 1
        line = event_line(self._seq, kind, body)
        self._unstored.append(line)
        self._unstored_size += len(line)
        if self._unstored_size >= MOST_UNSTORED:
            self._listen(False)  # noqa: FBT003 - on or off
        self._more.set()

    def end(self, ended: JobEnd) -> None:
        """Add the end of the attempt, after which nothing may be added."""
        self._ended = ended
        self._more.set()
        self._ready.set()

    async def run(self) -> None:
        """Store and send until the server has the end.

        Raises:
            LeaseLost: If the lease is lost; the spool is removed.
            Refused: If the server accepts neither events nor end; the spool is removed.
        """
        storing = asyncio.create_task(self._store())
        keep = False
        try:
            await self._send()
        except (LeaseLost, Refused):
            raise
        except BaseException:
            keep = True
            raise
        finally:
            storing.cancel()
            await asyncio.gather(storing, return_exceptions=True)
            if keep:
                self._spool.close()
            else:
                self._spool.remove()

    async def _store(self) -> None:
        """Move events from memory to the disk; while it refuses them, offer them again and again."""
        while not self._ended_stored:
            await self._more.wait()
            self._more.clear()
            lines, ended = list(self._unstored), self._ended
            try:
                await asyncio.to_thread(self._spool.add, lines, ended)
            except OSError as error:
                self._refused(str(error))
                self._more.set()
                await asyncio.sleep(RETRY_S)
                continue
            self._accepted()
            for line in lines:
                self._unstored.popleft()
                self._unstored_size -= len(line)
            if self._unstored_size < MOST_UNSTORED:
                self._listen(True)  # noqa: FBT003 - on or off
            self._ended_stored = ended is not None
            self.stored.set()
            self._ready.set()

    def _refused(self, trouble: str) -> None:
        if not self.trouble:
            self._refused_since = time.monotonic()
            self.trouble = trouble
            self._on_disk(trouble)
        self._ready.set()

    def _accepted(self) -> None:
        if self.trouble:
            self._waited_s = self.waited_s
            self._refused_since, self.trouble = None, ""
            self._on_disk("")

    async def _send(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            while (batch := self._next()) is not None:
                seq = await deliver(self._server, self._spool.job, self._lease, batch, self._on_cancel)
                self._told_waiting = self._told_waiting and not batch.events  # events end it, for the server
                self._sent = accepted(batch, seq)
                if batch.ended is not None and self._sent >= batch.last:
                    return
            await self._tell_waiting()

    async def _tell_waiting(self) -> None:
        """Post that the job waits for the disk, once each time."""
        if bool(self.trouble) == self._told_waiting or (self._ended is not None and self.trouble):
            return
        waiting_for = "disk" if self.trouble else ""
        pauses = waits()
        while bool(self.trouble) == bool(waiting_for):
            try:
                await self._server.post(self._spool.job, {**self._lease, "events": [], "waiting_for": waiting_for})
            except (ServerAway, TokenRefused):
                await anext(pauses)
                continue
            except Refused:  # a server of an earlier version, which shows nothing of it
                pass
            self._told_waiting = bool(waiting_for)
            return

    def _next(self) -> Batch | None:
        """Return what to send next: from the disk, and from memory if the disk refuses it and the agent has ended."""
        while (stored := self._spool.read()).events or stored.ended is not None:
            self._spool.passed(stored, self._sent)
            batch = stored.after(self._sent)
            if batch.events or batch.ended is not None:
                return batch
        if self._ended is None or not self.trouble:
            return None
        first = self._seq - len(self._unstored) + 1
        skipped = max(self._sent + 1 - first, 0)
        size, lines = 0, list[bytes]()
        for line in islice(self._unstored, skipped, skipped + BATCH):
            size += len(line)
            if lines and size > _MEMORY_BATCH:
                break
            lines.append(line)
        ended = msgspec.Raw(msgspec.json.encode(self._ended)) if skipped + len(lines) == len(self._unstored) else None
        return Batch(first=first + skipped, events=list(map(msgspec.Raw, lines)), ended=ended)


async def deliver(
    server: Server,
    job: str,
    lease: dict[str, Any],
    batch: Batch,
    on_cancel: Callable[[], None] = lambda: None,
    *,
    patient: bool = True,
) -> int:
    """Send one batch, repeatedly while the server is away; return the number up to which the server has everything.

    If `patient`, also repeat while the token is refused: the job goes on, and somebody may renew the token.
    """
    body: dict[str, Any] = {**lease, "events": batch.events}
    if batch.ended is not None:
        body["finish"] = batch.ended
    pauses = waits()
    while True:
        try:
            answer = await server.post(job, body)
        except (ServerAway, TokenRefused) as error:
            if isinstance(error, TokenRefused) and not patient:
                raise
            await anext(pauses)
            continue
        if answer.cancel and batch.ended is None:
            on_cancel()
        return answer.accepted


async def replay(server: Server, spool: Spool) -> str:
    """Send what an earlier run left, and return what became of it as a text.

    Raises:
        TokenRefused: If the token is refused; the spool is kept.
    """
    lease, batch = _lease(spool), spool.read()
    try:
        while batch.events or batch.ended is not None:
            seq = accepted(batch, await deliver(server, spool.job, lease, batch, patient=False))
            spool.passed(batch, seq)
            if batch.ended is not None and seq >= batch.last:
                return "has ended, and the server knows it"
            batch = spool.read()
    except TokenRefused:
        raise
    except LeaseLost as error:
        while batch.events and batch.ended is None:
            spool.passed(batch, batch.last)
            batch = spool.read()
        if batch.ended is not None:  # the server keeps the result of a lost attempt, too
            with contextlib.suppress(LeaseLost, Refused, ServerAway):
                await server.post(spool.job, {**lease, "events": [], "finish": batch.ended})
        return f"is no longer this runner's: {error}"
    except Refused as error:
        return f"was refused: {error}"
    return "was cut short; the server has its events"


def accepted(batch: Batch, seq: int) -> int:
    """Return up to which number the server has the events.

    Raises:
        Refused: If the server has lost events before the batch, which are not sent again.
    """
    if batch.events and seq < batch.first - 1:
        raise Refused(f"the server has events up to {seq} only, and those before {batch.first} are gone")
    return seq


def _lease(spool: Spool) -> dict[str, Any]:
    return {"attempt": spool.attempt, "token": spool.token}
