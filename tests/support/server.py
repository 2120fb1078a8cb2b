"""A real server for tests: `baton serve` as a separate process, on a free port and in its own folder.

It is forked from a process with Baton already imported; `test_serve.py` and the soak start it from nothing.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import ssl
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import httpx2
import redis

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.operate import migrate
from baton.people import first_token
from baton.rules.call.call import Principal
from tests.support.forge import forge
from tests.support.run_folder import alone_in_the_run

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


@cache
def _prepared(**own):
    """Return a database with an admin's token in it, and the token; the servers of these settings start on a copy.

    `baton db admin-token` would do it, but not for a suite that an agent runs.
    """
    name = "-".join(["prepared", *(f"{field}={value}" for field, value in sorted(own.items()))])
    with alone_in_the_run("prepared") as folder:
        home = folder / name
        if not (home / "token").exists():
            home.mkdir(exist_ok=True)
            with ThreadPoolExecutor(1) as elsewhere:  # the test may have a loop of its own
                token = elsewhere.submit(asyncio.run, _prepare(Settings(home=home, **own))).result()
            (home / "token").write_text(token)
    return home / "baton.db", (home / "token").read_text()


async def _prepare(settings):
    await migrate.upgrade(settings)
    admin = Principal(organisation=settings.organisation, team=settings.team, user=settings.default_user, role="admin")
    database = Database(settings)
    try:
        return await first_token.recover(database, admin, None)
    finally:
        await database.close()


class Server:
    """A running server: its url, its process, its home. `token` is an admin's where the server asks for none, or ""."""

    def __init__(self, home, env):
        self.home = Path(home)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        self.env |= {"BATON_HOME": str(home), "PORT": "0"} | PATIENT | env
        self.token = ""
        self._tokens = {}
        if env.get("BATON_AUTH") != "on" and "BATON_DATABASE_URL" not in env:
            own = {
                name: env[f"BATON_{name.upper()}"]
                for name in ("organisation", "team")
                if f"BATON_{name.upper()}" in env
            }
            database, self.token = _prepared(**own)
            if not (self.home / "baton.db").exists():
                shutil.copy(database, self.home / "baton.db")
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
        """Return a client of a person: of the developer whom `Baton-User` names, otherwise of the admin.

        With a `Baton-Team` it is an agent's, as the team of a person is not theirs to say.
        """
        user = headers.get("Baton-User")
        if self.token and not {"Authorization", "Baton-Team"} & headers.keys():
            headers["Authorization"] = f"Bearer {self.token_of(user)}"
        client = self.agent(**headers)

        def of_whom_it_names(request):
            named = request.headers.get("Baton-User")
            if self.token and named and named != user:
                request.headers["Authorization"] = f"Bearer {self.token_of(named)}"

        client.event_hooks = {"request": [of_whom_it_names]}
        return client

    def agent(self, **headers):
        """Return a client with these headers alone, as a hook or an agent has it."""
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, verify=NO_CERTIFICATES)

    def token_of(self, user):
        """Return a token of a developer, which is made when it is first asked for; the admin's for no name."""
        if not user:
            return self.token
        if user not in self._tokens:
            with self.agent(Authorization=f"Bearer {self.token}") as admin:
                made = admin.post("/tokens", json={"user": user, "role": "developer"})
                assert made.status_code == 201, made.text
            self._tokens[user] = made.json()["text"]
        return self._tokens[user]

    def stray_keys(self):
        """Return the keys in the bundled Valkey without the hash tag: a Redis cluster refuses them."""
        with (
            suppress(redis.RedisError),
            redis.Redis(unix_socket_path=str(self.home / "valkey" / "valkey.sock")) as valkey,
        ):
            return [key for key in valkey.scan_iter(count=1_000) if not key.startswith(b"{baton}:")]
        return []

    def stop(self, how=signal.SIGINT):
        self.leave(how)
        return self.process.wait(60)

    def leave(self, how=signal.SIGINT):
        """Tell it to stop, which takes more than a second of waiting, and go on."""
        assert self.stray_keys() == []
        self.process.send_signal(how)


@contextmanager
def serving(home, **env):
    home.mkdir(parents=True, exist_ok=True)
    server = Server(home, env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


_leaving = []


@contextmanager
def served(home, **env):
    """Serve as `serving` does, for fixtures after which nobody looks: the next test does not wait for the end.

    Not with a database or a Redis that a fixture takes away next.
    """
    home.mkdir(parents=True, exist_ok=True)
    server = Server(home, env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.leave()
            _leaving.append(server.process)


def all_have_left():
    """Wait for the end of all that `served` has told to stop."""
    while _leaving:
        _leaving.pop().wait(60)


def until(found, seconds=60, about=str):
    """Wait until a function gives something true, and give it back; fails when it never does, with what `about` tells."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"did not happen within {seconds} s: {found} {about()}")


LASTING_S = 2.0
"""Four times as long as a worker goes without looking for changes (`POLL_S` of `kernel/changes/announce.py`)."""


def until_lasting(holds):
    """Wait until something holds and has held for two seconds, on a connection of its own each time.

    Which worker answers is chance: one that has not heard of a change yet may not be asked for a while.
    """
    since = [None]

    def lasts():
        if not holds():
            since[0] = None
            return False
        since[0] = since[0] or time.monotonic()
        return time.monotonic() - since[0] > LASTING_S

    until(lasts)


def free_port():
    """Return a port that nobody listens on, for who must know it before it is listened on."""
    for port in random.sample(BELOW_EPHEMERAL, 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
