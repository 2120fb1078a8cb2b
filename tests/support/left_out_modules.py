"""A pytest plugin: a module whose tests are all left out by their mark is not even imported: some import for a second."""

import re

_LEFT_OUT = re.compile(r"not (\w+)(?: and not (\w+))*")
_MARKED = re.compile(r"^pytestmark = pytest\.mark\.(\w+)", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    chosen = config.getoption("markexpr")
    if collection_path.suffix != ".py" or not _LEFT_OUT.fullmatch(chosen):
        return None
    marked = _MARKED.search(collection_path.read_text())
    return True if marked and f"not {marked[1]}" in chosen.split(" and ") else None
