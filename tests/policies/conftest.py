import pytest

from app.engine.policy.load import layered, load
from app.store import policy_files


@pytest.fixture(scope="session")
def shipped():
    return load(layered(policy_files.read(policy_files.shipped())))
