import itertools

import pytest

from tests.support.server import serving

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("api") / "home") as running:
        yield running


@pytest.fixture(scope="session")
def guarded(tmp_path_factory):
    """A server that asks for tokens; whoever uses it makes people of their own names."""
    with serving(tmp_path_factory.mktemp("guarded") / "home", BATON_AUTH="on") as running:
        yield running


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client


@pytest.fixture
def session(server):
    """A session, a user and a project that no other test uses."""
    number = next(_numbers)
    return {"session_id": f"s{number}", "project": f"acme/p{number}", "cwd": f"/home/dev/p{number}"}
