"""The folder shared by all processes of a run: its Postgres, its forge, and data made once and copied."""

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

VARIABLE = "BATON_TEST_RUN_FOLDER"
"""The variable that names the folder to the processes of a run."""


@cache
def run_folder() -> Path:
    """Return the folder of the run; one of this process's own where nobody has made one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    folder = Path(tempfile.mkdtemp(prefix="baton-test-", dir="/tmp"))
    folder.chmod(0o755)  # Postgres runs as somebody else where we are root
    os.environ[VARIABLE] = str(folder)
    pid = os.getpid()
    atexit.register(lambda: os.getpid() == pid and shutil.rmtree(folder, ignore_errors=True))
    return folder


@contextmanager
def alone_in_the_run(what: str) -> Iterator[Path]:
    """Return the folder of the run, while no other process makes the same there."""
    with (run_folder() / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield run_folder()
