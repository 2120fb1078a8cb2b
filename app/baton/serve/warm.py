"""What each process computes before it listens, always the same: its modules, the shipped rules, the certificates."""

import os
import sys
import threading

NICE = 10
"""The `nice` value of a worker that starts, so that the others answer first."""


def warm() -> None:
    """Import the server, build the shipped rules, and read the machine's certificates. Each of them is kept."""
    import baton.main  # noqa: F401 - to have it imported
    from baton.engine.policy.load import load
    from baton.engine.policy.rules.layers import Layer
    from baton.kernel.http.guards.outbound_tls import outbound_tls
    from baton.shared import policy_folders

    load([Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))])
    outbound_tls()


def warm_politely() -> None:
    """Do it at a low priority, so that a worker that is replaced does not slow the others.

    On Linux priority is a thread's own, and only a thread that ends may give it up: none may raise it again.
    """
    if sys.platform != "linux":
        warm()
        return
    thread = threading.Thread(target=_at_low_priority)
    thread.start()
    thread.join()


def _at_low_priority() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    warm()
