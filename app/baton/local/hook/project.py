"""Finds the project of a folder without starting git, like `hooks/baton-lib.sh`."""

import os

_WAY, _MOST = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), 16
"""A project may have a pipe or a device in place of a file: at most so many blocks of 64 KiB are read."""


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
    return remote(root), root


def remote(root: str) -> str:
    """Return the remote `origin` of a root as `host/team/repo`, "" without one."""
    config = os.path.join(_git_folder(root), "config")
    return plain_remote(_resolved(_origin(config), config))


def plain_remote(url: str) -> str:
    """Reduce a remote's url to host and path; "" for a relative path."""
    before, colon, behind = url.partition(":")
    if "://" in url:
        host, slash, path = url.partition("://")[2].partition("/")
        host = host.rpartition("@")[2]
        if before in ("ssh", "git+ssh", "ssh+git") and not host.startswith("["):
            name, mark, port = host.partition(":")
            host = _host_name(name) + mark + port
        plain = host + slash + path
    elif url.startswith("."):
        return ""
    elif colon and before and "/" not in before:
        plain = f"{_host_name(before.rpartition('@')[2])}/{behind.removeprefix('/')}"
    else:
        plain = url
    return plain.removesuffix("/").removesuffix(".git")


def _resolved(url: str, config: str) -> str:
    """Replace the longest prefix of a url in git's `insteadOf`, as git does."""
    if not url:
        return ""
    env, home = os.environ, os.path.expanduser("~")
    own = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    longest = base = ""
    for file in (config, env.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"), own, "/etc/gitconfig"):
        section, text = "", text_of(file)
        for raw in text.split("\n") if "insteadof" in text.lower() else ():
            line = raw.strip(" \t\r")
            key, _, value = line.partition("=")
            value = value.strip(" \t").removeprefix('"').removesuffix('"')
            if line.startswith("["):
                section = line.partition('"')[2].rpartition('"]')[0] if line[:4].lower() == "[url" else ""
            elif section and key.strip().lower() == "insteadof" and len(value) > len(longest) and url.startswith(value):
                longest, base = value, section
    return base + url.removeprefix(longest)


def _host_name(host: str) -> str:
    """Return a host's `HostName` from its first section, as ssh does. `Match` is ignored."""
    found = _first_host_name(host, (os.path.expanduser("~/.ssh/config"), "/etc/ssh/ssh_config"))
    return found.replace("%h", host) or host


def _first_host_name(host: str, files: tuple[str, ...], *, included: bool = False) -> str:
    for file in files:
        applies = True
        for raw in text_of(file).split("\n"):
            words = raw.replace("=", " ", 1).split(None, 1)
            key, value = words[0].lower() if words else "", words[1].rstrip() if words[1:] else ""
            value = value.removeprefix('"').removesuffix('"')
            if key == "host":
                applies = _names(value.split(), host)
            elif key == "match":
                applies = False
            elif key == "hostname" and applies:
                return value
            elif key == "include" and applies and not included:
                import glob

                place = os.path.join(os.path.expanduser("~/.ssh"), os.path.expanduser(value))
                if found := _first_host_name(host, tuple(sorted(glob.glob(place))), included=True):
                    return found
    return ""


def _names(patterns: list[str], host: str) -> bool:
    from fnmatch import fnmatchcase

    if any(one.startswith("!") and fnmatchcase(host, one[1:]) for one in patterns):
        return False
    return any(fnmatchcase(host, one) for one in patterns)


def worktrees(root: str) -> str:
    """Return the `.git` of each worktree of a project's repository, separated by `|`; "" without linked ones."""
    git = _git_folder(root)
    folder = os.path.join(git, "worktrees")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    places = [os.path.join(folder, name) for name in names]
    found = [os.path.join(place, line) for place in places if (line := _first_line(os.path.join(place, "gitdir")))]
    return "|".join([git, *found])[:6000] if found else ""


def _git_folder(root: str) -> str:
    """Follow the `.git` file of a worktree or a submodule to the folder with `config`."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):
        git = os.path.join(root, _first_line(git).removeprefix("gitdir: "))
        if common := _first_line(os.path.join(git, "commondir")):
            git = os.path.join(git, common)
    return git


def _origin(config: str) -> str:
    section = ""
    for raw in text_of(config).split("\n"):
        line = raw.strip(" \t\r")
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and line.startswith("url") and "=" in line:
            return line.partition("=")[2].lstrip(" \t")
    return ""


def _first_line(path: str) -> str:
    return text_of(path).partition("\n")[0].removesuffix("\r")


def text_of(path: str) -> str:
    """Return the beginning of a file, "" if it cannot be read."""
    try:
        handle = os.open(path, _WAY)
    except OSError:
        return ""
    parts: list[bytes] = []
    try:
        while len(parts) < _MOST and (part := os.read(handle, 1 << 16)):
            parts.append(part)
        return b"".join(parts).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(handle)
