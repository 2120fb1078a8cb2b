import gc
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baton.cli.main import app
from baton.local.server import ApiError
from tests.support.person import Person
from tests.support.server import serving


def pytest_collection_modifyitems(items):
    """A command leaves its connection to the end of its process, which is not its own where it is typed here."""
    for item in items:
        if "typed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("cli") / "home") as running:
        yield running


@pytest.fixture
def alice(server):
    with server.client(**{"Baton-User": "alice"}) as client:
        yield client


@pytest.fixture
def typed(server, tmp_path, monkeypatch):
    """Run `baton …` with a home of one's own; in this process, since it is run often. Gives what it printed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BATON_URL", server.url)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words, refused=False, stdin=None):
        done = CliRunner().invoke(app, words, input=stdin)
        if refused:
            assert isinstance(done.exception, ApiError), done.output
            return str(done.exception)
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    yield run
    gc.collect()


@pytest.fixture
def baton(typed, monkeypatch):
    """Run `baton …` as alice."""
    monkeypatch.setenv("BATON_USER", "alice")
    return typed


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    for name in [n for n in os.environ if n.startswith(("BATON_", "XDG_", "CLAUDE", "CODEX"))]:
        monkeypatch.delenv(name)
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.project)
    monkeypatch.setenv("BATON_USER", "ada")
    return made
