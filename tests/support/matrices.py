"""A pytest plugin: of a function marked `matrix(n)`, `make test` tries about one case in n, `make test-all` all of
them.

The first case is always tried. The selection of the others does not depend on other tests.
"""

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    slow = pytest.mark.slow("one of many cases")
    seen = Counter()
    for item in items:
        marker = item.get_closest_marker("matrix")
        if marker is not None:
            function = item.nodeid.partition("[")[0]
            if seen[function] % marker.args[0]:
                item.add_marker(slow)
            seen[function] += 1
