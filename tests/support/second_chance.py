"""A pytest plugin: `--second-chance` reruns failed tests of real parts once, and reports later successes as FLAKY.

They wait for processes, databases and browsers, and a machine may be too busy for one of them. Tests of pure code have one chance.
"""

import pytest

PURE = frozenset({"architecture", "clients", "docs", "lib", "lines", "rules"})
"""The folders of tests of pure code."""


def pytest_addoption(parser):
    parser.addoption("--second-chance", action="store_true", help="rerun a failed test of real parts once")


def pytest_collection_modifyitems(config, items):
    for item in items if config.getoption("second_chance") else ():
        if not PURE.intersection(item.nodeid.partition("::")[0].split("/")):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    # The failure may have broken what the module shares, which pytest-rerunfailures would keep.
    if item.get_closest_marker("flaky") and any(item._test_failed_statuses.values()):
        item.session._setupstate.teardown_exact(None)


def pytest_terminal_summary(terminalreporter):
    failed = {report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, ())}
    for report in terminalreporter.stats.get("rerun", ()):
        if report.nodeid not in failed:
            terminalreporter.write_line(f"{report.longreprtext}\nFLAKY: {report.nodeid}")
