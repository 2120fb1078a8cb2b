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
_OWNER = "BATON_TEST_RUN_OWNER"


@cache
def run_folder() -> Path:
    """Return the folder of the run; one of this process's own where nobody has made one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    folder = Path(tempfile.mkdtemp(prefix="baton-test-", dir="/tmp"))
    folder.chmod(0o755)  # Postgres runs as somebody else where we are root
    os.environ[VARIABLE] = str(folder)
    os.environ[_OWNER] = str(pid := os.getpid())
    atexit.register(lambda: os.getpid() == pid and shutil.rmtree(folder, ignore_errors=True))
    return folder


def is_owner() -> bool:
    """Return whether this process has made the folder of the run: a pytest that a test starts has not."""
    return os.environ.get(_OWNER) == str(os.getpid())


@contextmanager
def alone_in_the_run(what: str) -> Iterator[Path]:
    """Return the folder of the run, while no other process makes the same there."""
    with (run_folder() / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield run_folder()
