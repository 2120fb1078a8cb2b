"""Follows a delegated job to its end, across broken connections; Ctrl-C cancels it."""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator

from baton.cli.jobs.job_card import Card
from baton.local.server import Api, ApiError

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts to continue a stream that broke."""


def follow(api: Api, job_id: str) -> int:
    """Print a job's events until it has ended; return the exit status. The first Ctrl-C cancels the job.

    Raises:
        ApiError: If the server stays away.
        KeyboardInterrupt: At the Ctrl-C after the one that cancelled the job.
    """
    card, last, cancelled, broken = Card(), "", False, 0
    with _ctrl_c():
        while card.status is None:
            try:
                for name, kind, data in api.events(f"/jobs/{job_id}/events", last):
                    last, broken = name, 0
                    card.show(kind, data)
                if card.status is None:
                    time.sleep(PAUSES_S[0])  # the server is stopping; the next one goes on
            except KeyboardInterrupt:
                if cancelled:
                    raise
                print("\nCancelling the job; press Ctrl-C again to stop watching.", file=sys.stderr)
                try:
                    api.request("POST", f"/jobs/{job_id}/cancel")
                    cancelled = True
                except ApiError as error:  # it has ended meanwhile, or the server is away
                    print(f"baton: the job was not cancelled: {error}", file=sys.stderr)
            except ApiError:
                if broken == len(PAUSES_S):
                    raise
                time.sleep(PAUSES_S[broken])
                broken += 1
    return card.status


@contextlib.contextmanager
def _ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt.

    A shell that runs a script starts `… &` with SIGINT ignored, and Python leaves an ignored signal ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
