import pytest

from baton.route.rosters.word_table import find


@pytest.fixture(scope="session")
def table():
    return find()
