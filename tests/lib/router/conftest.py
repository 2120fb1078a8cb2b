import pytest

from baton.kernel.base.word_table import shared


@pytest.fixture(scope="session")
def table():
    return shared()
