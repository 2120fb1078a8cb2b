"""Shells running the shim, a server for it, and an environment without the developer's variables."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hooks.shim import PYTHON, SHELLS, Scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    yield scripted
    scripted.close()


_BASH = pytest.mark.slow("sh stands for it")


@pytest.fixture(
    params=[
        *(
            pytest.param(command, id=Path(program).name, marks=_BASH if Path(program).name == "bash" else ())
            for program, command in SHELLS.items()
        ),
        pytest.param(PYTHON, id="baton-hook"),
    ]
)
def shell(request: pytest.FixtureRequest) -> list[str]:
    """What runs the shim: each POSIX shell, and `baton hook`, which is a shim of its own. All do the same."""
    return request.param


@pytest.fixture(params=[["sh"], PYTHON], ids=["sh", "baton-hook"])
def one(request: pytest.FixtureRequest) -> list[str]:
    """One of each shim, where the shell does not matter."""
    return request.param


@pytest.fixture
def env(tmp_path: Path, server: Scripted) -> dict[str, str]:
    """An environment with a home of its own and nothing of the developer's, pointing at the server."""
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "BATON_URL": server.url, "BATON_USER": "ada"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work place"
    place.mkdir()
    return place
