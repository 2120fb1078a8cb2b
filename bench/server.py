"""Starts the measured servers: `baton serve` on its own home, and the floor. It measures nothing."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import psutil

ROOT = Path(__file__).parents[1]
START_S = 120.0
"""Timeout for the server's start, in seconds."""


class Started(msgspec.Struct, frozen=True):
    """A running server: its address, process and home, and an admin's token."""

    url: str
    process: psutil.Process
    home: Path
    token: str

    @property
    def parts(self) -> dict[str, list[psutil.Process]]:
        """Its processes by role: the answering ones, Valkey, and the storing one."""
        parts: dict[str, list[psutil.Process]] = {"server": [self.process], "valkey": [], "storing": []}
        for child in self.process.children(recursive=True):
            command = " ".join(child.cmdline())
            kind = "valkey" if "valkey" in command else "storing" if "drain_main" in command else "server"
            parts[kind].append(child)
        return parts

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.url.rpartition(":")[2])

    def put(self, path: str, body: bytes) -> None:
        """Set something by the API, in JSON."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        httpx2.put(self.url + path, content=body, headers=headers, timeout=60, trust_env=False).raise_for_status()


@contextmanager
def serving(**settings: str) -> Iterator[Started]:
    """Run a server with these settings on a free port, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as home, serving_in(Path(home), **settings) as started:
        yield started


@contextmanager
def serving_in(home: Path, **settings: str) -> Iterator[Started]:
    """Run a server with these settings on a free port, in a permanent home."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"BATON_HOME": str(home), "PORT": "0"} | settings
    command = [str(Path(sys.executable).parent / "baton"), "serve"]
    with _running(command, env, subprocess.DEVNULL) as process:
        url, token = _url(home), _token(env)
        yield Started(url, psutil.Process(process.pid), home, token)


@contextmanager
def floor(baton: Started) -> Iterator[tuple[int, psutil.Process]]:
    """Run the floor F1 on the server's Redis; gives its port and process."""
    redis = "unix://" + str(next(baton.home.rglob("*.sock")))
    with _running([sys.executable, "-m", "bench.floor", redis], dict(os.environ), subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), psutil.Process(process.pid)


@contextmanager
def _running(command: list[str], env: dict[str, str], stdout: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=stdout) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(START_S)


def _token(env: dict[str, str]) -> str:
    """Make an admin's token like a person, and wait until the server knows it."""
    command = [str(Path(sys.executable).parent / "baton"), "db", "admin-token", "--json"]
    made = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    time.sleep(1.5)
    return str(json.loads(made.stdout)["text"])


def _url(home: Path) -> str:
    note, end = home / "server.json", time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            url = str(json.loads(note.read_text())["url"])
            if httpx2.get(f"{url}/readyz", trust_env=False).is_success:
                return url
        except (OSError, ValueError, httpx2.HTTPError):
            pass
        time.sleep(0.1)
    raise SystemExit("the server did not start")
