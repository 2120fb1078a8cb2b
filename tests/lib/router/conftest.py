import pytest

from baton.kernel.base.word_table import find


@pytest.fixture(scope="session")
def table():
    return find()
