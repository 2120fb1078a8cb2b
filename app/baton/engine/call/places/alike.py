"""Finds out which names in a path no list of places tells apart, so that many paths are looked up once.

In `rm a1 a2 a3 …` the names differ, but no glob and no built-in place speaks of any of them. Each stands for the same
unknown name then, and all of these paths have the same places.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from baton.engine.text.globs import literal_parts

_PLAIN = re.compile(r"(?:~/)?[\w./@+,%=:-]+", re.ASCII)
"""Paths without anything that a shell expands, and without a Windows drive's backslashes."""
_DRIVE = re.compile(r"[A-Za-z]:|[^\\]*\\")
"""Paths of Windows, in which dots at the end of a name do not count."""
_DEVICE = re.compile(r"(?i)(?:\A|/)(?:dev|proc)(?:/|\Z)")
_IN_DEVICES = re.compile(r"(?i)/[./]*(?:dev|proc)(?:/|\Z)")
"""Devices and processes, whose own names count."""
_WILD = re.compile(r"[*?\[]|[@!+]\(")
_SHORTEST = 3
"""Characters of a name that is replaced: `..` and the letters of drives are shorter."""
_NAMED_IN_CODE = frozenset(
    [
        "applications",
        "bin",
        "boot",
        "cygdrive",
        "data",
        "dev",
        "etc",
        "fd",
        "folders",
        "home",
        "lib",
        "lib32",
        "lib64",
        "library",
        "media",
        "mnt",
        "opt",
        "private",
        "proc",
        "root",
        "run",
        "sbin",
        "shm",
        "srv",
        "sys",
        "system",
        "tmp",
        "user",
        "users",
        "usr",
        "var",
        "volumes",
        "windows",
    ]
)
"""Names that `engine.call.places` and `protected` speak of, in lower case."""
ALIKE = "\x01\x01\x01"
"""What a name is replaced with. No readable line has it, and only wildcards alone fit it."""


class AlikeNames:
    """The names that count for one set of globs and folders; every other name is like any other."""

    def __init__(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Take the globs and paths of all places, and the folders that relative paths start from."""
        folders = tuple(folders)
        names = {name for path in (*paths, *folders) for name in path.casefold().removeprefix("!").split("/")}
        wild = {name for name in names if name.strip("*") and _WILD.search(name)}
        self._names = frozenset(names - wild) | _NAMED_IN_CODE
        literals = [max(literal_parts(name), key=len) for name in sorted(wild)]
        # Two stars within a name match across folders, and `?` alone fits any name of a letter.
        self._usable = all(map(_is_plain, folders)) and all(literals) and not any("**" in name for name in wild)
        self._literal = re.compile("|".join(map(re.escape, literals)) or r"(?!)")

    def alike(self, path: str, base: str | None) -> str:
        """Return a path, as written, that has the same places as this one from the same folder; often itself.

        Args:
            path: The path as written.
            base: The folder that it is relative to, as in `shell.model.Write`.
        """
        if not self._usable or not _PLAIN.fullmatch(path) or (base and not _is_plain_folder(base)):
            return path
        found = self._literal.search
        if (
            "/" not in path and path[1:2] != ":"
        ):  # most arguments are one name, which is neither Windows' nor in a folder
            low = path.casefold()
            return path if len(low) < _SHORTEST or low in self._names or found(low) else ALIKE
        if not _is_plain(path):
            return path
        return "/".join(
            [
                name if len(low) < _SHORTEST or low in self._names or found(low) else ALIKE
                for name, low in zip(path.split("/"), path.casefold().split("/"), strict=True)
            ]
        )


@lru_cache(256)
def _is_plain_folder(path: str) -> bool:
    """Return `_is_plain` of a folder, which is the same for all arguments of a program."""
    return _is_plain(path)


def _is_plain(path: str) -> bool:
    """Return whether a path is none of Windows, and cannot be one of devices or processes."""
    if _DRIVE.match(path):
        return False
    if not _DEVICE.search(path):
        return True
    return path.startswith("/") and ".." not in path and not _IN_DEVICES.match(path)
