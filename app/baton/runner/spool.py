"""A job's events on disk, until the server has the end.

One file per attempt, as JSON lines: the lease, the events, the end. A line truncated by a crash was never sent, and is
ignored.
"""

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.wire import Event, JobEnd

BATCH = 200
BATCH_BYTES = 256 * 1024  # maximum bytes of JSON per batch; one event has about half (`updates.fitting`)
_LEASE = ("job", "attempt", "token")
_READ = 1 << 20  # bytes read at once; more for longer lines
_END = b'{"finish":'


class SpoolBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive events as JSON from number `first` on, and the end if it follows and fits."""

    first: int
    events: Sequence[msgspec.Raw] = ()
    ended: msgspec.Raw | None = None

    @property
    def last(self) -> int:
        """The number of the last event, or `first - 1`."""
        return self.first + len(self.events) - 1

    def after(self, seq: int) -> "SpoolBatch":
        """Return the rest of the batch after a number."""
        skipped = max(seq + 1 - self.first, 0)
        return (
            SpoolBatch(first=self.first + skipped, events=self.events[skipped:], ended=self.ended) if skipped else self
        )


class AttemptSpool:
    """The private file of one attempt, for different threads. Line 1 is the first event."""

    def __init__(self, folder: Path, job: str, attempt: int, token: str) -> None:
        self.path = folder / f"{job}.{attempt}.jsonl"
        self.job, self.attempt, self.token = job, attempt, token
        self._file = -1
        self._size = 0
        self._read_to, self._next_seq = 0, 1
        self._closed = False
        self._writing = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> "AttemptSpool | None":
        """Open the file of an earlier run, or return None without a lease."""
        with contextlib.suppress(OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
            with path.open("rb") as file:
                header = file.readline()
            lease = msgspec.json.decode(header)
            spool = cls(path.parent, *(lease[name] for name in _LEASE))
            spool.path = path
            spool._file = os.open(path, os.O_RDONLY)
            spool._size = _whole_lines(spool._file, len(header))
            spool._read_to = len(header)
            return spool
        return None

    def add(self, events: Sequence[bytes], ended: JobEnd | None = None) -> None:
        """Append events and the end, and sync them to disk. Raise OSError if it is full or broken; retry later."""
        lines = [*events, *([msgspec.json.encode({"finish": ended})] if ended else [])]
        with self._writing:  # otherwise the file could be closed, and its descriptor reused, during the write
            if not self._closed:
                self._add(lines)

    def _add(self, lines: list[bytes]) -> None:
        is_new = self._file < 0
        if is_new:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lines = [msgspec.json.encode({name: getattr(self, name) for name in _LEASE}), *lines]
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            data = memoryview(b"".join(line + b"\n" for line in lines))
            size = self._size + len(data)
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
            if is_new:
                self._read_to = len(lines[0]) + 1
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError:
            # A partial line would hide later ones.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            if is_new:
                os.close(self._file)
                self._file = -1
            raise
        self._size = size

    def read(self) -> SpoolBatch:
        """Read the next events, and the end if it follows. Repeats until `passed`."""
        events: list[msgspec.Raw] = []
        size, data, wanted = 0, b"", _READ
        while True:
            left = self._size - self._read_to if self._size else 0
            data = os.pread(self._file, min(wanted, left), self._read_to) if left else b""
            if b"\n" in data or len(data) < wanted:
                break
            wanted *= 2  # one line is longer than all bytes read
        for line in data.split(b"\n")[:-1]:
            if line.startswith(_END):
                ended = msgspec.Raw(line[len(_END) : -1])
                return SpoolBatch(first=self._next_seq, events=events, ended=ended)
            size += len(line)
            if events and (len(events) == BATCH or size > BATCH_BYTES):
                break
            events.append(msgspec.Raw(line))
        return SpoolBatch(first=self._next_seq, events=events)

    def passed(self, batch: SpoolBatch, seq: int) -> None:
        """Advance past an event of the read batch, once the server has it."""
        for event in batch.events[: max(seq + 1 - batch.first, 0)]:
            self._read_to += len(memoryview(event)) + 1
            self._next_seq += 1

    def close(self) -> None:
        """Close and keep the file, for the next run."""
        with self._writing:
            self._closed, self._size = True, 0
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def remove(self) -> None:
        """Delete the file: the server has everything, or refuses it."""
        self.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def event_line(seq: int, kind: str, body: dict[str, Any]) -> bytes:
    """Return the line of one event."""
    return msgspec.json.encode(Event(seq, kind, body))


def read_spools(folder: Path) -> list[tuple[Path, AttemptSpool | None]]:
    """Open the files of an earlier run. A file without a lease is returned as None."""
    return [(path, AttemptSpool.open(path)) for path in sorted(folder.glob("*.jsonl"))] if folder.is_dir() else []


def _whole_lines(file: int, start: int) -> int:
    """Return the end of the last line up to which all lines are complete and readable."""
    end, rest, at = start, b"", start
    while data := os.pread(file, _READ, at):
        at += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if not _readable(line):
                return end
            end += len(line) + 1
    return end


def _readable(line: bytes) -> bool:
    try:
        value = msgspec.json.decode(line)
        msgspec.convert(value["finish"], JobEnd) if line.startswith(_END) else msgspec.convert(value, Event)
    except (msgspec.MsgspecError, TypeError, KeyError):
        return False
    return True
