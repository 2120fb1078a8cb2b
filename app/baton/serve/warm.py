"""Preparations of each process before it listens: modules, shipped rules, certificates."""

import contextlib
import ctypes
import gc
import os
import sys
import threading

NICE = 10  # the `nice` value of a starting worker, so that the others answer first
_HEAPS, _OWN_PAGES = (
    (-8, 1),
    (-3, 1 << 16),
)  # glibc's `mallopt`: the number of heaps, the size of a block in pages of its own


def begin() -> None:
    """Collect no garbage until the server is ready. Share one heap between threads, and return large blocks at once."""
    gc.disable()  # all modules stay, and collecting them costs a fifth of the start time
    with contextlib.suppress(AttributeError):  # another C library
        for option in (_HEAPS, _OWN_PAGES):
            ctypes.CDLL(None).mallopt(*option)


def warm() -> None:
    """Import the server, compile the shipped rules, and read the machine's certificates. All are cached."""
    import baton.main  # noqa: F401 - to have it imported
    from baton.kernel.http.outbound_guard import outbound_tls
    from baton.rules.policy.load import load
    from baton.rules.policy.rules.files import Layer
    from baton.shared import policy_folders

    load([Layer(tier="shipped", files=policy_folders.read(policy_folders.shipped()))])
    outbound_tls()


def warm_politely() -> None:
    """Do it at a low priority, so that a replaced worker does not slow others. A Linux thread cannot raise it."""
    if sys.platform != "linux":
        warm()
        return
    thread = threading.Thread(target=_at_low_priority)
    thread.start()
    thread.join()


def _at_low_priority() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    warm()
