"""A drain that is killed while it sends events to a sink."""

import json
import signal
import sqlite3
import threading
from collections import Counter
from contextlib import closing

import pytest

from tests.support.processes import is_gone
from tests.support.server import serving, until
from tests.system.test_faults import ask, drain_of

pytestmark = pytest.mark.slow("kills the drain three times")

CALLS = 300


class Watcher:
    """Reads a file of events as it grows, and looks each event's decision up in SQL at once."""

    def __init__(self, file, database):
        self._file, self._database = file, database
        self.sent, self.early = Counter(), []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        until(lambda: self._file.exists() or self._stop.is_set())
        with self._file.open("rb") as lines, closing(sqlite3.connect(self._database)) as stored:
            rest = b""
            while True:
                ends = self._stop.is_set()
                *whole, rest = (rest + lines.read()).split(b"\n")
                for line in whole:
                    data = json.loads(line)["data"]
                    if key := data.get("decision_id"):
                        found = stored.execute("SELECT 1 FROM decisions WHERE id = ?", [key]).fetchone()
                        self.early += [key] if not found else []
                        self.sent[key] += 1
                if ends:
                    return
                self._stop.wait(0.001)


def test_a_killed_drain_sends_each_event_at_least_once_and_never_before_its_decision_is_stored(tmp_path):
    file = tmp_path / "events.ndjson"
    with serving(tmp_path / "home", BATON_EVENTS_FILE=str(file)) as server, server.client() as http:
        with Watcher(file, server.home / "baton.db") as watcher:
            made, killed = set(), set()
            for number in range(CALLS):
                call = {"tool_name": "Bash", "tool_input": {"command": f"echo {number}"}}
                made.add(ask(http, f"k{number % 7}", call)["decision_id"])
                if number % 100 == 50:
                    before = len(watcher.sent)
                    until(lambda before=before: len(watcher.sent) > before)
                    child = drain_of(server)
                    child.send_signal(signal.SIGKILL)
                    until(lambda child=child: is_gone(child))
                    killed.add(child.pid)
            until(
                lambda: made <= watcher.sent.keys(), about=lambda: (made - watcher.sent.keys(), server.log.read_text())
            )
        assert len(killed) == 3
        assert watcher.early == []
        assert watcher.sent.keys() == made
        until(lambda: http.get("/status").json()["records"]["waiting"] == 0)
        assert sum(http.get("/status").json()["decisions"].values()) == CALLS
