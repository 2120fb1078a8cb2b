"""Follows a delegated job to its end, across broken connections; Ctrl-C cancels it."""

import contextlib
import signal
import sys
import time
from collections.abc import Iterator

from baton.cli.jobs.job_card import Card
from baton.cli.options import path_of
from baton.local.server import Api, ApiError, PersonNeeded, Refused, TokenRefused

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 15.0
"""The pause between two attempts to reach the server grows from the first to the longest, in seconds."""
LOOK_S = 1.0
"""Pause between two looks at a job that is queued, in seconds."""
AWAY_S = 600.0
"""How long the server may stay away, in seconds."""
CONNECTION_LOST = 75
"""Exit status for a server that stayed away: EX_TEMPFAIL of sysexits.h."""


def follow(api: Api, job_id: str) -> int:
    """Print a job's events until it has ended; return the exit status. The first Ctrl-C cancels the job.

    Raises:
        ApiError: If the server refuses to show the job.
        KeyboardInterrupt: At the second Ctrl-C; the first cancels the job.
    """
    card, connection, last, cancelled = Card(), _Connection(), "", False
    with _ctrl_c():
        while card.status is None:
            try:
                connection.pause()
                if card.queued:  # no event comes before a runner takes it, but the job itself says why it waits
                    _wait_for_runner(api, job_id, card, connection)
                for name, kind, data in api.events(path_of("jobs", job_id, "events"), last):
                    last = name
                    connection.is_there()
                    card.show(kind, data)
                    if card.queued:
                        break
                connection.is_there()
            except KeyboardInterrupt:
                if cancelled:
                    raise
                cancelled = _cancel(api, job_id)
            except (Refused, TokenRefused, PersonNeeded):
                raise
            except ApiError as error:
                if connection.is_lost(error):
                    again = f"The job continues; follow it again with: baton jobs show {job_id} --follow"
                    print(f"baton: the connection was lost: {error}\n{again}", file=sys.stderr)
                    return CONNECTION_LOST
    return card.status


def _cancel(api: Api, job_id: str) -> bool:
    print("\nCancelling the job; press Ctrl-C again to stop watching.", file=sys.stderr)
    try:
        api.request("POST", path_of("jobs", job_id, "cancel"))
    except ApiError as error:  # it has ended meanwhile, or the server is unavailable
        print(f"baton: the job was not cancelled: {error}", file=sys.stderr)
        return False
    return True


class _Connection:
    """The server's time of absence, and the delay before the next attempt."""

    def __init__(self) -> None:
        self._heard = time.monotonic()
        self._next_s = 0.0
        self._told = False

    def pause(self) -> None:
        """Wait before the next attempt."""
        time.sleep(self._next_s)

    def is_there(self) -> None:
        """Record an answer of the server. An ended stream is read again after a delay."""
        if self._told:
            print("The server answers again.", file=sys.stderr)
        self._heard, self._next_s, self._told = time.monotonic(), FIRST_PAUSE_S, False

    def is_lost(self, error: ApiError) -> bool:
        """Record a failed attempt. Return whether it was the last one."""
        self._next_s = min(max(self._next_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        if self._next_s > 1 and not self._told:  # a restart of the server is no news
            print(f"baton: {error}\nTrying again for {AWAY_S / 60:g} minutes.", file=sys.stderr)
            self._told = True
        return time.monotonic() - self._heard > AWAY_S


def _wait_for_runner(api: Api, job_id: str, card: Card, connection: _Connection) -> None:
    while (job := api.request("GET", path_of("jobs", job_id)))["state"] == "queued":
        connection.is_there()
        card.wait(job.get("waiting"))
        time.sleep(LOOK_S)
    card.queued = False


@contextlib.contextmanager
def _ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt.

    A script's shell starts `… &` with SIGINT ignored, and Python keeps an ignored signal ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
