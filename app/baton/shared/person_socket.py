"""Where a server without tokens listens for people: both the server and the command line find it by the port."""

import os
import socket
import stat
import sys
from pathlib import Path
from urllib.parse import urlsplit

_PROBE_S = 1.0
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def local_folder() -> Path:
    """Return the folder of this user's sockets, whether it exists or not."""
    user = os.geteuid()
    runtime = Path(f"/run/user/{user}")
    # Fixed places, not those of XDG_RUNTIME_DIR and TMPDIR: a server and its people may have different ones.
    return runtime / "baton" if runtime.is_dir() else Path(f"/tmp/baton-{user}")  # noqa: S108 - see `is_ours`


def person_socket(port: int) -> Path:
    """Return the path of the socket of the server on this port, whether it exists or not."""
    return local_folder() / f"person-{port}.sock"


def socket_path(url: str) -> Path | None:
    """Return where the server at this URL would listen for people, None for a server of another machine."""
    parts = urlsplit(url)
    if sys.platform == "win32":
        return None  # its sockets for people would be files of another kind; a token proves a person there
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or parts.username:
        return None
    return person_socket(parts.port or 80)


def is_person_socket(path: Path) -> bool:
    """Return whether a server listens there, where nobody else can have put one.

    A killed server leaves its socket behind, and another kind of server may have its port by now.
    """
    if not path.is_socket() or not is_ours(path.parent):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def is_ours(folder: Path) -> bool:
    """Return whether nobody else can reach into a folder: it is the user's own, no link, and closed to others."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
