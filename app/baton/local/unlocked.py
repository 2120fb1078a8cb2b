"""Keeps a person's token in memory for ten minutes, for one terminal, like ssh-agent. `baton auth unlock` starts it.

It listens on a UNIX socket reachable only by its own user. It checks the caller as the server does: a process in the
unlocking terminal's session, started by no agent. `python -m baton.local.unlocked` is the process.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

from baton.shared.person_socket import is_ours, listen, local_folder

LASTS_S = 600
"""How long a token is held, in seconds."""
_ASK, _END = b"token\n", b"lock\n"
_PATIENCE_S = 2.0
_LONGEST = 4_096
_PR_SET_DUMPABLE = 4


def exists(url: str) -> bool:
    """Return whether a token for a server was unlocked, and perhaps is still held."""
    return sys.platform != "win32" and _path(url).exists()


def hold(url: str, token: str) -> None:
    """Start the process for this terminal's token. Raise OSError if it cannot."""
    lock(url)
    session = os.getsid(0)
    # Its leader is outside of this PID namespace (`unshare --pid`, some sandboxes): there is nothing to tie a token to.
    if not session:
        raise OSError("this terminal's session began outside of this container, so a token cannot be held for it")
    order = {"url": url, "token": token, "session": session}
    command = [sys.executable, "-P", "-m", "baton.local.unlocked"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", env={},
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - they are pipes
        process.stdin.write(json.dumps(order).encode())
        process.stdin.close()
        if not process.stdout.readline():
            raise OSError("the process for storing the token did not start")
        process.returncode = 0  # it continues in the background


def ask(url: str) -> str:
    """Return the unlocked token for a server and this terminal, "" if there is none or this process may not have it."""
    return _say(url, _ASK)


def lock(url: str) -> bool:
    """End the process with a token. Return whether it existed."""
    return bool(_say(url, _END))


def _say(url: str, word: bytes) -> str:
    path = _path(url)
    if not path.is_socket() or not is_ours(path.parent):
        return ""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect(str(path))
            connection.sendall(word)
            return connection.makefile("rb").readline(_LONGEST).decode().strip()
        except OSError:
            return ""


def _path(url: str) -> Path:
    return local_folder() / f"unlocked-{sha256(url.encode()).hexdigest()[:16]}.sock"


def _serve(listener: socket.socket, token: str, session: int, until: float) -> None:
    """Answer until the time is over, the terminal closes, or somebody locks it."""
    from baton.shared.agent_process import identify

    leader = identify(session)
    while (left := until - time.monotonic()) > 0:
        listener.settimeout(left)
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(_PATIENCE_S)
            word = connection.makefile("rb").readline(len(_ASK))
            if word == _END:
                connection.sendall(b"locked\n")
                return
            if identify(session) != leader:
                return
            given = token if word == _ASK and _may_have_it(connection, session) else ""
            connection.sendall(given.encode() + b"\n")


def _may_have_it(connection: socket.socket, session: int) -> bool:
    """Return whether the peer process is a person's, in the unlocking terminal."""
    import psutil

    from baton.shared.agent_process import doubt, peer_pid

    try:
        pid = peer_pid(connection)
        return os.getsid(pid) == session and not doubt(pid)
    except (OSError, psutil.Error):
        return False


def _keep_from_debuggers() -> None:
    """Protect our memory from debuggers of this user, and from core dumps."""
    import resource  # missing on Windows, and Windows imports this module to ask for unlocked tokens

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def main() -> None:
    """Read an order from the standard input and hold the token."""
    _keep_from_debuggers()
    order = json.load(sys.stdin)
    path = _path(order["url"])
    listener = listen(path, 16)
    mine = path.stat().st_ino
    os.write(1, b"ready\n")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    try:
        _serve(listener, order["token"], order["session"], time.monotonic() + LASTS_S)
    finally:
        with contextlib.suppress(OSError):
            if path.stat().st_ino == mine:  # a later `baton auth unlock` has put its own there
                path.unlink()


if __name__ == "__main__":
    main()
