"""The socket for people, of a server without tokens. Server and command line derive it from the port."""

import os
import socket
import stat
import sys
from pathlib import Path
from urllib.parse import urlsplit

_PROBE_S = 1.0
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def local_folder() -> Path:
    """Return the folder of this user's sockets. It may not exist."""
    user = os.geteuid()
    runtime = Path(f"/run/user/{user}")
    # Fixed paths instead of XDG_RUNTIME_DIR and TMPDIR, which may differ between a server and its users.
    return runtime / "baton" if runtime.is_dir() else Path(f"/tmp/baton-{user}")  # noqa: S108 - see `is_ours`


def person_socket(port: int) -> Path:
    """Return the socket's path for the server on this port. It may not exist."""
    return local_folder() / f"person-{port}.sock"


def socket_path(url: str) -> Path | None:
    """Return the socket's path for the server at this URL, or None for another machine."""
    parts = urlsplit(url)
    if sys.platform == "win32":
        return None  # Windows has no such socket; a token proves a person there
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or parts.username:
        return None
    return person_socket(parts.port or 80)


def is_person_socket(path: Path) -> bool:
    """Return whether a server listens on a private socket. A killed server leaves its socket behind."""
    if not path.is_socket() or not is_ours(path.parent):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def listen(path: Path, backlog: int) -> socket.socket:
    """Listen on a socket private to this user, instead of an abandoned one. Raise OSError if that is impossible."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(path.parent):
        raise PermissionError(f"`{path.parent}` is not private to this user")
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(backlog)
    return listener


def is_ours(folder: Path) -> bool:
    """Return whether a folder is private: the user's own, not a link, and closed to others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
