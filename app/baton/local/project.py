"""Finds the project that a folder belongs to, by the same rules as `hooks/baton-lib.sh`, without starting git.

A project is named by `BATON_PROJECT`, else by the url of its git remote `origin` without scheme, credentials and
`.git` (`github.com/team/repo`, whether over https or ssh), else by its root: the nearest folder with a `.git`, else the
folder itself.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LONGEST = 1024
"""The server reads this many bytes of a name."""


class Project(NamedTuple):
    """A project: its `name`, the same for everybody who has the remote, and its `root` on this machine."""

    name: str
    root: str


def find_project(env: Mapping[str, str] = os.environ, cwd: Path | None = None) -> Project:
    """Find the project of a folder, by default the current one."""
    start = Path(env.get("CLAUDE_PROJECT_DIR") or cwd or ".").resolve()
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
    remote = plain_remote(_origin(_git_folder(root / ".git") / "config"))
    return Project(name=_as_header(env.get("BATON_PROJECT") or remote or str(root)), root=str(root))


def plain_remote(url: str) -> str:
    """Reduce a remote's url to host and path; "" for a relative path, which names nothing."""
    if "://" in url:
        host, slash, path = url.split("://", 1)[1].partition("/")
        plain = host.rpartition("@")[2] + slash + path
    elif url.startswith("."):
        return ""
    elif re.match(r"[^/:]+:", url):
        host, _, path = url.partition(":")
        plain = f"{host.rpartition('@')[2]}/{path.removeprefix('/')}"
    else:
        plain = url
    return plain.removesuffix("/").removesuffix(".git")


def _git_folder(git: Path) -> Path:
    """Follow the `.git` file of a worktree or a submodule to the folder that holds `config`."""
    if git.is_file():
        git = git.parent / _first_line(git).removeprefix("gitdir: ")
        if (git / "commondir").is_file():
            git /= _first_line(git / "commondir")
    return git


def _origin(config: Path) -> str:
    section = ""
    for raw in _text(config).split("\n"):
        line = raw.strip(" \t")
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and line.startswith("url") and "=" in line:
            return line.partition("=")[2].lstrip(" \t")
    return ""


def _first_line(path: Path) -> str:
    return _text(path).partition("\n")[0]


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _as_header(name: str) -> str:
    """Keep what the server reads of a header with this value."""
    shown = "".join(c for c in name if c >= " " and c != "\x7f")
    text = shown.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "replace").strip()
    return "".join(c for c in text if c.isprintable())
