"""Find what a program writes, and how far: a file, something in a folder, or a whole tree, by the shell tables."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from baton.engine.shell.expansion.scripts import StdinSource
from baton.engine.shell.model import SOMEWHERE, Reach, Write
from baton.engine.shell.tables import classify
from baton.engine.shell.tables.classify import Invocation
from baton.engine.shell.tables.tables import Entry

_NEGATES = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or", ","})
_REPLACES = frozenset(["-I", "-J", "-i", "--replace"])
_READ_ONLY = frozenset(["ro", "readonly"])
_FOLDERS = frozenset("/~.$")
_FROM_FILE = frozenset(["-a", "--arg-file"])
_LEAST_LITERALS = 2
"""Characters that are no wildcards in a name that selects few files: `*.c` does, `*a*` does not."""
_MOST_FOUND = 100
"""Folders times names of one search; beyond it, the search counts as finding everything."""
_MOST_SOURCES = 200
"""Sources of a copy whose places in the target are looked at."""
_LITERAL = re.compile(r"\[[^\]]*\]|[*?^$+|()\\]")


def written(use: Invocation) -> list[Write]:
    """Return what a program writes, each from its own folder."""
    paths = classify.targets(use)
    entry = use.entry
    if entry is None or not paths:
        return []
    reach = reach_of(use)
    if entry.names:
        _, folders = _searched(use, entry)
        searched = found_below(use, entry) if set(folders) & set(paths) else []
        # `-fprint x` writes to `x` itself.
        paths = [*searched, *[path for path in paths if path not in folders]]
    lands = next((kind for kind, flags in entry.lands.items() if not flags or not use.flags.isdisjoint(flags)), None)
    if lands is None:
        return [Write(target=path, reach=reach) for path in paths]
    operands = [use.words[at].text for at in use.operands]
    # With `-t folder` every operand is a source, otherwise all but the last.
    moved = set(operands[:-1] if set(paths) <= set(operands) else operands)
    replaces = not use.flags.isdisjoint(entry.replaces_target)
    found: list[Write] = []
    for path in paths:
        if entry.moves and (path in moved or "{" in path):
            found.append(Write(target=path, reach="tree"))
        else:
            sources = tuple([word for word in operands[:_MOST_SOURCES] if word != path])
            found.append(Write(target=path, reach=reach, lands=lands, sources=sources, replaces=replaces))
    return found


def reach_of(use: Invocation) -> Reach:
    """Return how far what the program writes reaches."""
    if "destructive" in use.categories:
        return "tree"
    reach = use.entry.reach if use.entry else {}
    return next((one for one, flags in reach.items() if not flags or not use.flags.isdisjoint(flags)), "file")


def found_below(use: Invocation, entry: Entry) -> list[str]:
    """Return what a search such as `find` finds in its folders, as globs: `x/**/*.pyc`, or `x` if it takes all there is."""
    name, folders = _searched(use, entry)
    patterns = _globs(entry.names["first"], name) if name else []
    patterns = patterns or list(_selected([word.text for word in use.words], entry.names))
    if not patterns or len(patterns) * len(folders) > _MOST_FOUND:
        return folders
    return [f"{folder.rstrip('/')}/**/{pattern}" for folder in folders for pattern in patterns]


def _searched(use: Invocation, entry: Entry) -> tuple[str, list[str]]:
    """Return the name that is searched for, if the first operand is one, and the folders that are searched."""
    # What follows `-exec` belongs to the command that the search starts.
    starts = {word for way in use.runs for word in way.between or ()}
    end = next((at for at, word in enumerate(use.words) if word.text in starts), len(use.words))
    operands = [use.words[at].text for at in use.operands if at < end]
    if "first" not in entry.names:
        return "", operands or ["."]
    return "".join(operands[:1]), operands[1:] or ["."]


def _selected(argv: Sequence[str], options: Mapping[str, str]) -> Iterator[str]:
    """Yield the names that a search selects, as globs; none if any of its alternatives selects nearly everything."""
    found: list[str] = []
    narrow = False
    for at, word in enumerate(argv):
        if word in _OR:
            if not narrow:
                return
            narrow = False
        kind = options.get(word)
        if kind is None or at + 1 >= len(argv) or argv[at - 1] in _NEGATES:
            continue
        globs = _globs(kind, argv[at + 1])
        narrow = narrow or bool(globs)
        found += globs
    if narrow:
        yield from found


def _globs(kind: str, pattern: str) -> list[str]:
    """Return a selected name as globs; none if it selects nearly everything."""
    if kind in ("regex", "part"):
        pattern = pattern.replace(".*", "*").replace("\\", "").strip("^$")
    elif kind == "extension":
        pattern = f"*.{pattern.removeprefix('.')}"
    if len(_LITERAL.sub("", pattern)) < _LEAST_LITERALS or "$" in pattern or "`" in pattern:
        return []
    glob = "/".join("**" if part == "*" else part for part in pattern.split("/") if part)
    return [glob, f"*{glob}*"] if kind == "part" else [glob]


def mounts(use: Invocation, options: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the folders that options of a container show in it to be written, each with its path there."""
    two = use.entry.takes_two if use.entry else ()
    for (option, value), at in zip(use.values, use.value_places, strict=True):
        if option not in options:
            continue
        if option in two:
            folder, path, rest = value, use.words[at + 1].text if at + 1 < len(use.words) else "", ""
        elif "=" in value and "," in value:
            keys = dict(part.partition("=")[::2] for part in value.split(","))
            folder = keys.get("source") or keys.get("src") or ""
            path = keys.get("target") or keys.get("dst") or keys.get("destination") or ""
            rest = "ro" if keys.keys() & _READ_ONLY else ""
        else:
            folder, _, rest = value.partition(":")
            path, _, rest = rest.partition(":")
        # `name:/path` is a volume, which lies in no folder of this machine.
        if folder[:1] in _FOLDERS and path[:1] == "/" and _READ_ONLY.isdisjoint(rest.split(",")):
            yield folder, path


def appended(use: Invocation, source: StdinSource | None) -> tuple[str, ...]:
    """Return the arguments that `xargs` adds, if its input stands in the line; otherwise `SOMEWHERE`."""
    if not use.flags.isdisjoint(_REPLACES):
        return ()
    fed = source.script if source is not None and use.flags.isdisjoint(_FROM_FILE) else None
    if fed is None or any(word.dynamic for word in fed):
        return (SOMEWHERE,)
    return tuple([path for word in fed for path in word.text.split() if "%" not in path])  # `%` is of a printf format
