"""The folder in which workers share their metrics, which `baton.operate.metrics` reads and writes."""

import os
import shutil
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that prometheus-client reads when it is imported."""


def folder(home: Path) -> Path:
    """Return the folder in a server's home."""
    return home / "metrics"


def prepare(home: Path) -> None:
    """Create an empty folder for this process's children. Call it before the first of them starts."""
    path = folder(home).absolute()
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o700)
    os.environ[VARIABLE] = str(path)


def forget(home: Path, pid: int) -> None:
    """Remove the gauges of a worker that has ended; its counters stay, so that sums do not fall."""
    for path in folder(home).glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)
