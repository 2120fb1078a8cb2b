"""Finds the project of a folder without starting git, by the rules of `hooks/baton-lib.sh`.

A project is named by `BATON_PROJECT`, else by the url of its git remote `origin` without scheme, credentials and
`.git` (`github.com/team/repo`, whether over https or ssh), else by its root: the nearest folder with a `.git`, else the
folder itself.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from baton.local.hook.project import find

LONGEST = 1024
"""The server reads this many bytes of a name."""


class LocalProject(NamedTuple):
    """A project: its `name`, equal for every clone of the remote, and its `root` on this machine."""

    name: str
    root: str


def find_project(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> LocalProject:
    """Find the project of a folder, by default the current one."""
    remote, root = find(env.get("CLAUDE_PROJECT_DIR") or str(cwd or "."))
    return LocalProject(name=_as_header(env.get("BATON_PROJECT") or remote or root), root=root)


def _as_header(name: str) -> str:
    """Reduce a value to the part the server reads from a header."""
    shown = "".join(c for c in name if c >= " " and c != "\x7f")
    text = shown.encode("utf-8", "surrogateescape")[:LONGEST].decode("utf-8", "replace").strip()
    return "".join(c for c in text if c.isprintable())
