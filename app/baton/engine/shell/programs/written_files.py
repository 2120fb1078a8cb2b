"""Remember which programs of a line write which file, so that a file that is run later is known to be theirs."""

import posixpath
from collections.abc import Iterable
from itertools import islice

from baton.engine.shell.expansion.scripts import StdinSource
from baton.engine.shell.expansion.words import Span
from baton.engine.shell.model import Program

_KEEP = frozenset(["chmod", "chown", "chgrp", "touch", "chattr", "setfacl", "xattr", "sed", "dos2unix", "truncate"])
"""Programs that change a file and keep what is in it."""
_COPY = frozenset(["cp", "mv", "install", "ln"])
_MOST_COPIED = 16
"""Files of one copy whose names in a folder are remembered."""


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
        # A target may be a folder. What a file there is called is in the URL, in the path behind a host, or in that of
        # the file that is copied.
        fetched = program.operands if "network" in program.categories else ()
        inside = {_name(word): written for word in fetched if ":" in word}
        if program.name in _COPY and program.operands:
            written = self.source(program.operands[0], base) or written
            inside = {_name(word): self.source(word, base) or written for word in program.operands[:_MOST_COPIED]}
        targets = list(targets)
        for target in targets:
            self.sources[_key(target, base)] = written
        for target in targets[-1:]:  # where files are copied to is named last
            for name, one in islice(inside.items(), _MOST_COPIED):
                self.sources[_key(f"{target}/{name}", base)] = one

    def source(self, path: str, base: str | None) -> StdinSource | None:
        """Return the programs that have written a file, None if none has."""
        return self.sources.get(_key(path, base)) if self.sources else None


def _name(source: str) -> str:
    """Return what a copy of an URL, of a path behind a host, or of a file is called in a folder."""
    path = source.partition("?")[0].partition("#")[0] if "://" in source else source
    return path.rstrip("/").rpartition("/")[2].rpartition(":")[2]


def _key(path: str, base: str | None) -> str:
    return posixpath.normpath(posixpath.join(base or "", path))
