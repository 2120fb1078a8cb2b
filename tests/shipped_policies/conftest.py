import pytest

from baton.engine.policy.load import layered, load
from baton.shared import policy_folders


@pytest.fixture(scope="session")
def shipped():
    return load(layered(policy_folders.read(policy_folders.shipped())))
