"""The socket for people of a server without tokens."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from baton.kernel.base import logs
from baton.kernel.base.settings import Settings
from baton.shared.agent_process import own_doubt
from baton.shared.person_socket import is_ours, person_socket

_BACKLOG = 64


@contextmanager
def people_listener(settings: Settings, port: int) -> Iterator[list[socket.socket]]:
    """Listen for people beside this port, and yield the listener; nothing where tokens are needed, or where it fails."""
    path = person_socket(port)
    if settings.auth_on:
        yield []
        return
    try:
        listener = _listen(path)
    except OSError as error:
        way = (
            "a code that this terminal shows when `baton` asks for one, or a token"
            if shows_codes(settings)
            else "an admin's token"
        )
        logs.problem(
            f"people cannot be told from agents, as `{path}` cannot be listened on: {(error.strerror or str(error)).lower()}."
            f" What weakens the rules needs {way} then: `baton db admin-token`"
        )
        yield []
        return
    try:
        yield [listener]
    finally:
        path.unlink(missing_ok=True)


def shows_codes(settings: Settings) -> bool:
    """Return whether a code on this process's terminal can prove a person: the one process of a server, at a terminal.

    Its output must not be collected: who reads the log would read the code.
    """
    return not settings.auth_on and settings.workers == 1 and sys.stderr.isatty()


def at_a_persons_terminal(settings: Settings) -> bool:
    """Return whether this process's terminal is a person's: what it shows there signs a browser in."""
    return not settings.auth_on and sys.stderr.isatty() and not own_doubt()


def show_link(port: int, path: str) -> None:
    """Write the link that signs a browser in to this process's terminal, and into no log."""
    show_code(f"Open the console: http://baton.localhost:{port}{path} (once, within five minutes; then `baton open`)")


def show_code(text: str) -> None:
    """Write to this process's terminal, and into no log."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _listen(path: Path) -> socket.socket:
    """Listen where only the server's own user can connect. Raise OSError if that is not possible."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(path.parent):
        raise PermissionError(f"`{path.parent}` is not a folder of this user alone")
    path.unlink(missing_ok=True)  # a killed server leaves it behind; the port is ours, so no other server uses it
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(_BACKLOG)
    return listener
