"""The environment of a person typing `baton …`."""

import os
from itertools import count
from pathlib import Path

import pytest

from tests.support.command_line import clean_environment, run
from tests.support.person import Person
from tests.support.server import served

_numbers = count()


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory):
    """Share one server, without tokens, between the tests of the command line."""
    with served(tmp_path_factory.mktemp("cli") / "home") as running:
        yield running


@pytest.fixture
def server(shared_server):
    return shared_server


@pytest.fixture
def user():
    """Return the name of a person who has no other test's runners, jobs, costs and modes on the server that all share."""
    return f"alice{next(_numbers)}"


@pytest.fixture
def alice(server, user):
    """Return a client of the test's own person."""
    with server.client(**{"Baton-User": user}) as client:
        yield client


@pytest.fixture
def typed(server, tmp_path):
    """Run `baton …` with a home of one's own; gives what it printed, or with `refused` what it said of an error."""

    def type_(*words, refused=False, stdin="", **env):
        env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url, **env)
        done = run(*words, env=env, cwd=tmp_path, stdin=stdin)
        assert (done.returncode != 0) == refused, done
        return done.stderr if refused else done.stdout + done.stderr

    return type_


@pytest.fixture
def baton(typed, user):
    """Run `baton …` as the test's own person."""

    def type_(*words, **more):
        return typed(*words, BATON_USER=user, **more)

    return type_


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    for name in [
        n for n in os.environ if n.startswith(("BATON_", "XDG_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "QWEN"))
    ]:
        monkeypatch.delenv(name)
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.project)
    monkeypatch.setenv("BATON_USER", "ada")
    return made
