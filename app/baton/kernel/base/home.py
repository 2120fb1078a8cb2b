"""The folder of a server's state, which belongs to one server at a time."""

import fcntl
import os
from pathlib import Path
from typing import TextIO


class HomeInUse(Exception):
    """Another server works on this folder."""


class HomeLock:
    """Holds the folder for this process; the system lets go of it when the process ends, however it ends."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: TextIO | None = None

    def take(self) -> str:
        """Take the folder, and create it where it is missing; gives the process that had it and never let go, or "".

        Raises:
            HomeInUse: Another server has it.
            ValueError: It is no folder, or none that this process may write to.
        """
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (self._home / "lock").open("a+")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ValueError(f"`BATON_HOME` is `{self._home}`, which cannot hold the server's state: {why}") from None
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
        """Let go of the folder."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None
