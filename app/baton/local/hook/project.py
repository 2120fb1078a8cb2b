"""Finds the project that a folder belongs to, without starting git; `hooks/baton-lib.sh` does the same."""

import os


def find(start: str) -> tuple[str, str]:
    """Return a folder's project: the remote `origin` as `host/team/repo` ("" without one), and the root.

    The root is the nearest folder with a `.git`, else the folder itself.
    """
    start = os.path.realpath(start)
    root = start
    while not os.path.exists(os.path.join(root, ".git")):
        above = os.path.dirname(root)
        if above == root:
            return "", start
        root = above
    return plain_remote(_origin(os.path.join(_git_folder(root), "config"))), root


def plain_remote(url: str) -> str:
    """Reduce a remote's url to host and path; "" for a relative path, which names nothing."""
    before, colon, behind = url.partition(":")
    if "://" in url:
        host, slash, path = url.partition("://")[2].partition("/")
        plain = host.rpartition("@")[2] + slash + path
    elif url.startswith("."):
        return ""
    elif colon and before and "/" not in before:
        plain = f"{before.rpartition('@')[2]}/{behind.removeprefix('/')}"
    else:
        plain = url
    return plain.removesuffix("/").removesuffix(".git")


def _git_folder(root: str) -> str:
    """Follow the `.git` file of a worktree or a submodule to the folder that holds `config`."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _first_line(git).removeprefix("gitdir: "))
        if common := _first_line(os.path.join(git, "commondir")):
            git = os.path.join(git, common)
    return git


def _origin(config: str) -> str:
    section = ""
    for raw in _text(config).split("\n"):
        line = raw.strip(" \t\r")
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and line.startswith("url") and "=" in line:
            return line.partition("=")[2].lstrip(" \t")
    return ""


def _first_line(path: str) -> str:
    return _text(path).partition("\n")[0].removesuffix("\r")


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return ""
