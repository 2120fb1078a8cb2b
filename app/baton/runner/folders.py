"""Names the folders of workspaces for the server, which never learns their paths, so that it knows one from another.

A name is a chain of digests, one for each folder from the root down. All runners of a machine name a folder alike, by
whatever link or spelling its path leads there, and a folder's name is the beginning of the names of those in it.
"""

import os
import socket
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

DEEPEST = 64
"""Most digests in a name, which is what the server takes: a folder below has the name of the one at that depth."""
_MACHINE_ID = Path("/etc/machine-id")
_DIGITS = 12


def names(folders: Iterable[tuple[str, Path | None]]) -> dict[str, str]:
    """Return the names of workspaces' folders by alias; a folder that is gone has none."""
    machine = _machine()
    found = {alias: _name(machine, folder) for alias, folder in folders if folder is not None}
    return {alias: name for alias, name in found.items() if name}


def _name(machine: str, folder: Path) -> str:
    try:
        resolved = folder.resolve(strict=True)
        chain = [(path.stat(), path.name) for path in (*reversed(resolved.parents), resolved)]
    except OSError:
        return ""
    # Inodes tell `A` from `a`, and names tell a folder from a removed one whose inode it was given. On a file system that
    # ignores case one folder has several spellings, so the names are compared without case.
    texts = (
        f"{machine} {node.st_dev} {node.st_ino} {unicodedata.normalize('NFKC', name.casefold())}"
        for node, name in chain[:DEEPEST]
    )
    return "".join(f"{sha256(os.fsencode(text)).hexdigest()[:_DIGITS]}/" for text in texts)


def _machine() -> str:
    """Return what tells this machine from others: its id where the system has one, else its name."""
    try:
        return _MACHINE_ID.read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()
