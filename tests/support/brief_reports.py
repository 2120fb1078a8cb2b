"""A pytest plugin: a worker tells of each test how it ended, and of nothing else that went well.

Five messages of each test, three of them with a report, are a tenth of what a short test costs. Whoever wants to know
how long tests take (`--durations`) gets all of them.
"""

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl
def pytest_runtest_protocol(item, nextitem):
    if not hasattr(item.config, "workerinput") or item.config.getoption("durations") is not None:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
