"""Tells where a path lies (in the project, in scratch, at the root …) from its text alone; no disk is read."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from baton.engine.text.globs import any_path

Place = Literal["work", "scratch", "outside", "root", "home", "device", "baton_home", "hook_settings"]
Reach = Literal["file", "into", "tree"]
"""How far a write reaches: the file itself, something in that folder, or everything below it."""

_EVERYTHING = r"(?:/[.?]?\*+|/\.?\[[^\]/]*\]\*|/\{(?:[.*,?]|\[[^\]/]*\])+\}\*?)*"
_HOMES = r"(?:/\w+)?/(?:home|Users)/[^/]+|/root|/c/Users/[^/]+"
_HOME = re.compile(rf"(?:{_HOMES})(?=/|\Z)")
_HOME_ITSELF = re.compile(rf"(?:~[^/]*|{_HOMES}|/home|/Users|/c/Users){_EVERYTHING}")
_SYSTEM = "bin|boot|etc|lib(?:32|64)?|proc|sbin|sys|usr|var|System|Library|Applications|c/Windows"
_ROOT_ITSELF = re.compile(rf"/|{_EVERYTHING}|/(?:{_SYSTEM}){_EVERYTHING}")
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/var/folders", "/run/user")  # noqa: S108
_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty.*|cu\.[^/]*|ptmx|console|kmsg|std(?:in|out|err)|video\d*"
    r"|(?:pts|fd|shm|tcp|udp|input|snd|dri|net|usb|bus|vfio|hidraw\d*|i2c-\d*|spidev.*|gpiochip\d*)(?:/.*)?)"
)
_VALUE = r"(?:%/|:?[-=?][^}$]*)?"
_VARIABLE = re.compile(rf"\$(?:\{{(HOME|PWD|TMPDIR|TEMP|TMP){_VALUE}\}}|(HOME|PWD|TMPDIR|TEMP|TMP)(?!\w)|\((pwd)\))")
_OPEN = re.compile(r"[$`*?\[{]")
_DRIVE = re.compile(r"([A-Za-z]):[\\/]")
_NOWHERE: frozenset[Place] = frozenset()
_ANYWHERE: frozenset[Place] = frozenset(("work", "baton_home", "hook_settings"))
_TOO_LONG = 65_536
_NOT_CACHED = 2_000


class AbsolutePath(msgspec.Struct, frozen=True):
    """An absolute path: `whole` with variables and globs as written, `known` only up to the first of them.

    `open` is True if there is a variable or glob; then `known` is a folder, or "" if not even the beginning is known.
    Both start with `~` under a home folder that is not known.
    """

    whole: str
    known: str
    open: bool = False


class Locator:
    """Finds the places of a path. Built once for a policy set, with the globs of the protected places."""

    def __init__(self, baton_home: Iterable[str], hook_settings: Iterable[str]) -> None:
        self._protected: list[tuple[Place, tuple[str, ...]]] = [
            ("baton_home", tuple(baton_home)),
            ("hook_settings", tuple(hook_settings)),
        ]
        self._match = [(place, any_path(globs), any_path(_folders(globs))) for place, globs in self._protected]
        self._cached = lru_cache(maxsize=4096)(self._places)

    def places(self, target: str, base: str | None, cwd: str, root: str, reach: Reach = "file") -> frozenset[Place]:
        """Return all places of a path as written; none for a harmless device. `base` is as in `shell.model.Write`.

        A path over 64 KiB is not read: it counts as being in every protected place.
        """
        size = len(target) + len(cwd) + len(root)
        if size > _TOO_LONG:
            return _ANYWHERE
        if size > _NOT_CACHED:
            return self._places(target, base, cwd, root, reach)
        return self._cached(target, base, cwd, root, reach)

    def _places(self, target: str, base: str | None, cwd: str, root: str, reach: Reach) -> frozenset[Place]:
        path = resolve(target, base, cwd)
        if path.whole.startswith("/dev/") and not path.whole.startswith("/dev/shm/"):  # noqa: S108
            return _NOWHERE if _HARMLESS.fullmatch(path.whole) else frozenset[Place](("device",))
        found: set[Place] = {_ground(path, normal(cwd), normal(root), reach)}
        if _ROOT_ITSELF.fullmatch(path.whole):
            found.add("root")
        if _HOME_ITSELF.fullmatch(path.whole):
            found.add("home")
        for place, match, folder in self._match:
            if match(path.whole) or (path.open and folder(path.known)) or (reach != "file" and folder(path.whole)):
                found.add(place)
        return frozenset(found)


def normal(path: str) -> str:
    """Return an absolute path without `.`, `..`, `//` and the aliases of Windows and macOS; other paths unchanged."""
    drive = _DRIVE.match(path)
    if drive:
        path = f"/{drive.group(1).lower()}/" + path[3:].replace("\\", "/")
    if not path.startswith(("/", "~")):
        return path
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts and parts.pop().startswith("~"):
                parts.append("home")
        elif part not in ("", "."):
            parts.append(part)
    text = "/".join(parts)
    if not text.startswith("~") or path.startswith("/"):
        text = "/" + text
    return text.removeprefix("/private") if text.startswith(("/private/tmp", "/private/var/")) else text


def home_of(folder: str) -> str:
    """Return the home folder that a session's folder lies in, otherwise `~`."""
    found = _HOME.match(folder)
    return found.group() if found else "~"


def resolve(target: str, base: str | None, cwd: str) -> AbsolutePath:
    """Make a path as written absolute. Only variables that every shell has (`$HOME`, `$PWD` …) are replaced."""
    home = home_of(cwd)
    text = _expand(target, home)
    # The folder is unknown and the path is relative to it: all that is known is that it may be anywhere.
    if base is None and (text == "." or text.startswith("./")) and target.startswith("$"):
        return AbsolutePath(text, "", open=True)
    if not _absolute(text):
        folder = cwd if base == "" else _expand(base or "", home)
        if folder and not _absolute(folder):
            folder = f"{cwd}/{folder}" if cwd else ""
        if base is None or not folder or text.startswith(("$", "`")):
            return AbsolutePath(text, "", open=True)
        text = f"{folder}/{text}"
    opening = _OPEN.search(text)
    whole = normal(text)
    if not opening:
        return AbsolutePath(whole, whole)
    # Of `src/$x/y` only `src/` is certain, and not even that where the unknown part is followed by `..`.
    known = text[: text.rfind("/", 0, opening.start()) + 1]
    climbs = "/.." in text[len(known) :]
    return AbsolutePath(whole, "" if climbs else normal(known), open=True)


def within(path: str, folder: str) -> bool:
    """Return whether a normal path is a normal folder or lies in it."""
    return folder != "" and (path == folder or path.startswith(folder if folder == "/" else folder + "/"))


def _ground(path: AbsolutePath, cwd: str, root: str, reach: Reach) -> Place:
    if not path.known:
        return "work"
    if within(path.known, root) or within(path.known, cwd):
        return "work"
    if (path.open or reach == "tree") and (within(root, path.known) or within(cwd, path.known)):
        return "work"
    if any(within(path.known, folder) for folder in _TEMPORARY):
        return "scratch"
    return "outside" if cwd or root else "work"


def _absolute(text: str) -> bool:
    return text.startswith(("/", "~")) or _DRIVE.match(text) is not None


def _expand(text: str, home: str) -> str:
    if text.startswith("`pwd`"):
        text = "." + text[5:]
    found = _VARIABLE.match(text) if text.startswith("$") else None
    if found:
        name = found.group(1) or found.group(2) or found.group(3)
        text = {"HOME": "~", "PWD": ".", "pwd": "."}.get(name, "/tmp") + text[found.end() :]  # noqa: S108
    return home + text[1:] if text == "~" or text.startswith("~/") else text


def _folders(globs: tuple[str, ...]) -> tuple[str, ...]:
    parents = (glob.rpartition("/")[0] for glob in globs if not glob.endswith("/**"))
    return tuple(parent for parent in parents if parent.strip("*/"))
