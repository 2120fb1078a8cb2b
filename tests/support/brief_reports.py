"""A pytest plugin: a worker reports of each test only its result, and any failure.

Five messages of each test, three of them with a report, are a tenth of a short test's cost. With `--durations` all of
them are sent, and so they are with pytest-rerunfailures.
"""

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl
def pytest_runtest_protocol(item, nextitem):
    whole = item.config.getoption("durations") is not None or item.get_closest_marker("flaky")
    if whole or not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
