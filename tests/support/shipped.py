"""The shipped policies, for tests that judge calls by them."""

from functools import cache, lru_cache

from baton.rules.policy import load as loading
from baton.rules.policy.load import PolicySet, load, rebuilt
from baton.rules.policy.rules.files import Layer
from baton.shared import policy_folders

loading._shipped = lru_cache(maxsize=8)(loading._shipped.__wrapped__)
"""Tests build small sets in turn with the shipped one, which takes longer than most tests: a server knows two."""

_FOLDER, _read = policy_folders.shipped(), policy_folders.read


@cache
def shipped_files() -> dict[str, str]:
    """Return the texts of the shipped policies by path. Do not change the dictionary: all tests share it."""
    return _read(_FOLDER)


def read_once() -> None:
    """Have this process read the shipped policies from disk once: each new server reads their 200 files three times."""
    policy_folders.read = lambda folder: dict(shipped_files()) if folder == _FOLDER else _read(folder)


def shipped_layer() -> Layer:
    """Return the layer of the shipped policies, for other layers to lie over."""
    return Layer(tier="shipped", files=shipped_files())


@cache
def shipped() -> PolicySet:
    """Return the shipped policies, built once in each worker."""
    return load([shipped_layer()])


@cache
def with_packs(names: str) -> PolicySet:
    """Return the shipped policies with packs, separated by spaces."""
    text = f"packs: {{{', '.join(f'{name}: on' for name in names.split())}}}\n"
    return load([shipped_layer(), Layer(tier="team", name="web", files={"config.yaml": text}, origin="upload")])


def unread() -> PolicySet:
    """Return the shipped policies built anew: a set that has judged no call yet, for who counts or changes how it does."""
    return rebuilt([shipped_layer()], ())
