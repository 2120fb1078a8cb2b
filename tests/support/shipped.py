"""The shipped policies, for tests that judge calls by them."""

from functools import cache

from baton.rules.policy import load as loading
from baton.rules.policy.load import PolicySet, load
from baton.rules.policy.rules.files import Layer
from baton.shared import policy_folders


@cache
def shipped_files() -> dict[str, str]:
    """Return the texts of the shipped policies by path. Do not change the dictionary: all tests share it."""
    return policy_folders.read(policy_folders.shipped())


def shipped_layer() -> Layer:
    """Return the layer of the shipped policies, for other layers to lie over."""
    return Layer(tier="shipped", files=shipped_files())


@cache
def shipped() -> PolicySet:
    """Return the shipped policies, built once in each worker."""
    return load([shipped_layer()])


def unread() -> PolicySet:
    """Return the shipped policies built anew: a set that has judged no call yet, for who counts or changes how it does."""
    loading._shipped.cache_clear()
    return load([shipped_layer()])
