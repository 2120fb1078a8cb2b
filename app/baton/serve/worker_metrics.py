"""The folder in which workers share their metrics. It holds numbers only; `baton.operate.metrics` reads and writes them."""

import os
import shutil
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""What prometheus-client reads when it is imported."""


def folder(home: Path) -> Path:
    """Name the folder in a server's home."""
    return home / "metrics"


def prepare(home: Path) -> None:
    """Make an empty folder and have this process's children use it; before the first of them starts."""
    path = folder(home).absolute()
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o700)
    os.environ[VARIABLE] = str(path)


def forget(home: Path, pid: int) -> None:
    """Take out what a worker that has ended said of itself; what it counted stays counted."""
    for path in folder(home).glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)
