"""A pytest plugin: of the tests for SQLite and Postgres, `make test` runs all on SQLite and some on Postgres.

`make test-all` runs all on both, `.ci/run` leaves them out. The selection does not depend on the order or on other tests.
"""

from zlib import crc32

import pytest

ONE_IN = 8
"""Of so many tests of Postgres with a twin on SQLite, about one is not slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    slow = pytest.mark.slow("its twin runs on SQLite")
    names = {item.nodeid for item in items}
    for item in items:
        twin = _twin(item)
        if twin in names and crc32(twin.encode()) % ONE_IN:
            item.add_marker(slow)
            item.add_marker(pytest.mark.twin)


def _twin(item):
    """Name the same test on SQLite; "" where the test does not name its database, or is SQLite's."""
    function, bracket, case = item.nodeid.partition("[")
    parts = case.removesuffix("]").split("-")
    if "postgres" not in parts:
        return ""
    return function + bracket + "-".join("sqlite" if part == "postgres" else part for part in parts) + "]"
