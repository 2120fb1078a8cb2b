"""File access for agents, restricted to their workspace.

A path is resolved first and then opened folder by folder from the workspace down, without following links. A link
created between the check and the opening is refused, too.
"""

import os
import stat
from pathlib import Path

LARGEST = 8 * 1024 * 1024  # maximum size of a file read for an agent, in bytes


class OutsideWorkspace(Exception):
    """The path leads out of the workspace, or not to a plain file."""


def is_inside(root: Path, path: str) -> bool:
    """Return whether a path, relative to the workspace or absolute, is inside it. It need not exist."""
    try:
        return _real(root, path).is_relative_to(root.resolve())
    except OutsideWorkspace:
        return False


def read(root: Path, path: str, *, first: int = 1, lines: int | None = None) -> str:
    """Read a file's text, or at most `lines` lines from line `first` (from 1). Raise OutsideWorkspace or OSError."""
    with os.fdopen(_open(root, path, os.O_RDONLY), "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OutsideWorkspace(f"`{path}` has more than {LARGEST} bytes")
    text = data.decode("utf-8", "replace")
    if first <= 1 and lines is None:
        return text
    start = max(first - 1, 0)
    return "".join(text.splitlines(keepends=True)[start : None if lines is None else start + lines])


def write(root: Path, path: str, text: str) -> None:
    """Write a file's text, and create its folders. Raise OutsideWorkspace, or OSError on failure."""
    with os.fdopen(_open(root, path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.truncate()
        file.write(text.encode())


def _real(root: Path, path: str) -> Path:
    if "\0" in path or not path:
        raise OutsideWorkspace(f"`{path!r}` is not a path")
    try:
        return (root.resolve() / Path(path).expanduser()).resolve()
    except (OSError, RuntimeError) as error:
        raise OutsideWorkspace(f"`{path}` cannot be followed: {error}") from None


def _open(root: Path, path: str, flags: int) -> int:
    real, top = _real(root, path), root.resolve()
    if not real.is_relative_to(top) or real == top:
        raise OutsideWorkspace(f"`{path}` is not in the workspace `{top}`")
    *folders, name = real.relative_to(top).parts
    at = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for folder in folders:
            if flags & os.O_CREAT:
                _make(folder, at)
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        file = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OutsideWorkspace(f"`{path}` is not a plain file")
    return file


def _make(folder: str, at: int) -> None:
    try:
        os.mkdir(folder, dir_fd=at)
    except FileExistsError:
        return
