"""Sessions with a sequence of calls and known right answers, at a steady rate. It breaks nothing itself."""

import asyncio
import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

BUDGET_S = 1.5
"""Timeout of a hook's shim for its answer, in seconds."""
_TICK_S = 0.01
_ATTEMPTS = 3
_READ = {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}
_EDIT = {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
_numbers = itertools.count()


class Seen(msgspec.Struct):
    """The load's measurements. Times are in seconds; `slowest_s` excludes the load's own delay, `lag_s`."""

    calls: int = 0
    degraded: int = 0
    retried: int = 0
    slowest_s: float = 0.0
    lag_s: float = 0.0
    last_degraded_at: float = 0.0
    causes: Counter[str] = msgspec.field(default_factory=Counter)
    wrong: list[str] = []
    unanswered: list[str] = []
    ids: set[str] = set()


class Http:
    """Keep-alive connections to the server, as few as possible."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = f"Authorization: Bearer {token}\r\n" if token else ""
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def request(self, method: str, path: str, body: bytes = b"", *, anew: bool = False) -> tuple[int, bytes]:
        """Send one request, `anew` on its own connection; return status and body.

        Raises:
            OSError, EOFError: the connection broke before the end of the answer.
        """
        while self._idle and (self._idle[-1][0].at_eof() or self._idle[-1][1].is_closing()):
            self._idle.pop()[1].close()
        link = (
            self._idle.pop()
            if self._idle and not anew
            else await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        )
        reader, writer = link
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{self._token}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int((answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) or b"0")
            text = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self._idle.append(link)
        return int(answer[9:12]), text

    async def insist(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Repeat a request after its connection broke, such as a long idle one; returns status and body.

        Raises:
            OSError, EOFError: it broke each time.
        """
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(OSError, EOFError):
                return await self.request(method, path, body)
        return await self.request(method, path, body)

    def header_arguments(self) -> list[str]:
        """Return the token's header in Schemathesis's form."""
        return ["--header", self._token.strip()] if self._token else []

    def close(self) -> None:
        """Close idle connections."""
        for _, writer in self._idle:
            writer.close()


class Load:
    """A steady rate of sessions of four calls each, until stopped. `patience_s` is the timeout of an answer."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.patience_s = BUDGET_S * 2
        self.seen = Seen()
        self._late_s = 0.0

    @asynccontextmanager
    async def running(self, sessions_per_s: float, calls: int = 4) -> AsyncIterator[Seen]:
        """Start that many sessions a second, of that many calls each; at the end all of them have been answered."""
        self.seen, stop, asking = Seen(), asyncio.Event(), set[asyncio.Task[None]]()

        async def begin() -> None:
            at = time.monotonic()
            while not stop.is_set():
                task = asyncio.create_task(self._session(f"soak-{next(_numbers)}", calls))
                asking.add(task)
                task.add_done_callback(asking.discard)
                at += 1 / sessions_per_s
                await asyncio.sleep(max(0.0, at - time.monotonic()))

        ticking = asyncio.create_task(self._tick())
        beginning = asyncio.create_task(begin())
        try:
            yield self.seen
        finally:
            stop.set()
            await beginning
            await asyncio.gather(*asking)
            ticking.cancel()

    async def _tick(self) -> None:
        """Measure this process's own delay: on a busy machine it waits as long as the server."""
        while True:
            due = time.monotonic() + _TICK_S
            await asyncio.sleep(_TICK_S)
            late = max(0.0, time.monotonic() - due)
            self._late_s += late
            self.seen.lag_s = max(self.seen.lag_s, late)

    async def _session(self, session: str, calls: int) -> None:
        """Look twice, edit, run: strict allows one look, no edit, and the harmless command as sent."""
        unsure = False
        echo = {"tool_name": "Bash", "tool_input": {"command": f"echo {session}"}}
        sequence = ((_READ, "allow"), (_READ, "block"), (_EDIT, "block"), (echo, "allow"))
        for call, wanted in sequence[:calls]:
            answer = await self._ask(session, call)
            if answer is None:
                unsure = True
                continue
            unsure = unsure or "history" in answer["degraded"]
            free = call is _READ and wanted == "block" and unsure
            if answer["decision"] != wanted and not free:
                self.seen.wrong.append(f"{session}: {call} got {answer['decision']}, not {wanted}: {answer}")
            if answer["modifiedInput"] != call["tool_input"]:
                self.seen.wrong.append(f"{session}: {call} came back as {answer['modifiedInput']}")

    async def _ask(self, session: str, call: dict[str, Any]) -> dict[str, Any] | None:
        """Ask once, and again on a new connection after a broken one, like the shim's retry; all within one budget."""
        use = f"{session}-{next(_numbers)}"
        body = json.dumps({"session_id": session, "tool_use_id": use, "project": session} | call).encode()
        began, late_s, why = time.monotonic(), self._late_s, ""
        self.seen.calls += 1
        for attempt in range(_ATTEMPTS):
            try:
                async with asyncio.timeout(self.patience_s):
                    status, text = await self._http.request("POST", "/pre-tool-use", body, anew=attempt > 0)
            except (OSError, EOFError) as error:  # a timeout is an OSError too
                why = repr(error)
                self.seen.retried += attempt == 0
                continue
            now = time.monotonic()
            self.seen.slowest_s = max(self.seen.slowest_s, now - began - (self._late_s - late_s))
            if status != 200:
                why = f"status {status}"
                break
            answer: dict[str, Any] = json.loads(text)
            self.seen.ids.add(answer["decision_id"])
            if answer["degraded"]:
                self.seen.degraded += 1
                self.seen.causes.update(answer["degraded"])
                self.seen.last_degraded_at = now
            return answer
        self.seen.unanswered.append(f"{use}: {why}")
        return None
