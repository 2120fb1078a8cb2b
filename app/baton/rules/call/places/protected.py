"""Check whether a path reaches a protected one: by name, glob, parent folder, or another spelling.

A protected path is a glob of config.yaml (`**/.claude/settings.json`), or an actually installed folder or file.
"""

import re
from collections.abc import Callable, Iterable
from copy import copy

from baton.lib.text.globs import any_path, fits_name

_HOME = re.compile(r"(?:(?:/\w+)?/(?:home|users)/[^/]+|/root|/c/users/[^/]+|~[^/]*)(?:/|\Z)")
"""A home folder at the start of a path, in lower case: the protected paths of any home count."""
_ABOVE_HOMES = frozenset({"/home", "/users", "/c/users"})
_TEMPORARY = frozenset({"/tmp", "/var/tmp"})  # noqa: S108
_WILD = re.compile(r"[*?\[]|[@!+]\(")
_LITERAL = re.compile(r"/?([^$`*?\[{/]*)")

Reached = tuple[str, ...]  # the names of the folders on the way to a protected path, in lower case


class TouchedPath:
    """A path for comparison with protected ones: in lower case, and split once for all kinds of them.

    `beyond` is the path below a home folder, None outside of homes; `first` is its first name. `begins` is the known
    prefix of the name in the known folder, None if it cannot be a protected one.
    """

    __slots__ = ("begins", "beyond", "first", "first_is_wild", "is_open", "is_wild", "known", "names", "whole")

    def __init__(self, whole: str, known: str, *, is_open: bool) -> None:
        self.whole = whole = whole.casefold()
        self.known = known
        self.is_open = is_open
        self.is_wild = _WILD.search(whole) is not None
        self.names = _names(whole)
        home = _HOME.match(whole)
        self.beyond = None if home is None else whole[home.end() :]
        self.first = (self.beyond or "").partition("/")[0]
        self.first_is_wild = self.is_wild and _WILD.search(self.first) is not None
        self.begins = self._begins() if is_open else None

    def _begins(self) -> str | None:
        rest = self.whole[len(self.known) :]
        # `/usr/bin/$x` is some program, and the `.config` of a project is not a home's.
        if "$" in rest and self.known.endswith("/bin"):
            return None
        if self.known.endswith("/.config") and (self.beyond is None or self.first != ".config"):
            return None
        begin = _LITERAL.match(rest)
        return begin[1] if begin else ""


class Protected:
    """The protected paths of one kind. Case is ignored, as on macOS."""

    __slots__ = ("_first", "_hint", "_in_homes", "_match", "_names", "_parent", "installed")

    def __init__(self, globs: Iterable[str]) -> None:
        lower = tuple(glob.casefold() for glob in globs)
        parents = _parents(lower)
        self._names = tuple(
            [(any_path([parent]), glob[len(parent) + 1 :]) for glob in lower for parent in _parents([glob])]
        )
        self._match = any_path(lower)
        self._parent = any_path(parents)
        self._hint = _any_literal(lower + parents)
        self._in_homes = tuple(dict.fromkeys(filter(None, map(_in_home, lower))))
        self._first = frozenset(way[0] for way in self._in_homes)
        self.installed: tuple[Reached, ...] = ()

    def beside(self, installed: Iterable[str]) -> "Protected":
        """Return the same with installed paths; the compiled globs are shared."""
        more = copy(self)
        more.installed = tuple(_names(path.casefold()) for path in installed)
        return more

    def reached(self, path: TouchedPath, reach: str) -> bool:
        """Return whether an action with this range (a `places.Reach`) on a path touches a protected one."""
        whole = path.whole
        # Tools are unpacked into a folder of programs, without replacing existing ones.
        if path.names[-1:] == ("bin",) and reach != "tree":
            reach = "file"
        # Most paths share no name with a protected one: this check is ten times faster than a match.
        if self._hint(whole) and (
            self._match(whole)
            or (path.begins is not None and self._may_hold(path.known.casefold(), path.begins))
            or (reach != "file" and self._parent(whole))
        ):
            return True
        far = reach in ("tree", "below")
        # Another rule covers removal of the root itself.
        if whole == "/":
            return reach == "below" and bool(self._in_homes or self.installed)
        if far and whole in _ABOVE_HOMES and self._in_homes:
            return True
        if path.beyond is not None and self._in_homes:
            near = not path.first or path.first in self._first or path.first_is_wild
            if near and _touches_one(
                _names(path.beyond), self._in_homes, reach, is_wild=_WILD.search(path.beyond) is not None
            ):
                return True
        # Archives are constantly unpacked in a temporary folder, and state stored there is a test's.
        beside = reach == "below" and whole in _TEMPORARY
        if (
            self.installed
            and whole.startswith("/")
            and not beside
            and _touches_one(path.names, self.installed, reach, is_wild=path.is_wild)
        ):
            return True
        if "/**/" in whole and self._found_below(whole):
            return True
        return path.is_open and path.is_wild and self._by_its_end(path.names, reach)

    def _may_hold(self, folder: str, begins: str) -> bool:
        """Return whether a protected name in a folder may have this prefix."""
        return any(
            in_folder(folder) and fits_name(f"{begins}*", name.replace("*", begins)) for in_folder, name in self._names
        )

    def _found_below(self, whole: str) -> bool:
        """Return whether a search result may be a protected path of a home: `~/**/settings.json`."""
        head, _, tail = whole.partition("/**/")
        home = _HOME.match(head)
        if home is None and head and head not in _ABOVE_HOMES:
            return False
        inside, found = _names(head[home.end() :]) if home else (), _names(tail)
        return any(
            len(inside) + len(found) <= len(way)
            and _same(inside, way[: len(inside)])
            and _same(found, way[-len(found) :])
            for way in self._in_homes
        )

    def _by_its_end(self, names: Reached, reach: str) -> bool:
        """Return whether a path with globs ends like a protected one: `x/.cl*/settings.json`."""
        for way in self._in_homes:
            size = len(way)
            if _same(names[-size:], way):
                return True
            if (
                reach != "file"
                and size > 1
                and _same(names[-size + 1 :], way[:-1])
                and way[0] not in (".config", ".local")
            ):
                return True
        return False


def _touches_one(names: Reached, ways: Iterable[Reached], reach: str, *, is_wild: bool) -> bool:
    """Return whether the path is a protected one, inside it, or a parent within range."""
    depth = len(names)
    # Without wildcards, as usual, names are compared directly: a tenth of the work for each path.
    for way in ways:
        size = len(way)
        if depth < size and (reach == "file" or (depth < size - 1 and reach == "into")):
            continue
        if is_wild:
            if all(_fits(name, wanted) for name, wanted in zip(names, way, strict=False)):
                return True
        elif names[:size] == way[:depth]:
            return True
    return False


def _same(names: Reached, way: Reached) -> bool:
    return len(names) == len(way) and all(_fits(name, wanted) for name, wanted in zip(names, way, strict=True))


def _fits(name: str, wanted: str) -> bool:
    return name == wanted or (_WILD.search(name) is not None and fits_name(name, wanted))


def _names(path: str) -> Reached:
    return tuple([name for name in path.split("/") if name])


def _any_literal(globs: tuple[str, ...]) -> Callable[[str], object]:
    """Return a search for a literal name of each glob; a path without any of them matches no glob."""
    literals = set()
    for glob in globs:
        plain = [name for name in glob.split("/") if name and not _WILD.search(name)]
        if not plain:
            return lambda _text: True
        literals.add(max(plain, key=len))
    return re.compile("|".join(map(re.escape, sorted(literals)))).search if literals else lambda _text: False


def _parents(globs: Iterable[str]) -> tuple[str, ...]:
    parents = (glob.rpartition("/")[0] for glob in globs if not glob.endswith("/**"))
    return tuple(parent for parent in parents if parent.strip("*/"))


def _in_home(glob: str) -> Reached | None:
    """Return a glob such as `**/.config/baton/**` relative to a home folder; None if elsewhere."""
    path = glob.removesuffix("/**")
    if not path.startswith("**/.") or _WILD.search(path[3:]):
        return None
    return _names(path[3:])
