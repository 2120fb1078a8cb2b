"""A copy on disk of the entries that wait for Redis. It outlives a killed process."""

import fcntl
import logging
import mmap
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from zlib import crc32

log = logging.getLogger(__name__)

SIZE = 8 << 20
"""Bytes of entries in a file: about as many as may wait. Further ones are in memory only."""
_COUNTERS = struct.Struct("QQ")
_FRAME = struct.Struct("II")
"""Before each entry: its length and CRC-32."""


class Journal:
    """A ring of entries in a memory-mapped file, locked while its process lives.

    The file begins with two counters: the bytes removed and the bytes added. No entry costs a system call. The page cache
    outlives a killed process; after a power failure the file may be older or torn. Without a file nothing is kept.
    """

    def __init__(self, folder: Path) -> None:
        """Set the folder of the files of all processes, created on demand."""
        self._folder = folder
        self._path: Path | None = None
        self.kept = self._beyond = 0
        """Waiting entries in the file, and those behind them that had no room."""
        self._map(bytearray(_COUNTERS.size))

    def _map(self, memory: bytearray | mmap.mmap) -> None:
        view = memoryview(memory)
        self._counters, self._ring = view[: _COUNTERS.size].cast("Q"), view[_COUNTERS.size :]
        self._size, self._tail, self._head = len(self._ring), 0, 0

    def open(self) -> list[bytes]:
        """Create the file. Return the entries of dead processes, copied into it.

        A file of a dead process stays if its entries do not fit. The next start appends them again.
        """
        found: list[bytes] = []
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self._folder / "lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)  # a new file is not locked at once
                left = sorted(self._folder.glob("*.journal"))
                try:
                    self._create(self._folder / f"{time.time_ns()}-{os.getpid()}.journal")
                finally:
                    for path in left:
                        with path.open("r+b") as file, suppress(BlockingIOError):  # a living process has locked its own
                            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                            for content in _entries(file.read()):
                                self.add(content)
                                found.append(content)
                            if not self._beyond:
                                path.unlink()
        except (OSError, AttributeError) as error:  # macOS has no `posix_fallocate`
            log.warning("a killed server loses entries that wait for Redis, as its journal cannot be used: %s", error)
        return found

    def _create(self, path: Path) -> None:
        with open(path, "x+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                # Without its blocks, a write to the map would end this process once the disk is full.
                os.posix_fallocate(file.fileno(), 0, _COUNTERS.size + SIZE)
                self._map(mmap.mmap(file.fileno(), 0))  # it has the file open, too, so the lock stays
            finally:
                if not self._size:
                    path.unlink()
        self._path = path

    def add(self, content: bytes) -> None:
        """Copy an entry. Without room it is not kept, nor are later ones until those before them are removed."""
        frame = _FRAME.pack(len(content), crc32(content)) + content
        if self._beyond or len(frame) > self._size - self._head + self._tail:
            self._beyond += 1
            return
        at = self._head % self._size
        end = at + len(frame)
        if end <= self._size:
            self._ring[at:end] = frame
        else:
            self._ring[at:], self._ring[: end - self._size] = frame[: self._size - at], frame[self._size - at :]
        self.kept += 1
        self._head += len(frame)
        self._counters[1] = self._head

    def remove(self, contents: Sequence[bytes]) -> None:
        """Remove the oldest entries: Redis has them."""
        for content in contents:
            if self.kept:
                self.kept -= 1
                self._tail += _FRAME.size + len(content)
            else:
                self._beyond -= 1
        if not self.kept:
            self._tail = self._head = 0  # a quiet server writes to few pages
        self._counters[1] = self._head
        self._counters[0] = self._tail

    def close(self) -> None:
        """Delete the file if it is empty. Otherwise the next start takes its entries."""
        if self._path is not None and not self.kept:
            self._path.unlink(missing_ok=True)
        self._map(bytearray(_COUNTERS.size))


def _entries(data: bytes) -> Iterator[bytes]:
    """Yield the entries of a file, up to a damaged one."""
    ring, at = data[_COUNTERS.size :], 0
    with suppress(struct.error, ZeroDivisionError):
        tail, head = _COUNTERS.unpack_from(data)
        waiting = ring[tail % len(ring) :] + ring[: tail % len(ring)]
        while at < head - tail:
            length, checksum = _FRAME.unpack_from(waiting, at)
            at += _FRAME.size + length
            content = waiting[at - length : at]
            if not content or crc32(content) != checksum:
                break
            yield content
        else:
            return
    log.warning("the journal of a killed server is damaged; its last entries are skipped")
