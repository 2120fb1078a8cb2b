"""A pytest plugin: `--shuffle SEED` runs modules in a random order, and the tests of each module as well.

Modules stay together, because a fixture of a module is made once for all of its tests.
"""

import random


def pytest_addoption(parser):
    parser.addoption("--shuffle", metavar="SEED", help="run the tests in a random order, which the seed repeats")


def pytest_report_header(config):
    seed = config.getoption("shuffle")
    return f"order of tests: make test-all SEED={seed}" if seed else None


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("shuffle")
    if not seed:
        return
    modules = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    order = random.Random(seed)  # noqa: S311 - it hides nothing; each worker must find the same order
    groups = list(modules.values())
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    items[:] = [item for group in groups for item in group]
