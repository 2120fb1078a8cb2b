import pytest

from app.store.word_table import find


@pytest.fixture(scope="session")
def table():
    return find()
