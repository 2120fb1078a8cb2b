"""Places defined by globs in config.yaml (`places: {infra: [infra/**]}`): the possible ones of a path.

A path and a glob are both lists of folder names with wildcards, so the question is whether some path matches both. It
is answered without a disk, in time linear in the product of their lengths.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

import msgspec

from baton.lib.bash.model import SOMEWHERE
from baton.lib.text.globs import Match, any_of, any_path, fits_name, literal_parts

# Merges path names that no list of places distinguishes, so many paths share one search. In `rm a1 a2 a3 …` the names
# differ, but no glob and no built-in place mentions any of them. Then each represents the same unknown name, and all of
# these paths have the same places.

_PLAIN = re.compile(r"(?:~/)?[\w./@+,%=:-]+", re.ASCII)
"""Paths without shell expansions, and without a Windows drive's backslashes."""
_DRIVE = re.compile(r"[A-Za-z]:|[^\\]*\\")  # paths of Windows: dots at the end of a name do not count
_DEVICE = re.compile(r"(?i)(?:\A|/)(?:dev|proc)(?:/|\Z)")
_IN_DEVICES = re.compile(r"(?i)/[./]*(?:dev|proc)(?:/|\Z)")  # devices and processes, with significant names
_WILD = re.compile(r"[*?\[]|[@!+]\(")
_SHORTEST = 3  # minimum length of a replaced name: `..` and the letters of drives are shorter
_NAMED_IN_CODE = frozenset([
    "applications", "bin", "boot", "cygdrive", "data", "dev", "etc", "fd", "folders", "home", "lib", "lib32",
    "lib64", "library", "media", "mnt", "opt", "private", "proc", "root", "run", "sbin", "shm", "srv", "sys",
    "system", "tmp", "user", "users", "usr", "var", "volumes", "windows",
])  # fmt: skip
"""Names used in `rules.call.places` and `protected`, in lower case."""
ALIKE = "__0__"  # replacement of a name, an ordinary one itself: a path of such names is in normal form


class AlikeNames:
    """The significant names for one set of globs; all others are equivalent, but for the names of a call's own folders."""

    def __init__(self, paths: Iterable[str]) -> None:
        names = {name for path in paths for name in path.casefold().removeprefix("!").split("/")}
        wild = {name for name in names if name.strip("*") and _WILD.search(name)}
        self._names = frozenset(names - wild) | _NAMED_IN_CODE
        literals = [max(literal_parts(name), key=len) for name in sorted(wild)]
        self._base = lru_cache(256)(self._alike_base)
        self._literal = re.compile("|".join(map(re.escape, literals)) or r"(?!)")
        # Two stars within a name match across folders, and `?` alone matches any one-letter name.
        self._usable = all(literals) and not any("**" in name for name in wild) and not self._counts(ALIKE, frozenset())

    def _counts(self, low: str, own: frozenset[str]) -> bool:
        return len(low) < _SHORTEST or low in self._names or low in own or self._literal.search(low) is not None

    def alike(self, path: str, base: str | None, own: frozenset[str] | None) -> tuple[str, str | None]:
        """Return an equivalent path and base, as written, with the same places; often themselves.

        Args:
            path: The path as written.
            base: Its base folder, as in `shell.model.Write`.
            own: `places.own_names` of the call.
        """
        if own is None or not self._usable or not _PLAIN.fullmatch(path) or ALIKE in own:
            return path, base
        if base and (base := self._base(named := base, own)) is None:
            return path, named
        if "/" not in path and path[1:2] != ":":  # most arguments are one name, neither of Windows nor in a folder
            return (path if self._counts(path.casefold(), own) else ALIKE), base
        return (self._folder(path, own) if is_plain(path) else path), base

    def _alike_base(self, base: str, own: frozenset[str]) -> str | None:
        """Return an equivalent base; None if no path from it has one."""
        if not is_plain(base):
            return None
        return self._folder(base, own) if _PLAIN.fullmatch(base) else base

    def _folder(self, path: str, own: frozenset[str]) -> str:
        names, low = path.split("/"), path.casefold().split("/")
        return "/".join([name if self._counts(one, own) else ALIKE for name, one in zip(names, low, strict=True)])


def is_plain(path: str) -> bool:
    """Return whether a path is neither of Windows, nor possibly one of devices or processes."""
    if _DRIVE.match(path):
        return False
    if not _DEVICE.search(path):
        return True
    return path.startswith("/") and ".." not in path and not _IN_DEVICES.match(path)


MOST_GROUPS = 50
MOST_GLOBS = 100
LONGEST_GLOB = 200
_MOST_NAMES = 64  # maximum compared folders of a path; the rest of a longer one counts as unknown

_ANY = "**"  # any number of folders
_ONE = "\0"  # a name that is not known
STAR = "\3"
"""The `*` of a pattern that selects what is read: `*.json` could be a name of `.env.*`, and does not mean these."""
_OPEN = re.compile(rf"{_WILD.pattern}|{STAR}")
_UNSURE = re.compile(rf"{_OPEN.pattern}|{_ONE}")
EVERYTHING = re.compile(r"\.?\*+|\.\?+\*+|\.?\[[^\]]*\]\*|\?\*+|\.\.?\?\*")
"""A last name matching everything in a folder: `*`, `.*`, `.[!.]*`, `[a-z]*`, `?*`."""
_NO_LETTER = re.compile(rf"(?:{STAR}|\?|\[[^\]]*\])*")
_OPENS = re.compile(r"\$\(|`|\$\{[^}/]*(?:/|\Z)")
_TOKEN = re.compile(r"\*+|[@!+?*]\(.*\)|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
_LONGEST_NAME = 1_000
_STARS = re.compile(r"[*?]+")
_HOME = re.compile(r"(?:/home/[^/]+|/users/[^/]+|/root|/c/users/[^/]+|~[^/]*)(?=/|\Z)")
_ABOVE_HOMES = (("home",), ("users",), ("c", "users"), ("c",))

Names = tuple[str, ...]


def wrong_glob(glob: str) -> str:
    """Return the fault of a group's glob, or ""."""
    plain = glob.removeprefix("!")
    if not plain.strip("/.") or "\0" in plain:
        return "names no path; write `infra/**`, `**/*.tf`, `/srv/data/**` or `~/.ssh/**`"
    if len(glob) > LONGEST_GLOB:
        return f"has more than {LONGEST_GLOB} characters"
    if ".." in plain.split("/") or "\\" in plain or "$" in plain:
        return "has `..`, `$` or a backslash; write the path from the project's root, from `/`, `~/` or `**/`"
    try:
        any_path(plain.split("/"))
    except ValueError as error:
        return f"cannot be used: {error}"
    return ""


class PathGroups:
    """The groups of one policy set, by name. Case is ignored, as on macOS and Windows."""

    def __init__(self, globs: Mapping[str, Iterable[str]]) -> None:
        self._globs = {name: tuple(glob.casefold() for glob in group) for name, group in globs.items()}
        self._at = lru_cache(maxsize=256)(self._build)
        self.names = frozenset(self._globs)
        self._hints = {name: _hint(group) for name, group in self._globs.items() if any(map(_is_project_glob, group))}

    def holding(self, path: str, reach: str, root: str) -> Iterator[str]:
        """Yield the groups reached from a path.

        Args:
            path: The normal, absolute path, with variables and globs as written.
            reach: Its range, a `places.Reach`.
            root: The project's root folder, the base of relative globs.
        """
        if self._globs:
            yield from self._at(root.casefold()).holding(path.casefold(), reach)

    def possibly_holding(self, path: str, reach: str, root: str, mentioned: str) -> Iterator[str]:
        """Yield the possible groups of a path with an unknown start.

        A path such as `"$f"` may be anywhere; it counts if `mentioned`, the line with its folder in lower case, names a
        folder or a file of the group. Only groups of project files count: `$ROOTFS/usr/lib` is more likely elsewhere
        than `/usr/lib`.
        """
        if not any(hint.search(mentioned) for hint in self._hints.values()):
            return
        names = (_ANY, *_names(path.casefold()))
        for name in self._at(root.casefold()).meeting(names, reach, everywhere=False):
            if name in self._hints and self._hints[name].search(mentioned):
                yield name

    def _build(self, root: str) -> "_Anchored":
        return _Anchored(self._globs, tuple(_names(root)))


class _Glob(msgspec.Struct, frozen=True):
    """A group's glob as an absolute path. It `floats` if it begins with `**/`, so it matches anywhere."""

    group: str
    names: Names
    of_project: bool
    floats: bool


class _Anchored:
    """The groups as absolute paths, for a project with a certain root; indexed by a path's first folder."""

    def __init__(self, globs: Mapping[str, tuple[str, ...]], root: Names) -> None:
        self._root = root
        self._by_first: dict[str, list[_Glob]] = {}
        self._by_second: dict[tuple[str, str], list[_Glob]] = {}
        """Those of a first folder with a name as second one; the others are in `_any_second`."""
        self._any_second: dict[str, list[_Glob]] = {}
        self._anywhere: list[_Glob] = []
        self._floating: list[_Glob] = []
        self._but: dict[str, list[Names]] = {}
        self._in_homes: set[str] = set()
        for name, group in globs.items():
            for glob in group:
                names = _anchored(glob.removeprefix("!"), root)
                if glob.startswith("!"):
                    self._but.setdefault(name, []).append(names)
                    continue
                entry = _Glob(name, names, of_project=_is_project_glob(glob), floats=glob.startswith("**/"))
                if entry.floats:
                    self._floating.append(entry)
                elif not names or _WILD.search(names[0]):
                    self._anywhere.append(entry)
                else:
                    self._add(entry)
                if names[:1] == ("~",):
                    self._in_homes.add(name)
        self._begins_floating = any_of([next((n for n in one.names if n != _ANY), "*") for one in self._floating])

    def _add(self, glob: _Glob) -> None:
        first, *others = glob.names
        self._by_first.setdefault(first, []).append(glob)
        if others and not _WILD.search(others[0]):
            self._by_second.setdefault((first, others[0]), []).append(glob)
        else:
            self._any_second.setdefault(first, []).append(glob)

    def holding(self, path: str, reach: str) -> Iterator[str]:
        names = _names(path)
        home = _HOME.match(path)
        found = set(self.meeting(names, reach))
        if home:
            # `~` of another user and `/home/ann` are homes as well: the globs of `~` apply to all of them.
            found.update(self.meeting(("~", *_names(path[home.end() :])), reach))
        elif reach in ("tree", "below") and (not names or names in _ABOVE_HOMES or _WILD.search(names[0])):
            found |= self._in_homes if _reaches_homes(names) else set()
        for name in found:
            if name not in self._but or not self._is_exception(name, names, home, path, reach):
                yield name

    def meeting(self, names: Names, reach: str, *, everywhere: bool = True) -> Iterator[str]:
        """Yield the groups with a matching glob; with `everywhere`, also by absolute globs."""
        far = _far(names, reach)
        # Any folder could contain a file matching `**/*.tf`. To avoid a question for each `rm -rf build`, such a glob
        # counts for a folder only if it contains the whole project.
        near = far if reach == "file" or meets(far, self._root) else names
        first = names[0] if names else _ANY
        near_ones = chain.from_iterable(self._by_first.values()) if _WILD.search(first) else self._near(names, first)
        done: set[str] = set()
        takes_all = bool(names) and _NO_LETTER.fullmatch(names[-1]) is not None
        # Few paths have a name that a floating glob begins with.
        is_near = any(map(_UNSURE.search, near)) or any(map(self._begins_floating, near))
        floating = self._floating if is_near else ()
        for glob in chain(self._anywhere, floating, near_ones):
            if glob.group in done or not (everywhere or glob.of_project):
                continue
            # A search of a whole folder that leaves hidden files out, or `*`, means no file that could be in any folder.
            if glob.floats and (takes_all or reach == "visible"):
                continue
            if reach == "visible" and any(name[:1] == "." and name not in names for name in glob.names):
                continue
            if glob.of_project:
                fits = meets(near if glob.floats else far, glob.names)
            else:
                fits = _is_meant(names, far, glob.names)
            if fits:
                done.add(glob.group)
                yield glob.group

    def _near(self, names: Names, first: str) -> "Iterable[_Glob]":
        """Yield the globs with the path's first folder and a compatible second one."""
        second = names[1] if len(names) > 1 else _ANY
        # Most paths and globs start in a home: without this, each path would be compared with all of them.
        if _WILD.search(second):
            return self._by_first.get(first, ())
        return (*self._any_second.get(first, ()), *self._by_second.get((first, second), ()))

    def _is_exception(self, name: str, names: Names, home: re.Match[str] | None, path: str, reach: str) -> bool:
        """Return whether everything touched is in an exception (`!infra/README.md`) of the group."""
        spellings = [names] + ([("~", *_names(path[home.end() :]))] if home else [])
        for one in spellings:
            known = next((at for at, part in enumerate(one) if part == _ANY or _OPEN.search(part)), len(one))
            whole = reach == "file" and known == len(one)
            for glob in self._but[name]:
                # Only the start of `docs/*` or of a tree is certain, so the exception must cover everything below it.
                if (whole or glob[-1:] == (_ANY,)) and meets(one[:known], glob):
                    return True
        return False


def meets(path: Names, glob: Names) -> bool:
    """Return whether some path matches both lists of names."""
    here = _skip({0}, glob)
    size = len(glob)
    for name in path:
        if name == _ANY:
            here = set(range(min(here), size + 1))
            continue
        following: set[int] = set()
        for at in here:
            if at == size:
                continue
            if glob[at] == _ANY:
                following.add(at)
            elif _fits(name, glob[at]):
                following.add(at + 1)
        if not following:
            return False
        here = _skip(following, glob)
    return size in here


def _is_meant(names: Names, far: Names, glob: Names) -> bool:
    """Return whether a path matches an absolute glob, not merely as a possible search result.

    `find ~ -name '*.pyc'` could find something in `~/.gnupg/**`, too. It counts if it starts there, or if the searched
    name belongs to the group.
    """
    if _ANY not in names:
        return meets(far, glob)
    starts_there = glob[-1:] == (_ANY,) and meets(names[: names.index(_ANY)], glob)
    while glob[-1:] == (_ANY,):
        glob = glob[:-1]
    # `*.pyc` could be a name of `id_*`; as a search it does not mean these.
    meant = tuple([name if name == _ANY else _STARS.sub("_", name) for name in far])
    return starts_there or (names[-1] != _ANY and meets(meant, glob))


def _skip(here: set[int], glob: Names) -> set[int]:
    """Add the positions in a glob reached if `**` matches no folder."""
    if _ANY in glob:
        for at in tuple(here):
            end = at
            while glob[end : end + 1] == (_ANY,):
                end += 1
                here.add(end)
    return here


def _far(names: Names, reach: str) -> Names:
    """Return the names of everything touched within a range."""
    if reach == "file":
        return names
    if reach == "into":
        return (*names, _ONE) if names[-1:] != (_ANY,) else names
    if reach == "tree":
        # Removing everything in a folder effectively removes the folder.
        while names and EVERYTHING.fullmatch(names[-1]):
            names = names[:-1]
    return (*names, _ANY)


def _names(path: str) -> Names:
    """Return the names of a path's folders; an expansion may be any number of them."""
    opening = _OPENS.search(path)
    parts = (path[: opening.start()] if opening else path).split("/")
    names: list[str] = []
    for part in parts:
        if part == "..":
            names = [_ANY]
        elif "$" in part or part == SOMEWHERE:
            names.append(_ANY)
        elif part not in ("", "."):
            names.append(part)
    if opening:
        names = [*(names if path[opening.start() - 1 : opening.start()] == "/" else names[:-1]), _ANY]
    if len(names) > _MOST_NAMES:
        names = [*names[:_MOST_NAMES], _ANY]
    return tuple(names)


def _anchored(glob: str, root: Names) -> Names:
    names = tuple([name for name in glob.split("/") if name not in ("", ".")])
    return names if glob.startswith(("/", "~/", "**/")) or glob == "~" else (*root, *names)


def _is_project_glob(glob: str) -> bool:
    return not glob.startswith(("/", "~", "!"))


def _reaches_homes(names: Names) -> bool:
    return not names or any(meets((*names, _ANY), (*above, _ONE)) for above in _ABOVE_HOMES)


def _fits(name: str, wanted: str) -> bool:
    if name == wanted or _ONE in (name, wanted):
        return True
    if STAR in name:
        return _selects(name, wanted)
    if not _WILD.search(name):
        return _in_config(wanted)(name)
    return _meet(name, wanted) if _WILD.search(wanted) else fits_name(name, wanted)


def _selects(pattern: str, wanted: str) -> bool:
    """Return whether a pattern of a search (with `STAR`) means files that a glob of a group names."""
    literal = pattern.replace(STAR, "")
    if _WILD.search(wanted):
        if literal in ("", "."):
            return (literal == ".") == wanted.startswith(".")
        return any(_in_config(wanted)(pattern.replace(STAR, text)) for text in ("", "_"))
    glob = pattern.replace(STAR, "*")
    # Only a shell's own `*` leaves the dot of a hidden file out.
    return fits_name(f"x{glob}", f"x{wanted}") if literal else fits_name(glob, wanted)


@lru_cache(maxsize=4096)
def _meet(one: str, other: str) -> bool:
    """Return whether some name fits both globs. An extended glob (`@(a|b)`) stands for anything."""
    if len(one) > _LONGEST_NAME:
        return True
    columns = _TOKEN.findall(other)
    size, here = len(columns), {0}
    for token in (*_TOKEN.findall(one), ""):
        # A star of the other glob may stand for nothing; one of this glob for all that is left.
        for at in range(size):
            if at in here and (_is_star(columns[at]) or _is_star(token)):
                here.add(at + 1)
        if token and not _is_star(token):
            stays = {at for at in here if at < size and _is_star(columns[at])}
            here = stays | {at + 1 for at in here - stays if at < size and _agree(token, columns[at])}
    return size in here


def _is_star(token: str) -> bool:
    return token[:1] == "*" or (token[1:2] == "(" and token[0] != "[")


def _agree(token: str, other: str) -> bool:
    """Return whether some character fits both parts of globs."""
    if token == other or "?" in (token, other) or (len(token) > 1 and len(other) > 1):
        return True
    single, group = (token, other) if len(token) == 1 else (other, token)
    return len(group) > 1 and fits_name(f"x{group}", f"x{single}")


@lru_cache(maxsize=1024)
def _in_config(name: str) -> Match:
    return any_of([name])


def _hint(globs: Iterable[str]) -> re.Pattern[str]:
    """Return a search for the longest literal part of each glob; a line without any of them does not name the group."""
    literals = set()
    for glob in globs:
        if _is_project_glob(glob):
            literals.add(max(re.split(r"/|\*+|\?|\[.[^\]]*\]", glob), key=len))
    return re.compile("|".join(map(re.escape, sorted(literals))))
