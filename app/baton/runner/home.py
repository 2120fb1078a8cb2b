"""The runner's own folder: its id, the lock that keeps a second one out, spools, worktrees. It holds no secret but leases."""

import fcntl
import os
import re
import secrets
import socket
from pathlib import Path


class Busy(Exception):
    """Another runner uses this folder."""


class Home:
    """A runner's folder, made where it is missing. The id stays the same from start to start."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.spools = folder / "spool"
        self.worktrees = folder / "worktrees"
        self.host = socket.gethostname()
        self.runner_id = self._id()

    def lock(self) -> int:
        """Keep a second runner out, until this process ends.

        Raises:
            Busy: when one runs.
        """
        file = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise Busy(f"a runner works in `{self.folder}` already") from None
        return file

    def _id(self) -> str:
        path = self.folder / "id"
        if path.exists() and re.fullmatch(r"[a-z0-9-]{1,64}", found := path.read_text().strip()):
            return found
        host = re.sub(r"[^a-z0-9]+", "-", self.host.lower())[:40].strip("-") or "runner"
        made = f"{host}-{secrets.token_hex(4)}"
        path.write_text(f"{made}\n")
        return made
