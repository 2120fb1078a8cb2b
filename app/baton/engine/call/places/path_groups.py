"""Places that config.yaml defines by globs (`places: {infra: [infra/**]}`): which of them a path can lie in.

A path and a glob are both lists of folder names with wildcards, so the question is whether some path fits both. It is
answered without a disk, in time linear in the product of their lengths.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

import msgspec

from baton.engine.shell.model import SOMEWHERE
from baton.engine.text.globs import Match, any_path, name_in_shell

MOST_GROUPS = 50
MOST_GLOBS = 100
"""Globs of one group."""
LONGEST_GLOB = 200
_MOST_NAMES = 64
"""Folders of a path that are compared; a path with more of them may lie anywhere below the first ones."""

_ANY = "**"
"""Any number of folders."""
_ONE = "\0"
"""A name that is not known."""
_WILD = re.compile(r"[*?\[]|[@!+]\(")
_EVERYTHING = re.compile(r"\.?\*+|\.\?+\*+|\.?\[[^\]]*\]\*|\?\*+|\.\.?\?\*")
"""A last name by which a shell finds all that a folder holds: `*`, `.*`, `.[!.]*`, `[a-z]*`, `?*`."""
_OPENS = re.compile(r"\$\(|`|\$\{[^}/]*(?:/|\Z)")
_STARS = re.compile(r"[*?]+")
_LONGEST_NAME = 200
_HOME = re.compile(r"(?:/home/[^/]+|/users/[^/]+|/root|/c/users/[^/]+|~[^/]*)(?=/|\Z)")
_ABOVE_HOMES = (("home",), ("users",), ("c", "users"), ("c",))

Names = tuple[str, ...]


def wrong_glob(glob: str) -> str:
    """Return what is wrong with a glob of a group; "" if it can be used."""
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
    """The groups of one policy set, by name. Letters count alike in either case, as they do on macOS and Windows."""

    def __init__(self, globs: Mapping[str, Iterable[str]]) -> None:
        self._globs = {name: tuple(glob.casefold() for glob in group) for name, group in globs.items()}
        self._at = lru_cache(maxsize=256)(self._build)
        self.names = frozenset(self._globs)
        self._hints = {name: _hint(group) for name, group in self._globs.items() if any(map(_is_project_glob, group))}

    def holding(self, path: str, reach: str, root: str) -> Iterator[str]:
        """Yield the groups that something touches which reaches so far from this path.

        Args:
            path: The normal, absolute path, with variables and globs as written.
            reach: How far it reaches, a `places.Reach`.
            root: The project's root folder, from which relative globs start.
        """
        if self._globs:
            yield from self._at(root.casefold()).holding(path.casefold(), reach)

    def possibly_holding(self, path: str, reach: str, root: str, mentioned: str) -> Iterator[str]:
        """Yield the groups that a path of unknown beginning may lie in.

        A path such as `"$f"` may be anywhere; it counts where `mentioned`, the text of the line with its folder in
        lower case, names a folder or a file of the group. Only groups of project files do: of `$ROOTFS/usr/lib` it is
        likelier that it lies elsewhere than that it is `/usr/lib`.
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
    """A glob of a group, as it lies on the disk. It `floats` if it begins with `**/`, and so fits at any place."""

    group: str
    names: Names
    of_project: bool
    floats: bool


class _Anchored:
    """The groups as they lie on a disk, for a project with a certain root; found by a path's first folder."""

    def __init__(self, globs: Mapping[str, tuple[str, ...]], root: Names) -> None:
        self._root = root
        self._by_first: dict[str, list[_Glob]] = {}
        self._by_second: dict[tuple[str, str], list[_Glob]] = {}
        """Those of a first folder whose second one is a name; in `_any_second` are its others."""
        self._any_second: dict[str, list[_Glob]] = {}
        self._anywhere: list[_Glob] = []
        self._but: dict[str, list[Names]] = {}
        self._in_homes: set[str] = set()
        for name, group in globs.items():
            for glob in group:
                names = _anchored(glob.removeprefix("!"), root)
                if glob.startswith("!"):
                    self._but.setdefault(name, []).append(names)
                    continue
                entry = _Glob(name, names, of_project=_is_project_glob(glob), floats=glob.startswith("**/"))
                if not names or _WILD.search(names[0]):
                    self._anywhere.append(entry)
                else:
                    self._add(entry)
                if names[:1] == ("~",):
                    self._in_homes.add(name)

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
            # `~` of another user and `/home/ann` are homes as well: the globs of `~` hold in all of them.
            found.update(self.meeting(("~", *_names(path[home.end() :])), reach))
        elif reach in ("tree", "below") and (not names or names in _ABOVE_HOMES or _starts_wild(names)):
            found |= self._in_homes if _reaches_homes(names) else set()
        for name in found:
            if name not in self._but or not self._is_exception(name, names, home, path, reach):
                yield name

    def meeting(self, names: Names, reach: str, *, everywhere: bool = True) -> Iterator[str]:
        """Yield the groups that have a glob which fits; with `everywhere`, those of absolute globs, too."""
        far = _far(names, reach)
        # Any folder could hold a file that `**/*.tf` fits. Nobody is asked about each `rm -rf build` for it, so such a
        # glob counts for a folder only where that holds the whole project.
        near = far if reach == "file" or meets(far, self._root) else names
        first = names[0] if names else _ANY
        entries = self._all() if _WILD.search(first) else (*self._anywhere, *self._near(names, first))
        done: set[str] = set()
        for glob in entries:
            if glob.group in done or not (everywhere or glob.of_project):
                continue
            if glob.of_project:
                fits = meets(near if glob.floats else far, glob.names)
            else:
                fits = _is_meant(names, far, glob.names)
            if fits:
                done.add(glob.group)
                yield glob.group

    def _near(self, names: Names, first: str) -> "Iterable[_Glob]":
        """Yield the globs that begin with the path's first folder, and do not differ in the second one."""
        second = names[1] if len(names) > 1 else _ANY
        # Most paths lie in a home, where most globs begin: without this each would be compared with all of them.
        if _WILD.search(second):
            return self._by_first.get(first, ())
        return (*self._any_second.get(first, ()), *self._by_second.get((first, second), ()))

    def _all(self) -> "Iterable[_Glob]":
        return chain(self._anywhere, *self._by_first.values())

    def _is_exception(self, name: str, names: Names, home: re.Match[str] | None, path: str, reach: str) -> bool:
        """Return whether all that is touched lies in an exception (`!infra/README.md`) of the group."""
        spellings = [names] + ([("~", *_names(path[home.end() :]))] if home else [])
        for one in spellings:
            known = next((at for at, part in enumerate(one) if part == _ANY or _WILD.search(part)), len(one))
            whole = reach == "file" and known == len(one)
            for glob in self._but[name]:
                # Of `docs/*` and of a tree it is only certain where it begins, so the exception must hold all below it.
                if (whole or glob[-1:] == (_ANY,)) and meets(one[:known], glob):
                    return True
        return False


def meets(path: Names, glob: Names) -> bool:
    """Return whether there is a path that fits both lists of names."""
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
    """Return whether a path fits an absolute glob, and does so not only since a search could find anything anywhere.

    `find ~ -name '*.pyc'` could find something in `~/.gnupg/**`, too. It counts where it starts there, or where the name
    that it looks for is one of the group.
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
    """Add the places in a glob that are reached if `**` stands for no folder at all."""
    for at in sorted(here):
        if at < len(glob) and glob[at] == _ANY:
            here |= _skip({at + 1}, glob)
    return here


def _far(names: Names, reach: str) -> Names:
    """Return the names of all that something touches which reaches so far."""
    if reach == "file":
        return names
    if reach == "into":
        return (*names, _ONE) if names[-1:] != (_ANY,) else names
    if reach == "tree":
        # Who removes all that a folder holds removes the folder, to all intents.
        while names and _EVERYTHING.fullmatch(names[-1]):
            names = names[:-1]
    return (*names, _ANY)


def _names(path: str) -> Names:
    """Return the names of a path's folders; what an expansion stands for may be any number of them."""
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


def _starts_wild(names: Names) -> bool:
    return _WILD.search(names[0]) is not None


def _reaches_homes(names: Names) -> bool:
    return not names or any(meets((*names, _ANY), (*above, _ONE)) for above in _ABOVE_HOMES)


def _fits(name: str, wanted: str) -> bool:
    """Return whether some name fits both; each may have wildcards."""
    if name == wanted or _ONE in (name, wanted):
        return True
    name_wild, wanted_wild = _WILD.search(name), _WILD.search(wanted)
    if name_wild and wanted_wild:
        return _ends_agree(name, wanted)
    if name_wild:
        return len(name) > _LONGEST_NAME or name_in_shell(name)(wanted)
    return wanted_wild is not None and _in_config(wanted)(name)


def _ends_agree(one: str, other: str) -> bool:
    """Return whether what two globs begin with agrees, and what they end with; a little more than whether they meet."""
    (start, end), (other_start, other_end) = _ends(one), _ends(other)
    return (start.startswith(other_start) or other_start.startswith(start)) and (
        end.endswith(other_end) or other_end.endswith(end)
    )


@lru_cache(maxsize=1024)
def _ends(glob: str) -> tuple[str, str]:
    parts = re.split(r"\*+|\?|\[.[^\]]*\]|[@!+]\([^()]*\)|[\[(]", glob)
    return parts[0], parts[-1]


@lru_cache(maxsize=1024)
def _in_config(name: str) -> Match:
    return any_path([name])


def _hint(globs: Iterable[str]) -> re.Pattern[str]:
    """Return a search for the longest literal part of each glob; a line that has none of them does not name the group."""
    literals = set()
    for glob in globs:
        if _is_project_glob(glob):
            parts = re.split(r"/|\*+|\?|\[.[^\]]*\]", glob)
            literals.add(max(parts, key=len))
    return re.compile("|".join(map(re.escape, sorted(literals))))
