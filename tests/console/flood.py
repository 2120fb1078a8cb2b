"""A flood of decisions in the log of a real server, and what Now in a real Chromium does meanwhile."""

import threading
import time
from datetime import UTC, datetime
from typing import Any, Self

import msgspec
import redis
from uuid_utils import uuid7

from baton.events.log import LOG
from baton.rules.call.record import Record

PER_SECOND = 500
TICK_S = 0.05
_WATCH = """() => {
  window.bench = { frames: 0, slow: 0, longest: 0, lags: [], rows: new Set() };
  let before = performance.now();
  const step = (now) => {
    const took = now - before;
    before = now;
    window.bench.frames += 1;
    window.bench.longest = Math.max(window.bench.longest, took);
    if (took > 50) window.bench.slow += 1;
    const row = document.querySelector("[data-decision]");
    const made = row && row.textContent.match(/made at (\\d+)/);
    if (made && !window.bench.rows.has(made[1])) {
      window.bench.rows.add(made[1]);
      window.bench.lags.push(Date.now() - Number(made[1]));
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""
_READ = """() => {
  const { frames, slow, longest, lags } = window.bench;
  lags.sort((one, other) => one - other);
  return { frames, slow, longest, rows: lags.length, lag50: lags[Math.floor(lags.length / 2)] ?? 0,
    lag99: lags[Math.floor(lags.length * 0.99)] ?? 0 };
}"""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a page did meanwhile: frames, those that took more than 50 ms, the longest in ms; rows seen on top, and their lag in ms."""

    frames: int
    slow: int
    longest: float
    rows: int
    lag50: float
    lag99: float


class Flood:
    """Puts decisions into the log of a server, so many a second, until it is left."""

    def __init__(self, server, per_second: int = PER_SECOND) -> None:
        folder = server.home / "valkey"
        elsewhere = folder / "socket-path"  # where the folder's own path is too long for a socket
        place = elsewhere.read_text().strip() if elsewhere.exists() else str(folder / "valkey.sock")
        self._redis = redis.Redis(unix_socket_path=place)
        self._per_second = per_second
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(10)

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stopping.wait(TICK_S):
            due = int((time.monotonic() - began) * self._per_second) - self.sent
            pipeline = self._redis.pipeline(transaction=False)
            for number in range(min(due, self._per_second)):
                pipeline.xadd(LOG, {"r": _record(self.sent + number)})
            pipeline.execute()
            self.sent += max(0, min(due, self._per_second))


def _record(number: int) -> bytes:
    refused = number % 50 == 0
    now = datetime.now(UTC)
    return msgspec.msgpack.encode(
        Record(
            id=str(uuid7()),
            at=now,
            organisation="default",
            team="default",
            user=f"user-{number % 20}",
            client="claude-code",
            event="PreToolUse",
            tool="Bash",
            session_id=f"s{number % 50}",
            effect="deny" if refused else "abstain",
            decision="block" if refused else "allow",
            command=f"git log -n {number} # made at {int(now.timestamp() * 1000)}.",
            elapsed_us=240,
        )
    )


def first_paint(page: Any, loads: int = 5) -> list[int]:
    """Load Now so many times, the first with an empty cache; return when each painted something, in ms after it began."""
    paint = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    painted = []
    for _ in range(loads):
        page.goto("/ui/")
        page.locator("[data-connection=live]").wait_for()
        painted.append(round(page.wait_for_function(paint).json_value()))
    return painted


def measure(page: Any, seconds: float) -> Figures:
    """Watch a page that shows Now for so many seconds."""
    page.evaluate(_WATCH)
    page.wait_for_timeout(seconds * 1000)
    return msgspec.convert(page.evaluate(_READ), Figures)
