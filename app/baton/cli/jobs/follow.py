"""Follows a delegated job to its end, across broken connections; Ctrl-C cancels it."""

import sys
import time

from baton.cli.jobs.job_card import Card
from baton.local.server import Api, ApiError

PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts to continue a stream that broke."""


def follow(api: Api, job_id: str) -> int:
    """Print a job's events until it has ended, and return the exit status.

    Raises:
        ApiError: If the server cannot be reached again.
    """
    card, last, cancelled, broken = Card(), 0, False, 0
    while card.status is None:
        try:
            for number, kind, data in api.events(f"/jobs/{job_id}/events", last):
                last, broken = number, 0
                card.show(kind, data)
            if card.status is None:
                time.sleep(PAUSES_S[0])  # the server stops; the next one continues the stream
        except KeyboardInterrupt:
            if cancelled:
                raise
            print("\nCancelling; Ctrl-C again stops following.", file=sys.stderr)
            try:
                api.request("POST", f"/jobs/{job_id}/cancel")
                cancelled = True
            except ApiError as error:  # it has ended meanwhile, or the server is away
                print(f"baton: not cancelled: {error}", file=sys.stderr)
        except ApiError:
            if broken == len(PAUSES_S):
                raise
            time.sleep(PAUSES_S[broken])
            broken += 1
    return card.status
