"""A real server for tests: `baton serve` as a process of its own, on a free port and a folder of its own.

It is forked from a process that has imported Baton already; `test_serve.py` and the soak start it from nothing.
"""

import json
import os
import random
import signal
import socket
import ssl
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.support.forge import forge

BATON = str(Path(sys.executable).parent / "baton")
PATIENT = {
    "BATON_ADMIN_PER_MINUTE": "0", "BATON_EXPENSIVE_PER_MINUTE": "0", "BATON_RATE_PER_MINUTE": "0",
    "BATON_REDIS_TIMEOUT_MS": "1000",
}  # fmt: skip
"""Tests ask more often than people do, and a Redis that waits for a busy machine is not away."""
START_S = 120
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of a server on loopback: reading the machine's certificates takes longer than most tests."""
BELOW_EPHEMERAL = range(20_000, 32_000)
"""Ports that the system gives nobody who asks for any, on either end of a connection."""


class Server:
    """A running server: its url, its process, its home."""

    def __init__(self, home, env):
        self.home = Path(home)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        self.env |= {"BATON_HOME": str(home), "PORT": "0"} | PATIENT | env
        self.start()

    def start(self):
        self.log = self.home.parent / f"{self.home.name}.log"
        self.process = forge.start(["serve"], self.env, self.log)
        try:
            self.url = self._url()
        except BaseException:
            self.process.kill()
            raise

    def _url(self):
        note, end = self.home / "server.json", time.monotonic() + START_S
        while self.process.poll() is None and time.monotonic() < end:
            try:
                found = json.loads(note.read_text())
                if found["pid"] == self.process.pid and self._is_ready(found["url"]):
                    return found["url"]
            except (OSError, ValueError, httpx2.HTTPError):
                pass
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{self.log.read_text()}")

    def _is_ready(self, url):
        return httpx2.get(url + "/readyz", trust_env=False, verify=NO_CERTIFICATES).status_code == 200

    def client(self, **headers):
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, verify=NO_CERTIFICATES)

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(60)


@contextmanager
def serving(home, **env):
    home.mkdir(parents=True, exist_ok=True)
    server = Server(home, env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def until(found, seconds=60, about=str):
    """Wait until a function gives something true, and give it back; fails when it never does, with what `about` tells."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"did not happen within {seconds} s: {found} {about()}")


def free_port():
    """Give a port that nobody listens on, for who must know it before it is listened on."""
    for port in random.sample(BELOW_EPHEMERAL, 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
