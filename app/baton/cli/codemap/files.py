"""Finds the files of a project not ignored by git, and caches their outlines, so only changed ones are read."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec

from baton.cli.codemap.outline import LANGUAGES, LARGEST, outline
from baton.local.config import home
from baton.local.server import ApiError
from baton.shared.code_map import MOST_FILES, MOST_IN_ALL, Outline

FORMAT = 1
"""Of the outlines that are remembered: raise it whenever another outline is made of the same file."""


class _Remembered(msgspec.Struct, array_like=True):
    """A file as last read: its size and time of change, and its outline, None without one."""

    size: int
    changed_ns: int
    outline: Outline | None


def project_files(root: Path) -> list[str]:
    """List the source files of a project, tracked or not, but not ignored by git. Paths are relative to its root.

    Raises:
        ApiError: If git is not installed, or cannot list them.
    """
    with tempfile.TemporaryDirectory() as empty:
        # Outside a repository, git applies `.gitignore` if given an empty repository.
        given = [] if (root / ".git").exists() else [f"--git-dir={empty}/.git", f"--work-tree={root}"]
        try:
            if given:
                subprocess.run(["git", "init", "-q", empty], check=True, capture_output=True)
            listed = subprocess.run(
                ["git", *given, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=root, check=True, capture_output=True,
            ).stdout  # fmt: skip
        except FileNotFoundError:
            raise ApiError("git is not installed; it is required for skipping ignored files") from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()
            raise ApiError(
                f"git cannot list the files of `{root}`: {said[-1] if said else 'no reason given'}"
            ) from None
    names = (name.decode("utf-8", "replace") for name in listed.split(b"\0") if name)
    return sorted({name for name in names if Path(name).suffix.lower() in LANGUAGES})


def outlines(root: Path, files: list[str]) -> tuple[list[Outline], int]:
    """Return the outlines of a project's files, and how many files exceeded the maximum.

    The files nearest to the root stay. Unchanged files are not read again.
    """
    cache = _cache_path(root)
    before = _read(cache)
    after: dict[str, _Remembered] = {}
    found: list[Outline] = []
    left, left_out = MOST_IN_ALL, 0
    for name in sorted(files, key=lambda one: (one.count("/"), one)):
        known = _outlined(root, name, before.get(name))
        if known is None:
            continue
        after[name] = known
        if known.outline is None:
            continue
        if len(found) >= MOST_FILES or len(known.outline.symbols) > left:
            left_out += 1
            continue
        found.append(known.outline)
        left -= len(known.outline.symbols)
    _write(cache, after)
    return found, left_out


def _outlined(root: Path, name: str, known: _Remembered | None) -> _Remembered | None:
    """Return a file's outline, the cached one if unchanged; None for an unreadable file."""
    path = root / name
    try:
        state = path.lstat()
        # A link may lead anywhere, out of the project too.
        if path.is_symlink() or not path.is_file():
            return None
        if known is not None and (known.size, known.changed_ns) == (state.st_size, state.st_mtime_ns):
            return known
        content = path.read_bytes() if state.st_size <= LARGEST else b""
    except OSError:
        return None
    made = outline(name, content) if content else None
    return _Remembered(state.st_size, state.st_mtime_ns, made)


def _cache_path(root: Path) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache")
    return base / "baton" / "codemaps" / f"{blake2b(str(root).encode(), digest_size=12).hexdigest()}-{FORMAT}.msgpack"


def _read(path: Path) -> dict[str, _Remembered]:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=dict[str, _Remembered])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write(path: Path, found: dict[str, _Remembered]) -> None:
    """Cache outlines. A machine without a folder for them reads every file each time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(msgspec.msgpack.encode(found))
        Path(file.name).replace(path)
    except OSError:
        return


def batches(found: list[Outline], most: int, most_values: int) -> Iterator[list[Outline]]:
    """Split outlines into requests of at most so many files, and so many values and keys of JSON."""
    batch: list[Outline] = []
    values = 0
    for one in found:
        size = 9 + 9 * len(one.symbols) + len(one.mentions)  # a symbol is an object of four keys and values
        if batch and (len(batch) == most or values + size > most_values):
            yield batch
            batch, values = [], 0
        batch.append(one)
        values += size
    if batch:
        yield batch
