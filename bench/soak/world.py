"""All parts broken in a soak: a Valkey, a Postgres, a proxy before each, and a server of two workers.

It breaks nothing itself.
"""

import asyncio
import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import psutil

from baton.kernel.redis.bundled import program
from baton.kernel.redis.bundled_process import info
from bench.soak.load import Http, Load
from bench.soak.proxy import Proxy
from tests.runner.test_disk import SmallDisk
from tests.support.postgres import Postgres

START_S = 60.0
"""Timeout of a part's start, in seconds."""
CONNECTIONS = 32
"""Simultaneous connections to reach every worker; the system distributes them."""
DISK_MIB = 512
"""Size of the disks that can be filled: the home's, and the one of Postgres's tables."""


async def until(found: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; False after that many seconds."""
    end = time.monotonic() + seconds
    while not found():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


class Valkey:
    """A Valkey with kill, hang and full disk, restartable on the same file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.socket = folder / "valkey.sock"
        self.process: psutil.Popen | None = None

    async def start(self) -> None:
        """Start it and wait until it answers."""
        self._folder.mkdir(exist_ok=True)
        command = [str(program()), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder)]
        command += ["--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--logfile", "valkey.log"]
        self.process = psutil.Popen(command, preexec_fn=_keep_running_when_full)
        end = time.monotonic() + START_S
        while (await info(self.socket)).get(b"loading") != b"0":
            assert time.monotonic() < end, "valkey does not start"
            await asyncio.sleep(0.02)

    def limit_files(self, size: int) -> None:
        """Keep its files from growing beyond that many bytes, like a full disk; -1 lifts the limit."""
        assert self.process is not None
        hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (hard if size < 0 else size, hard))

    @property
    def file_size(self) -> int:
        """Bytes of its largest file."""
        return max(path.stat().st_size for path in (self._folder / "appendonlydir").iterdir())

    def kill(self) -> None:
        """End it at once."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def _keep_running_when_full() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


class World:
    """All parts, running."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._settings = settings
        self.home_disk = SmallDisk(folder / "home", DISK_MIB)
        self.home = self.home_disk.folder
        self.valkey = Valkey(folder / "valkey")
        self.postgres = Postgres(folder).make()
        self.tables_disk = SmallDisk(folder / "tables", DISK_MIB)
        self.redis_proxy = Proxy(str(self.valkey.socket))
        self.postgres_proxy = Proxy(str(self.postgres.sockets / ".s.PGSQL.5432"))
        self.server: psutil.Popen | None = None
        self.acknowledged: set[str] = set()

    async def start(self) -> None:
        """Start every part, and set the mode of the whole organisation to strict."""
        await self.valkey.start()
        await self.redis_proxy.start()
        await self.postgres_proxy.start()
        tables = self.tables_disk.folder
        shutil.chown(tables, *self.postgres.sockets.stat()[4:6])
        # Its log is on another disk: without room for it Postgres would end.
        self.postgres.sql(f"CREATE TABLESPACE small LOCATION '{tables}'")
        self.postgres.sql("CREATE DATABASE baton TABLESPACE small")
        env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
        env |= {
            "BATON_HOME": str(self.home),
            "PORT": "0",
            "BATON_WORKERS": "2",
            "BATON_REDIS_URL": f"redis://127.0.0.1:{self.redis_proxy.port}",
            "BATON_DATABASE_URL": f"postgresql://baton@127.0.0.1:{self.postgres_proxy.port}/baton",
            "BATON_ADMIN_PER_MINUTE": "0",
            "BATON_RATE_PER_MINUTE": "0",
            "BATON_EXPENSIVE_PER_MINUTE": "0",
            "BATON_LOG_LEVEL": "error",
        }
        env |= self._settings
        with (self._folder / "server.log").open("wb") as log:
            command = [str(Path(sys.executable).parent / "baton"), "serve"]
            self.server = psutil.Popen(command, env=env, stdout=log, stderr=log)
        note = self.home / "server.json"
        started = await until(lambda: note.exists() or self.server is None or self.server.poll() is not None, START_S)
        assert started, self.log()
        assert note.exists(), self.log()
        token = self.home / "admin-token"
        port = int(json.loads(note.read_text())["url"].rpartition(":")[2])
        self.http = Http(port, token.read_text().strip() if token.exists() else "")
        self.load = Load(self.http)
        body = json.dumps({"scope": "organisation", "enabled": True, "level": "strict"}).encode()
        status, text = await self.http.request("PUT", "/mode", body)
        assert status == 200, text
        await self._every_worker_is_strict()

    async def _every_worker_is_strict(self) -> None:
        """Wait until each of so many connections, shared by the workers, reports the mode."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            answers = await asyncio.gather(*(self.http.request("GET", "/mode") for _ in range(CONNECTIONS)))
            if all(json.loads(text)["enabled"] for _, text in answers):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("a worker does not learn of the mode")

    async def stop(self) -> None:
        """End every part."""
        if hasattr(self, "http"):
            self.http.close()
        if self.server is not None and self.server.poll() is None:
            self.server.terminate()
            await until(lambda: self.server is None or self.server.poll() is not None, 30)
        await self.redis_proxy.stop()
        await self.postgres_proxy.stop()
        if self.valkey.process is not None and self.valkey.process.poll() is None:
            self.valkey.kill()
        self.postgres.stop()
        self.home_disk.close()
        self.tables_disk.close()

    def log(self) -> str:
        """Return the server's log."""
        return (self._folder / "server.log").read_text()[-4_000:]

    def workers(self) -> list[psutil.Process]:
        """Return the answering processes."""
        assert self.server is not None
        return [one for one in self.server.children() if _is(one, "baton.serve.worker")]

    def drain(self) -> psutil.Process:
        """Return the storing process."""
        assert self.server is not None
        return next(one for one in self.server.children() if _is(one, "baton.records.pipeline.drain_main"))

    def memory(self) -> float:
        """Resident memory of the server and all of its processes, in MiB."""
        total = 0
        assert self.server is not None
        for one in [self.server, *self.server.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
        return total / (1 << 20)

    async def decided_after(self, seconds: float) -> int:
        """Count the decisions so far above a bound of the server's histogram, in seconds."""
        status, text = await self.http.insist("GET", "/metrics")
        assert status == 200, text
        counted = dict(line.rpartition(" ")[::2] for line in text.decode().splitlines())
        every, quick = (f'baton_decision_seconds_bucket{{le="{bound}"}}' for bound in ("+Inf", seconds))
        return int(float(counted[every]) - float(counted[quick]))

    def postgres_processes(self) -> list[psutil.Process]:
        """Return every process of Postgres, the first one first."""
        first = psutil.Process(self.postgres.pid)
        return [first, *first.children(recursive=True)]

    async def missing(self, seconds: float) -> int:
        """Count acknowledged decisions missing in SQL after at most that many seconds."""
        end, rest = time.monotonic() + seconds, set(self.acknowledged)
        connection = await asyncpg.connect(self.postgres.url("baton"))
        try:
            while rest:
                rows = await connection.fetch("SELECT id::text FROM decisions WHERE id::text = ANY($1)", list(rest))
                rest -= {row["id"] for row in rows}
                if time.monotonic() > end:
                    break
                await asyncio.sleep(0.1)
        finally:
            await connection.close()
        self.acknowledged.clear()
        return len(rest)


def _is(process: psutil.Process, module: str) -> bool:
    try:
        return module in process.cmdline()
    except psutil.Error:
        return False


@asynccontextmanager
async def world(**settings: str) -> AsyncIterator[World]:
    """Start everything in a temporary folder, with these settings of the server."""
    folder = Path(tempfile.mkdtemp(prefix="baton-soak-", dir="/tmp"))
    os.chmod(folder, 0o755)  # noqa: PTH101, S103 - Postgres runs as another user
    made = World(folder, settings)
    try:
        await made.start()
        yield made
    finally:
        await made.stop()
        shutil.rmtree(folder, ignore_errors=True)
