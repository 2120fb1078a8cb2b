"""Remember which programs of a line write which file, so that a file that is run later is known to be theirs."""

import posixpath
from collections.abc import Iterable

from baton.engine.shell.expansion.scripts import StdinSource
from baton.engine.shell.expansion.words import Span
from baton.engine.shell.model import Program

_KEEP = frozenset(["chmod", "chown", "chgrp", "touch", "chattr", "setfacl", "xattr", "sed", "dos2unix", "truncate"])
"""Programs that change a file and keep what is in it."""
_COPY = frozenset(["cp", "mv", "install", "ln"])


class WrittenFiles:
    """The files that a line has written so far, with the programs whose output is in them."""

    def __init__(self) -> None:
        self.sources: dict[str, StdinSource] = {}

    def note(
        self, targets: Iterable[str], base: str | None, index: int, program: Program, source: StdinSource | None
    ) -> None:
        """Note what the program at an index writes; `source` is what it reads as input, and may pass on (`tee x`)."""
        if program.name in _KEEP:
            return
        span = Span()
        span.first, span.last = index, index + 1
        written = StdinSource([span], source)
        if program.name in _COPY and program.operands:
            written = self.source(program.operands[0], base) or written
        # What a download without a name is called is in its URL; its target is then the folder.
        names = [_name(word) for word in program.operands if "://" in word] if "network" in program.categories else ()
        for target in targets:
            self.sources[_key(target, base)] = written
            for name in names:
                self.sources[_key(f"{target}/{name}", base)] = written

    def source(self, path: str, base: str | None) -> StdinSource | None:
        """Return the programs that have written a file, None if none has."""
        return self.sources.get(_key(path, base)) if self.sources else None


def _name(url: str) -> str:
    return url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]


def _key(path: str, base: str | None) -> str:
    return posixpath.normpath(posixpath.join(base or "", path))
