"""Shared parts of the tests of columns."""

import pytest

from baton.records.columns import writer


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch):
    """Write hour after hour: nobody else wants the database, for whom the writer would rest in between."""

    async def no_pause(_stop, _seconds):
        pass

    monkeypatch.setattr(writer, "pause", no_pause)
