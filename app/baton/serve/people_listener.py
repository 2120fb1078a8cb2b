"""The socket for people, of a server without tokens."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from baton.kernel.base import logs
from baton.kernel.base.settings import Settings
from baton.shared.agent_process import own_doubt
from baton.shared.person_socket import listen, person_socket

_BACKLOG = 64


@contextmanager
def people_listener(settings: Settings, port: int) -> Iterator[list[socket.socket]]:
    """Yield the listener for people, or nothing if tokens are required or it fails."""
    path = person_socket(port)
    if settings.auth_on:
        yield []
        return
    try:
        listener = listen(path, _BACKLOG)
    except OSError as error:
        logs.problem(
            f"people cannot be distinguished from agents, because `{path}` cannot be listened on: {(error.strerror or str(error)).lower()}."
            " Weakening the rules now needs an admin's token: `baton db admin-token`"
        )
        yield []
        return
    try:
        yield [listener]
    finally:
        path.unlink(missing_ok=True)


def at_a_persons_terminal(settings: Settings) -> bool:
    """Return whether this process's terminal is a person's. A link shown there signs a browser in."""
    return not settings.auth_on and sys.stderr.isatty() and not own_doubt()


def show_link(port: int, path: str) -> None:
    """Write the sign-in link to this process's terminal, and to no log."""
    sys.stderr.write(
        f"Open the console: http://baton.localhost:{port}{path} (once, within five minutes; then `baton open`)\n"
    )
    sys.stderr.flush()
