"""Sends a job's events in order, each at least once, and only after they are on disk.

The server ignores repeated event numbers. While the disk is full, the agent's output is not read. Only the rest of an
ended agent's events is then sent from memory.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice
from typing import Any

import msgspec

from baton.runner.spool import BATCH, AttemptSpool, SpoolBatch, event_line
from baton.runner.wire import JobEnd, LeaseRevoked, RequestRefused, RunnerTokenRefused, ServerAway, ServerConnection
from baton.shared.backoff import Backoff

LONGEST_S = 15.0
MOST_UNSTORED = 4 << 20  # size of events not yet on disk, in bytes, from which the agent's output is not read
RETRY_S = 1.0  # retry interval for a full disk, in seconds
_MEMORY_BATCH = 256 * 1024


async def waits() -> AsyncIterator[None]:
    """Yield after growing pauses up to LONGEST_S, with jitter so that runners do not retry in step."""
    backoff = Backoff(0.25, LONGEST_S)
    while True:
        await asyncio.sleep(backoff.next_s())
        yield


class JobOutbox:
    """The events of one attempt on their way to the server. `trouble` is the disk's refusal or "".

    `stored` is set once the attempt is on disk and its agent may start.
    """

    def __init__(
        self,
        server: ServerConnection,
        spool: AttemptSpool,
        on_cancel: Callable[[], None],
        on_disk: Callable[[str], None] = lambda _trouble: None,
    ) -> None:
        """Store the arguments. `on_disk` gets the disk's trouble, and "" after it; `on_cancel` is the server's."""
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
        self.ended_stored = False  # whether the end is on disk, so that the runner's next run can send the rest
        self._more, self._ready = asyncio.Event(), asyncio.Event()
        self._refused_since: float | None = None
        self._waited_s = 0.0
        self._sent = 0
        self._told_waiting = False
        self.trouble = ""
        self.stored = asyncio.Event()
        self._more.set()  # creates the file at once

    @property
    def waited_s(self) -> float:
        """Total time of refusals by the disk so far, in seconds. The agent was blocked meanwhile."""
        since = self._refused_since
        return self._waited_s + (time.monotonic() - since if since is not None else 0.0)

    def listen_by(self, listen: Callable[[bool], None]) -> None:
        """Set the callback that pauses and resumes reading of the agent."""
        self._listen = listen
        listen(self._unstored_size < MOST_UNSTORED)

    def put(self, kind: str, body: dict[str, Any]) -> None:
        """Add an event. Never waits, to keep the order."""
        self._seq += 1
        line = event_line(self._seq, kind, body)
        self._unstored.append(line)
        self._unstored_size += len(line)
        if self._unstored_size >= MOST_UNSTORED:
            self._listen(False)  # noqa: FBT003 - on or off
        self._more.set()

    def end(self, ended: JobEnd) -> None:
        """Add the end of the attempt, the last entry."""
        self._ended = ended
        self._more.set()
        self._ready.set()

    async def run(self) -> None:
        """Store and send until the server has the end. Raise LeaseLost or Refused, and remove the spool."""
        storing = asyncio.create_task(self._store())
        keep = False
        try:
            await self._send()
        except (LeaseRevoked, RequestRefused):
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
        """Move events from memory to disk. Retry while it is full."""
        while not self.ended_stored:
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
            self.ended_stored = ended is not None
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
                self._told_waiting = self._told_waiting and not batch.events  # for the server, events end the wait
                self._sent = accepted(batch, seq)
                if batch.ended is not None and self._sent >= batch.last:
                    return
            await self._tell_waiting()

    async def _tell_waiting(self) -> None:
        """Report once that the job waits for the disk, or no longer does."""
        if bool(self.trouble) == self._told_waiting or (self._ended is not None and self.trouble):
            return
        waiting_for = "disk" if self.trouble else ""
        pauses = waits()
        while bool(self.trouble) == bool(waiting_for):
            try:
                await self._server.post(self._spool.job, {**self._lease, "events": [], "waiting_for": waiting_for})
            except (ServerAway, RunnerTokenRefused):
                await anext(pauses)
                continue
            except RequestRefused:  # an older server without this field
                pass
            self._told_waiting = bool(waiting_for)
            return

    def _next(self) -> SpoolBatch | None:
        """Return the next batch: from disk, or from memory if the disk is full and the agent has ended."""
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
        return SpoolBatch(first=first + skipped, events=list(map(msgspec.Raw, lines)), ended=ended)


async def deliver(
    server: ServerConnection,
    job: str,
    lease: dict[str, Any],
    batch: SpoolBatch,
    on_cancel: Callable[[], None] = lambda: None,
    *,
    patient: bool = True,
) -> int:
    """Send one batch, with retries, and return the last number stored by the server.

    If `patient`, also retry while the token is refused: it may be renewed while the job continues.
    """
    body: dict[str, Any] = {**lease, "events": batch.events}
    if batch.ended is not None:
        body["finish"] = batch.ended
    pauses = waits()
    while True:
        try:
            answer = await server.post(job, body)
        except (ServerAway, RunnerTokenRefused) as error:
            if isinstance(error, RunnerTokenRefused) and not patient:
                raise
            await anext(pauses)
            continue
        if answer.cancel and batch.ended is None:
            on_cancel()
        return answer.accepted


async def replay(server: ServerConnection, spool: AttemptSpool) -> str:
    """Send the events of an earlier run and describe the outcome. Raise TokenRefused, and keep the spool."""
    lease, batch = _lease(spool), spool.read()
    try:
        while batch.events or batch.ended is not None:
            seq = accepted(batch, await deliver(server, spool.job, lease, batch, patient=False))
            spool.passed(batch, seq)
            if batch.ended is not None and seq >= batch.last:
                return "has ended, and the server has its end"
            batch = spool.read()
    except RunnerTokenRefused:
        raise
    except LeaseRevoked as error:
        while batch.events and batch.ended is None:
            spool.passed(batch, batch.last)
            batch = spool.read()
        if batch.ended is not None:  # the server stores late results, too
            with contextlib.suppress(LeaseRevoked, RequestRefused, ServerAway):
                await server.post(spool.job, {**lease, "events": [], "finish": batch.ended})
        return f"is no longer this runner's: {error}"
    except RequestRefused as error:
        return f"was refused: {error}"
    return "was cut short; the server has its events"


def accepted(batch: SpoolBatch, seq: int) -> int:
    """Return the last number stored by the server. Raise Refused if the server has lost earlier events."""
    if batch.events and seq < batch.first - 1:
        raise RequestRefused(f"the server only has events up to {seq}, and those before {batch.first} are lost")
    return seq


def _lease(spool: AttemptSpool) -> dict[str, Any]:
    return {"attempt": spool.attempt, "token": spool.token}
