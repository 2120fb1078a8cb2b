"""Real parts for every test: a bundled Valkey per worker, a bundled Postgres per run, a fresh database per test."""

import asyncio
import gc
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.redis.bundled import Valkey
from baton.kernel.redis.client import Redis
from baton.operate import migrate
from baton.rules.policy.load import PolicySet
from tests.support import shipped as shipped_policies
from tests.support.databases import empty_postgres, fresh_file, opened
from tests.support.postgres import TEMPLATE, Postgres, shared, stop_shared
from tests.support.run_folder import VARIABLE, alone_in_the_run, is_owner, run_folder

_PATIENT = settings(  # neither a slow machine nor luck fails the suite
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.register_profile("baton", _PATIENT, max_examples=10)
settings.register_profile("thorough", _PATIENT, max_examples=100)  # `make test-all` asks for it
settings.load_profile("baton")
pytest_plugins = [
    "tests.support.second_chance",
    "tests.support.brief_reports",
    "tests.support.watch",
    "tests.support.both_databases",
    "tests.support.matrices",
    "tests.support.left_out_modules",
    "tests.support.fixtures.server",
    "tests.support.fixtures.colleagues",
    "tests.support.fixtures.records",
    "tests.support.fixtures.models",
]

# Loading the tests makes hardly any garbage, and looking for it takes a quarter of the time; later it takes a tenth.
gc.disable()
gc.set_threshold(20_000, 20, 50)

_names = count()
_DEVELOPERS_OWN = re.compile(
    r"(BATON|XDG|GIT|CLAUDE|CODEX|LC)_.*|PORT|TZ|LANG|LANGUAGE|COLUMNS|NO_COLOR|FORCE_COLOR|(all|https?|no)_proxy",
    re.IGNORECASE,
)


def pytest_configure() -> None:
    """Make the folder of the run; workers inherit its name."""
    run_folder()
    shipped_policies.read_once()


def pytest_collection_finish() -> None:
    """Keep half a million objects, which last as long as the run, out of every look for garbage."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Stop what the workers of the run have shared, once all of them have left."""
    if is_owner():
        stop_shared(run_folder())


@pytest.fixture(scope="session", autouse=True)
def _own_environment() -> Iterator[None]:
    """Keep the developer's own settings out of every test, and what a shell hands down to background jobs."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if _DEVELOPERS_OWN.fullmatch(name) and name != VARIABLE:
                patch.delenv(name)
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        umask = os.umask(0o022)
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, handler)
        os.umask(umask)


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """Return a folder with a short path, for unix sockets; other users may enter it."""
    folder = Path(tempfile.mkdtemp(prefix="baton-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def valkey_url(short_folder: Path) -> Iterator[str]:
    """Return the URL of this worker's Valkey."""
    valkey = Valkey(short_folder / "valkey-home")
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(valkey.start())
        yield valkey.url
        runner.run(valkey.stop())


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    """Return a connection to an empty Valkey. Patient: a busy machine is no fault."""
    redis = Redis(valkey_url, timeout_s=5)
    await redis.start()
    await redis.call(b"FLUSHALL")
    yield redis
    await redis.close()


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    """Return the Postgres of the run, which whoever needs it first starts."""
    with alone_in_the_run("postgres") as folder:
        return shared(folder)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """Yield a Postgres for one test, which breaks it."""
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        Path(folder).chmod(0o755)  # root starts it as another user
        server = Postgres(Path(folder)).make()
        yield server
        server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """Name a migrated database to copy."""
    return TEMPLATE


@pytest.fixture(scope="session")
def sqlite_template() -> Path:
    """Return a migrated SQLite file to copy."""
    with alone_in_the_run("sqlite") as folder:
        path, made = folder / "migrated.db", folder / "migrating.db"
        if not path.exists():
            asyncio.run(migrate.upgrade(Settings(database_url=f"sqlite:///{made}")))
            made.rename(path)
        return path


@pytest.fixture(scope="session")
def new_name() -> Callable[[], str]:
    """Return what makes names of databases that no other worker uses."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    return lambda: f"{worker}_{next(_names)}"


@pytest.fixture
def new_postgres(postgres: Postgres, new_name: Callable[[], str]) -> Iterator[Callable[[str], str]]:
    """Return what makes databases, as copies of a template, and takes them away after the test."""
    made: list[str] = []

    def make(template: str = "template0") -> str:
        name = new_name()
        postgres.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        made.append(name)
        return postgres.url(name)

    yield make
    for name in made:
        postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def kept_postgres(postgres: Postgres, postgres_template: str, new_name: Callable[[], str]) -> Iterator[str]:
    """Return the URL of this worker's one database for tests that leave nobody connected; copying one takes longer."""
    name = new_name()
    postgres.sql(f"CREATE DATABASE {name} TEMPLATE {postgres_template} STRATEGY FILE_COPY")
    yield postgres.url(name)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def emptied_postgres(kept_postgres: str) -> Iterator[str]:
    """Return the URL of a migrated, empty Postgres database, which was used before."""
    yield kept_postgres
    asyncio.run(empty_postgres(kept_postgres))


@pytest.fixture
def postgres_url(new_postgres: Callable[[str], str], postgres_template: str) -> str:
    """Return the URL of a migrated, empty Postgres database."""
    return new_postgres(postgres_template)


@pytest.fixture(scope="session")
def sqlite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this worker's SQLite database."""
    return tmp_path_factory.mktemp("sqlite")


@pytest.fixture
def sqlite_url(sqlite_folder: Path, sqlite_template: Path) -> str:
    """Return the URL of a migrated, empty SQLite database."""
    return fresh_file(sqlite_template, sqlite_folder)


@pytest.fixture
async def no_database() -> AsyncIterator[Database]:
    """Return a database that cannot be opened."""
    others = set(threading.enumerate())
    database = Database(Settings(database_url="sqlite:////nowhere/at/all.db"))
    yield database
    await database.close()
    # aiosqlite's thread says goodbye to the loop after a connection that failed; the loop must still be there.
    # Only its own are waited for: the connection of another test may stay open until it is collected.
    for thread in set(threading.enumerate()) - others:
        if "_connection_worker_thread" in thread.name:
            await asyncio.to_thread(thread.join)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a migrated, empty database, once of each kind."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "emptied_postgres")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Return a migrated, empty database, once of each kind."""
    async with opened(database_url) as database:
        yield database


@pytest.fixture(scope="session")
def shipped() -> PolicySet:
    """Return the shipped policies."""
    return shipped_policies.shipped()
