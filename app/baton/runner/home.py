"""The runner's folder: its id, the lock against a second runner, spools and worktrees."""

import fcntl
import os
import re
import secrets
import socket
import time
from pathlib import Path

_TRIES = 10


class RunnerHomeInUse(Exception):
    """Another runner uses this folder."""


class Home:
    """A runner's folder, created if missing. The runner's id is permanent."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.spools = folder / "spool"
        self.worktrees = folder / "worktrees"
        self.results = folder / "results"
        self._lock = folder / "lock"
        self.host = socket.gethostname()
        self.runner_id = self._id()

    def lock(self) -> int:
        """Lock the folder until this process ends, and return the lock's descriptor. Raise RunnerHomeInUse."""
        file = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        for left in reversed(range(_TRIES)):  # a check for a running runner holds the lock briefly
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if not left:
                    os.close(file)
                    raise RunnerHomeInUse(f"another runner already uses `{self.folder}`; stop it first") from None
                time.sleep(0.05)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        return file

    def running_pid(self) -> int:
        """Return the process with the lock, or 0. It may end at any time."""
        try:
            file = os.open(self._lock, os.O_RDONLY)
        except FileNotFoundError:
            return 0
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.pread(file, 32, 0).strip()
            return int(text) if text.isdigit() else 0
        else:
            return 0
        finally:
            os.close(file)

    def _id(self) -> str:
        path = self.folder / "id"
        if path.exists() and re.fullmatch(r"[a-z0-9-]{1,64}", found := path.read_text().strip()):
            return found
        host = re.sub(r"[^a-z0-9]+", "-", self.host.lower())[:40].strip("-") or "runner"
        made = f"{host}-{secrets.token_hex(4)}"
        path.write_text(f"{made}\n")
        return made
