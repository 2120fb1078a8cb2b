"""Find what a program writes, and how far: a file, something in a folder, or a whole tree, by the shell tables."""

import re
from collections.abc import Iterator, Mapping, Sequence

from baton.engine.shell.expansion.scripts import StdinSource
from baton.engine.shell.model import SOMEWHERE, Reach, Write
from baton.engine.shell.tables import classify
from baton.engine.shell.tables.classify import Invocation
from baton.engine.shell.tables.tables import Entry

_NEGATES = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or", ","})
_REPLACES = frozenset(["-I", "-J", "-i", "--replace"])
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
        paths = found_below(paths, use, entry)
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


def found_below(folders: list[str], use: Invocation, entry: Entry) -> list[str]:
    """Return what a search such as `find` finds in folders, as globs: `x/**/*.pyc`, or `x` if it takes all there is."""
    patterns = list(_selected([word.text for word in use.words], entry.names))
    if not patterns or len(patterns) * len(folders) > _MOST_FOUND:
        return folders
    return [f"{folder.rstrip('/')}/**/{pattern}" for folder in folders for pattern in patterns]


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
        pattern = argv[at + 1]
        if kind == "regex":
            pattern = pattern.replace(".*", "*").replace("\\", "")
        if len(_LITERAL.sub("", pattern)) >= _LEAST_LITERALS and "$" not in pattern and "`" not in pattern:
            narrow = True
            found.append("/".join("**" if part == "*" else part for part in pattern.split("/") if part))
    if narrow:
        yield from found


def appended(use: Invocation, source: StdinSource | None) -> tuple[str, ...]:
    """Return the arguments that `xargs` adds, if its input stands in the line; otherwise `SOMEWHERE`."""
    if not use.flags.isdisjoint(_REPLACES):
        return ()
    fed = source.script if source is not None and use.flags.isdisjoint(_FROM_FILE) else None
    if fed is None or any(word.dynamic for word in fed):
        return (SOMEWHERE,)
    return tuple([path for word in fed for path in word.text.split() if "%" not in path])  # `%` is of a printf format
