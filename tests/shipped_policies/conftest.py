import pytest

from baton.engine.policy.load import layered, load
from baton.policies import folders


@pytest.fixture(scope="session")
def shipped():
    return load(layered(folders.read(folders.shipped())))
