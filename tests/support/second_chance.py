"""A pytest plugin: `--second-chance` runs a failed system test once more, and names it as FLAKY when it then passes.

System tests talk to real processes and kill and hang them, and a machine may be too busy for one of them. Every other
test has one chance.
"""

from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

SYSTEM = frozenset({"cli", "hooks", "local", "mcp", "runner", "system"})
"""The folders of tests that drive real processes."""
FLAKY = "flaky"


def pytest_addoption(parser):
    parser.addoption("--second-chance", action="store_true", help="run a failed system test once more")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if not item.config.getoption("second_chance") or SYSTEM.isdisjoint(Path(item.nodeid.partition("::")[0]).parts):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        # The failure may have broken what the module shares: everything is made anew.
        item.session._setupstate.teardown_exact(None)
        first = "\n".join(report.longreprtext for report in reports if report.failed)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            report.user_properties.append((FLAKY, first))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("passed", ()):
        first = dict(report.user_properties).get(FLAKY)
        if first is not None:
            terminalreporter.write_line(f"{first}\nFLAKY: {report.nodeid}")
