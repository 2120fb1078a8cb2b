"""The file sink: one CloudEvent a line, with rotation."""

import os
from collections.abc import Sequence
from pathlib import Path

from baton.events.sinks.daemon_thread import in_daemon_thread
from baton.events.sinks.runner import SinkEvent, SinkFailed

KEPT = 5
"""Files that are kept beside the one that is written: `events.ndjson.1` is the newest of them."""


class FileSink:
    """Appends to a file. A disk that hangs holds up nothing but this sink."""

    name = "file"
    attempts = 0

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._path = path
        self._most_bytes = most_bytes

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Append events; see `Sink`."""
        content = b"".join(one.event + b"\n" for one in events)
        try:
            await in_daemon_thread(lambda: self._append(content))
        except OSError as error:
            raise SinkFailed(f"`{self._path}`: {error.strerror or error}") from error

    async def close(self) -> None:
        """Do nothing: the file is open only while it is written."""

    def _append(self, content: bytes) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + len(content) > self._most_bytes:
            self._rotate()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Only its owner reads it: a team's events are in it.
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(content)

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._numbered(number - 1) if number > 1 else self._path
            if older.exists():
                older.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
