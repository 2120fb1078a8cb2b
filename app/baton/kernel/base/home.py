"""The state folder of a server. Only one server may use it at a time."""

import fcntl
import os
from pathlib import Path
from typing import TextIO


class HomeInUse(Exception):
    """Another server uses this folder."""


class HomeLock:
    """Locks the folder for this process. The system releases the lock when the process ends."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: TextIO | None = None

    def acquire(self) -> str:
        """Lock the folder, created if missing. Return the id of a crashed previous owner, or "".

        Raise HomeInUse if another server has locked it, or ValueError if it is not a writable folder.
        """
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (self._home / "lock").open("a+")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ValueError(f"`BATON_HOME` is `{self._home}`, unusable for the server's state: {why}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read(20).strip()
            file.close()
            raise HomeInUse(
                f"another server (process {owner or 'unknown'}) works in `{self._home}`;"
                " stop it, or give this one a folder of its own with `BATON_HOME`"
            ) from None
        file.seek(0)
        before = file.read(20).strip()
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return before

    def release(self) -> None:
        """Unlock the folder."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None
