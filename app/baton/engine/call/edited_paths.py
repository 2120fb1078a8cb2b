"""The files that a call works on, named so that two developers' copies of a project agree."""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from baton.engine.call.call import ToolCall

MOST = 20
"""Files of one call that are returned at most."""

PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""Finds the files that a patch names."""
_DIFFED = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?(?!/dev/null)([^\t\n]+)", re.MULTILINE)
"""Finds the files that a unified diff names."""
_LONGEST_CACHED = 2_000
_FILE_TOOLS = frozenset({"Edit", "Write", "Read"})
_OTHER_KEYS = ("path", "filePath")
"""What other clients than Claude Code call a file, in their own tools of these kinds."""


def edited_paths(call: ToolCall) -> tuple[str, ...]:
    """Return the files of an edit, a write, a patch or a read; those inside the project relative to it."""
    named = [call.tool_input.get("file_path"), call.tool_input.get("notebook_path")]
    if call.tool_name in _FILE_TOOLS and not any(named):
        named = [call.tool_input.get(key) for key in _OTHER_KEYS]
    for value in call.tool_input.values():
        if isinstance(value, str) and "*** Begin Patch" in value:
            named += (found[1] for found in islice(PATCHED.finditer(value), MOST))  # a patch may name a million
    if not any(named):
        return ()
    root = call.project_root or call.cwd
    return tuple(dict.fromkeys([_relative(path, call.cwd, root) for path in named if path and isinstance(path, str)]))[
        :MOST
    ]


def within_project(path: str, call: ToolCall) -> str:
    """Return a path that a call names relative to its project, as it stands if it lies elsewhere."""
    return _relative(path, call.cwd, call.project_root or call.cwd)


def patched(text: str) -> Iterator[str]:
    """Yield the files that a patch names, Codex's kind or a unified diff."""
    for found in (PATCHED if "*** " in text else _DIFFED).finditer(text):
        yield found[1].strip()


def _relative(path: str, cwd: str, root: str) -> str:
    short = len(path) + len(cwd) + len(root) <= _LONGEST_CACHED
    return _known_relative(path, cwd, root) if short else _new_relative(path, cwd, root)


def _new_relative(path: str, cwd: str, root: str) -> str:
    path = path.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be part of a file name
    whole = posixpath.normpath(posixpath.join(cwd, path))
    return whole.removeprefix(posixpath.normpath(root or "/").rstrip("/") + "/")


_known_relative = lru_cache(maxsize=4_096)(_new_relative)
