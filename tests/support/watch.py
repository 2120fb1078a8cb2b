"""A pytest plugin: a hanging run shows its position, on pytest's own standard error.

pytest's own `faulthandler_timeout` starts a thread for each test, a fiftieth of the suite's cost; here the watch is
renewed at most once in `RENEW_S`.
"""

import faulthandler
import os
import sys
import time

import pytest

HUNG_S = 150
"""How long no test may have ended until it is shown where each thread is, in seconds."""
RENEW_S = 15


class _Watch:
    def __init__(self):
        self._error = os.fdopen(os.dup(sys.__stderr__.fileno()), "w")
        self._renewed = 0.0

    @pytest.hookimpl
    def pytest_runtest_setup(self):
        if (now := time.monotonic()) - self._renewed > RENEW_S:
            faulthandler.dump_traceback_later(HUNG_S, file=self._error)
            self._renewed = now

    @pytest.hookimpl
    def pytest_unconfigure(self):
        faulthandler.cancel_dump_traceback_later()
        self._error.close()


def pytest_configure(config):
    config.pluginmanager.register(_Watch())
