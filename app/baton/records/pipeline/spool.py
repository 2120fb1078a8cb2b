"""Stores records in append-only files on disk while a long database outage would fill Redis."""

import fcntl
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LARGEST_FILE = 16 << 20
"""Bytes after which a new file begins; a file is deleted when all in it is stored."""
_LENGTH = struct.Struct(">I")


class SpoolFull(Exception):
    """The spool holds as much as it may, or the disk takes no more; nothing was written."""


class Spool:
    """A queue of packed records, the oldest first, in files of one folder.

    When `append` returns, the records are on disk. A killed process leaves at most a torn record at the end of its
    file, never acknowledged in Redis. Records read but not yet removed are read again after a restart; storing a record
    twice changes nothing. Not thread-safe.
    """

    def __init__(self, folder: Path, most: int) -> None:
        """Set the folder, created on demand, and its maximum size in bytes."""
        self._folder = folder
        self.most = most
        self._lock: IO[bytes] | None = None
        self._writing: IO[bytes] | None = None
        self._files: list[Path] = []
        self._offset = 0
        self._read_to = 0
        self.bytes = 0
        """Bytes that wait in it."""

    def open(self) -> bool:
        """Take the folder; return False while another process, such as the drain of a killed server, still has it."""
        if self._lock is not None:
            return True
        if not self._folder.exists():
            return True
        return self._take()

    def _take(self) -> bool:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (self._folder / "lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        self._files = sorted(self._folder.glob("*.records"))
        self.bytes = sum(file.stat().st_size for file in self._files)
        return True

    def append(self, contents: Sequence[bytes]) -> None:
        """Write records to the disk.

        Raises:
            SpoolFull: If there is no room for them, or another process has the folder.
        """
        block = b"".join(_LENGTH.pack(len(one)) + one for one in contents)
        if self.bytes + len(block) > self.most:
            raise SpoolFull(f"{self.bytes >> 20} of {self.most >> 20} MB are used")
        try:
            if self._lock is None and not self._take():
                raise SpoolFull("another process writes to it")
            file = self._file()
            at = file.tell()
            try:
                file.write(block)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(at)
                raise
        except OSError as error:
            self._writing = None
            raise SpoolFull(str(error)) from error
        self.bytes += len(block)

    def _file(self) -> IO[bytes]:
        """Return the file to write to, always one of this process: an older one may end in a torn record."""
        if self._writing is not None and self._writing.tell() < LARGEST_FILE:
            return self._writing
        if self._writing is not None:
            self._writing.close()
        number = int(self._files[-1].stem) + 1 if self._files else 1
        path = self._folder / f"{number:012}.records"
        self._writing = path.open("xb")
        path.chmod(0o600)
        self._files.append(path)
        return self._writing

    def read(self, most: int) -> list[bytes]:
        """Return the oldest records, at most so many; the same ones until `remove`."""
        while self._files:
            with self._files[0].open("rb") as file:
                file.seek(self._offset)
                found: list[bytes] = []
                while len(found) < most:
                    head = file.read(_LENGTH.size)
                    content = file.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
                    if len(head) < _LENGTH.size or len(content) < _LENGTH.unpack(head)[0]:
                        break
                    found.append(content)
                    self._read_to = file.tell()
            if found:
                return found
            self._remove_file()
        return []

    def remove(self) -> None:
        """Remove the records of the last `read`."""
        self.bytes -= self._read_to - self._offset
        self._offset = self._read_to

    def _remove_file(self) -> None:
        """Delete the oldest file after all its whole records were read."""
        path = self._files.pop(0)
        if not self._files and self._writing is not None:
            self._writing.close()
            self._writing = None
        torn = path.stat().st_size - self._offset
        path.unlink()
        self.bytes -= torn
        self._offset = self._read_to = 0

    def close(self) -> None:
        """Close its files, and give the folder free."""
        for file in (self._writing, self._lock):
            if file is not None:
                file.close()
        self._writing = self._lock = None
