"""A job's events on disk, from before they are sent until the server has the end.

One file for each attempt, in lines of JSON: first the lease, then the events, last the end. A line that a crash cut
short was never sent, and is ignored.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.wire import Event, JobEnd


class SpooledAttempt(msgspec.Struct, kw_only=True):
    """The contents of a file of an earlier run."""

    job: str
    attempt: int
    token: str
    events: list[Event]
    ended: JobEnd | None = None


class Spool:
    """The file of one attempt; only its owner can read it."""

    def __init__(self, folder: Path, job: str, attempt: int, token: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{job}.{attempt}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self._write([{"job": job, "attempt": attempt, "token": token}])
        folder_file = os.open(folder, os.O_RDONLY)
        os.fsync(folder_file)
        os.close(folder_file)

    def add(self, events: list[Event], ended: JobEnd | None = None) -> None:
        """Append events, and the end; when this returns they are on the disk."""
        self._write([*events, *([{"finish": ended}] if ended else [])])

    def close(self) -> None:
        """Close the file and keep it, for the next run."""
        os.close(self._file)

    def remove(self) -> None:
        """Remove the file: the server has everything, or refuses it."""
        os.close(self._file)
        self.path.unlink(missing_ok=True)

    def _write(self, lines: list[Any]) -> None:
        data = memoryview(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)


def read_spools(folder: Path) -> list[tuple[Path, SpooledAttempt | None]]:
    """Read the files of an earlier run; a file without a lease is returned as None."""
    return [(path, _read(path)) for path in sorted(folder.glob("*.jsonl"))] if folder.is_dir() else []


def _read(path: Path) -> SpooledAttempt | None:
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        spooled = msgspec.convert({**msgspec.json.decode(lines[0]), "events": []}, SpooledAttempt)
    except (IndexError, msgspec.MsgspecError, TypeError):
        return None
    for line in lines[1:]:
        try:
            value = msgspec.json.decode(line)
            if "finish" in value:
                spooled.ended = msgspec.convert(value["finish"], JobEnd)
            else:
                spooled.events.append(msgspec.convert(value, Event))
        except (msgspec.MsgspecError, TypeError):
            break
    return spooled
