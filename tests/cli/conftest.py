import os
from pathlib import Path

import pytest

from tests.support.person import Person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    for name in [n for n in os.environ if n.startswith(("BATON_", "XDG_", "CLAUDE", "CODEX"))]:
        monkeypatch.delenv(name)
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.project)
    monkeypatch.setenv("BATON_USER", "ada")
    return made
