"""`python -m bench.soak.away`: a relay under load, while its server is killed, hung, restarted and away.

Every call must be decided as it is with the server, and recorded once. It takes about 13 minutes, and prints a line for
each fault; a miss is exit status 1. `SECONDS` behind it shortens the longest outage.
"""

import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.support.relay import LINES, Relay, ready
from tests.support.server import Server, free_port, serving, until

AWAY_S = 600.0
THREADS, PER_S = 8, 50
CALLS = 200
"""Calls of a session."""
STORED_S = 300.0
SOAKED = "soak-"


class Load:
    """Sessions in several threads, and what their calls were answered."""

    def __init__(self, relay: Relay) -> None:
        self.expected = {line: relay.line(line).word for line in LINES}
        self._relay, self._ends = relay, threading.Event()
        self.ids: Counter[str] = Counter()
        self.calls = self.without = 0
        self.slowest_s = 0.0
        self.wrong: list[str] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the load."""
        threads = [threading.Thread(target=self._run, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join()

    def _run(self, number: int) -> None:
        made, due = 0, time.monotonic()
        while not self._ends.wait(max(0.0, due - time.monotonic())):
            session = f"{SOAKED}{number}-{made // CALLS}"
            if made % CALLS == 0:
                self._relay.hook("SessionStart", session_id=session, source="startup")
            line, began = LINES[made % len(LINES)], time.monotonic()
            try:
                found = self._relay.line(line, session_id=session)
            except OSError as error:
                self.wrong.append(f"{line}: {error!r}")
                continue
            made, due = made + 1, max(due + THREADS / PER_S, time.monotonic())
            self.calls += 1
            is_without = found.headers.get("baton-degraded", "").startswith("server")
            self.without += is_without
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            self.ids[found.headers.get("baton-decision-id", "")] += 1
            if (found.status, found.word) != (200, self.expected[line]):
                self.wrong.append(f"{line}: {found.status} {found.word}")


def killed(server: Server, hold_s: float) -> None:
    """Kill the server, and start it again."""
    server.stop(signal.SIGKILL)
    time.sleep(hold_s)
    server.start()


def restarted(server: Server, hold_s: float) -> None:
    """Stop the server as an operator does, and start it again."""
    server.stop()
    time.sleep(hold_s)
    server.start()


def hung(server: Server, hold_s: float) -> None:
    """Stop the server's process with SIGSTOP."""
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(hold_s)
    server.process.send_signal(signal.SIGCONT)


class Result(msgspec.Struct, frozen=True):
    """The calls of a load, and what is wrong with them or their records."""

    calls: int
    without: int
    wrong: list[str]
    lost: int
    doubled: int


def run(folder: Path, faults: list[tuple[Callable[[Server, float], None], float]], settle_s: float = 5) -> Result:
    """Run a load during these faults, each for some seconds, and compare answers and records."""
    with serving(folder / "home", PORT=str(free_port()), BATON_SHUTDOWN_S="1") as server:
        relay = Relay(folder / "person", server, server.token_of("ada"))
        try:
            ready(relay)
            load = Load(relay)
            with load.running():
                for fault, hold_s in faults:
                    calls, without, load.slowest_s = load.calls, load.without, 0.0
                    time.sleep(settle_s)
                    fault(server, hold_s)
                    until(lambda: relay.state()["server"] == "up", STORED_S)
                    time.sleep(settle_s)
                    print(
                        f"{fault.__name__:10}{hold_s:5.0f} s: {load.calls - calls:6} calls, {load.without - without:6}"
                        f" without the server, slowest {load.slowest_s:.2f} s, {len(load.wrong)} wrong",
                        flush=True,
                    )
            until(lambda: relay.line("ls").status and relay.state()["records_waiting"] == 0, STORED_S)
            recorded, end = _recorded(server), time.monotonic() + STORED_S
            while load.ids.keys() - recorded.keys() and time.monotonic() < end:
                time.sleep(1)
                recorded = _recorded(server)
        finally:
            relay.stop()
    once = sum(count == 1 for count in recorded.values())
    return Result(
        calls=load.calls,
        without=load.without,
        wrong=load.wrong,
        lost=load.calls - len(load.ids.keys() & recorded.keys()),
        doubled=sum(recorded.values()) - once + len(recorded.keys() - load.ids.keys()),
    )


def _recorded(server: Server) -> Counter[str]:
    """Return the ids of the load's calls in the server's records."""
    found: Counter[str] = Counter()
    cursor: str | None = ""
    with server.client() as admin:
        while cursor is not None:
            asked = {"limit": "200", "event": "PreToolUse"} | ({"cursor": cursor} if cursor else {})
            page = admin.get("/decisions", params=asked).raise_for_status().json()
            found.update(one["id"] for one in page["items"] if one["session_id"].startswith(SOAKED))
            cursor = page.get("next_cursor")
    return found


def main() -> int:
    """Run every fault, and return the exit status."""
    away_s = float(sys.argv[1]) if sys.argv[1:] else AWAY_S
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            Path(folder), [(killed, 10), (restarted, 10), (hung, 20), (killed, away_s), (killed, 1), (hung, 3)]
        )
    print(
        f"{result.calls} calls, {result.without} without the server; {len(result.wrong)} undecided or otherwise,"
        f" {result.lost} records lost, {result.doubled} doubled"
    )
    print(*result.wrong[:10], sep="\n")
    return 1 if result.wrong or result.lost or result.doubled else 0


if __name__ == "__main__":
    sys.exit(main())
