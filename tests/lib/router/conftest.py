import pytest

from baton.kernel.base.word_table import find_table


@pytest.fixture(scope="session")
def table():
    return find_table()
