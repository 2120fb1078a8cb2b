"""Compile conditions on one program of a shell line."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import re2

from baton.lib.bash.model import Program, Shell
from baton.lib.text.globs import any_of, any_path, is_glob
from baton.lib.text.urls import urls
from baton.rules.call.places.places import Place, spellings
from baton.rules.policy.matching.context import Context
from baton.rules.policy.rules.model import ProgramMatch, Programs

# Find the branches overwritten or deleted by a program on a remote: forced pushes, deletions, and the forges' API.

_PUSHES = frozenset({"push", "send-pack", "http-push", "subtree push"})
_FORCE = frozenset({"-f", "--force", "--force-with-lease"})
_DRY = frozenset({"-n", "--dry-run"})
_DELETE = frozenset({"-d", "--delete"})
_ALL = frozenset({"--all", "--branches"})
_OTHERS = {
    "hg": ({"push"}, {"-f", "--force"}, {"-B", "--bookmark", "-b", "--branch"}),
    "sapling": ({"push"}, {"-f", "--force", "--delete"}, {"--to", "--delete"}),
    "jj": ({"git push"}, {"--deleted"}, set[str]()),
    "gt": ({"submit", "s", "ss"}, {"-f", "--force"}, set[str]()),
    "git-spice": ({"branch submit", "stack submit", "upstack submit", "downstack submit"}, {"--force"}, set[str]()),
}  # other pushing tools: their subcommands, their options for overwriting or deleting, and those naming a branch
_CURRENT = frozenset({"HEAD", "@", "head"})
_REFS = re.compile(
    r"(?:.*/)?git/refs?/heads/(?P<ref>[^?#]+)|(?:.*/)?repository/branches/(?P<branch>[^?#/]+)", re.DOTALL
)
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\(.*\)|\$\w+|\$.|`[^`]*`", re.DOTALL)
_FILLED = re.compile(r"[^$`]*(?:\$(?:\w+|\{\w+\})[^$`]*)*\Z")  # a word whose expansions are variables alone
_NO_PLUS = re.compile(r"\$(?:\w|\{[^}+]*\}|\(git (?:branch|describe|rev-parse|symbolic-ref)\b[^+;&|`$]*\))")
"""An expansion pushed by scripts every day (`git push origin "$TAG"`), without a visible `+`."""
_WRITES = frozenset({"DELETE", "PATCH", "POST", "PUT"})


def overwritten(program: Program) -> Iterator[str]:
    r"""Yield the names, or globs over names, of the branches overwritten or deleted by a program on a remote.

    An expansion is `*` between two NUL characters: the branch is unknown. `\0*\0` alone is the checked-out branch, or
    any.
    """
    if program.name in {"git", "hub"} and program.subcommand in _PUSHES:
        yield from _pushed(program)
    elif program.name in _OTHERS:
        yield from _pushed_by_another(program)
    elif program.subcommand == "api" or program.name in {"curl", "http", "xh"}:
        yield from _by_api(program)


def compile_overwrites(patterns: list[str], *, named: bool) -> Callable[[Program], bool]:
    """Compile whether a program overwrites one of these branches, or with `named` False, whether it may."""
    holds = any_of(patterns)

    def overwrites(program: Program) -> bool:
        # A command whose variables are known is listed below with their values; `${x:-y}` may have another one.
        if not named and program.wraps and all(map(_FILLED.match, program.operands)):
            return False
        return any(
            ("\0" not in branch) is named and _meet(branch.replace("\0", ""), patterns, holds)
            for branch in overwritten(program)
        )

    return overwrites


def _meet(branch: str, patterns: list[str], holds: Callable[[str], bool]) -> bool:
    """Return whether a branch, or any covered by its glob, can be one of the patterns'."""
    if not is_glob(branch):
        return holds(branch)
    covers = any_of([branch])
    return any(covers(one) if not is_glob(one) else _overlap(branch, one) for one in patterns)


def _overlap(left: str, right: str) -> bool:
    """Return whether two globs can cover the same name, by their literal prefixes."""
    one, other = (re.split(r"[*?\[]", text, maxsplit=1)[0] for text in (left, right))
    return one.startswith(other) or other.startswith(one)


def _pushed(program: Program) -> Iterator[str]:
    flags = program.flags
    if flags & _DRY:
        return
    forced = bool(flags & _FORCE) or any(flag.startswith("--force-with-lease=") for flag in flags)
    deletes = bool(flags & _DELETE)
    first = 0 if "--repo" in flags else 1  # the remote precedes the refspecs
    specs = [one for operand in program.operands[first:] for one in spellings(operand)]
    if "--mirror" in flags or (forced and flags & _ALL):
        yield "*"
    elif "--prune" in flags or (forced and not specs and "--tags" not in flags):
        yield "\0*\0"
    for spec in specs:
        branch = _overwritten_by(spec, forced=forced, deletes=deletes)
        if branch:
            yield branch


def _pushed_by_another(program: Program) -> Iterator[str]:
    subcommands, force, names = _OTHERS[program.name]
    if program.subcommand not in subcommands or program.flags & _DRY or not program.flags & force:
        return
    words = [part for word in program.argv for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    named = [branch.rpartition("/")[2] for option, branch in pairwise(words) if option in names]
    # Mercurial's main branch is called `default`.
    yield from ("\0*\0" if branch == "default" else _EXPANSION.sub("\0*\0", branch) for branch in named or ["default"])


def _overwritten_by(spec: str, *, forced: bool, deletes: bool) -> str:
    text = _EXPANSION.sub("\0*\0", spec)
    # Of `$(…)` not even a leading `+` is known.
    forced = forced or text.startswith("+") or (text.startswith("\0") and not _NO_PLUS.match(spec))
    source, colon, target = text.removeprefix("+").partition(":")
    if not (forced or deletes or (colon and not source and target)):
        return ""
    if not target:
        if colon and not source:  # `:` pushes all matching branches of the remote
            return "*"
        target = source
    if target in _CURRENT:
        return "\0*\0"
    if target.startswith(("refs/tags/", "tags/", "refs/notes/")):
        return ""
    return target.removeprefix("refs/").removeprefix("heads/")


def _by_api(program: Program) -> Iterator[str]:
    words = program.argv[1:]
    method = ""
    for index, word in enumerate(words):
        if word in {"-X", "--method", "--request"} and index + 1 < len(words):
            method = words[index + 1].upper()
        elif word.startswith(("-X", "--method=", "--request=")):
            method = re.sub(r"^(?:-X|--method=|--request=)", "", word).upper()
        elif word.upper() in _WRITES:
            method = word.upper()
    if method not in _WRITES:
        return
    # Moving a ref is forced only if the body says so; external data may.
    forced = method == "DELETE" or any(
        "force" in word or "$" in word or word in {"--input", "-d", "--data", "-T"} for word in words
    )
    for word in words if forced else ():
        found = _REFS.match(word)
        if found:
            name = found["ref"] or found["branch"]
            yield _EXPANSION.sub("\0*\0", name.replace("%2F", "/").replace("%2f", "/").rstrip("/"))


Test = Callable[[Context, Shell, int], bool]
OneTest = Callable[[Program], bool]
_LONGEST_PATTERN = 500
_PATTERN = re2.Options()
_PATTERN.log_errors = False

Lists = dict[str, list[str | ProgramMatch]]


class ProgramTest:
    """A compiled `ProgramMatch`: named tests, cheapest first."""

    def __init__(self, match: ProgramMatch, lists: Lists) -> None:
        self._alone = list(_tests_alone(match, lists))
        self._in_line = list(_tests_in_line(match, lists))
        names = None if match.program is None else words(match.program, lists)
        self.names = None if names is None or any(map(is_glob, names)) else frozenset(names)
        """The only possible names of the program; None for names with wildcards, or any."""

    def holds(self, context: Context, shell: Shell, index: int) -> bool:
        """Return whether the program at this index passes all tests."""
        program = shell.programs[index]
        for _, test in self._alone:
            if not test(program):
                return False
        for _, test_in_line in self._in_line:  # noqa: SIM110 - runs for every program of every new line
            if not test_in_line(context, shell, index):
                return False
        return True

    def nearest(self, context: Context, shell: Shell) -> tuple[int, int, str]:
        """Return the program with the most passed tests: its index, their number, and its failed test."""
        return max(
            (self._progress(context, shell, at) for at in range(len(shell.programs))), key=lambda found: found[1]
        )

    def _progress(self, context: Context, shell: Shell, index: int) -> tuple[int, int, str]:
        program = shell.programs[index]
        for held, (name, test) in enumerate(self._alone):
            if not test(program):
                return index, held, name
        for held, (name, test_in_line) in enumerate(self._in_line, len(self._alone)):
            if not test_in_line(context, shell, index):
                return index, held, name
        return index, len(self._alone) + len(self._in_line), ""


def words(value: str | Sequence[str], lists: Lists) -> list[str]:
    """Return the texts, with each `$name` replaced by the list of that name. Raise UnknownListError."""
    out: list[str] = []
    for item in [value] if isinstance(value, str) else value:
        if item.startswith("$") and item[1:] in lists:
            out += [text for text in lists[item[1:]] if isinstance(text, str)]
        elif item.startswith("$") and item[1:].isidentifier() and item[1:].islower():
            raise UnknownListError(item[1:])
        else:
            out.append(item)
    return out


class UnknownListError(ValueError):
    """A `$name` without a list of that name in config.yaml."""


class AnyProgram:
    """Alternatives for one program, indexed by name if possible: a list may have dozens of them."""

    def __init__(self, tests: Iterable[ProgramTest] = ()) -> None:
        self._by_name: dict[str, list[ProgramTest]] = {}
        self._others: list[ProgramTest] = []
        for test in tests:
            if not test.names:
                self._others.append(test)
            for name in test.names or ():
                self._by_name.setdefault(name, []).append(test)

    def __bool__(self) -> bool:
        return bool(self._by_name or self._others)

    def holds(self, context: Context, shell: Shell, index: int) -> bool:
        """Return whether one of the alternatives holds for the program at this index."""
        for test in self._by_name.get(shell.programs[index].name, ()):
            if test.holds(context, shell, index):
                return True
        for test in self._others:  # noqa: SIM110 - runs for every program of every new line
            if test.holds(context, shell, index):
                return True
        return False


def any_program(value: Programs, lists: Lists) -> AnyProgram:
    """Compile one program condition, or a list of alternatives. Raise UnknownListError."""
    out: list[ProgramTest] = []
    for item in [value] if isinstance(value, ProgramMatch) else value:
        if isinstance(item, ProgramMatch):
            out.append(ProgramTest(item, lists))
        elif item.startswith("$") and item[1:] in lists:
            out += [ProgramTest(match, lists) for match in lists[item[1:]] if isinstance(match, ProgramMatch)]
        else:
            raise UnknownListError(item.removeprefix("$"))
    return AnyProgram(out)


def _tests_alone(match: ProgramMatch, lists: Lists) -> Iterable[tuple[str, OneTest]]:
    # Words are compiled once per rule. The tests run for every program of every line, so they only compare.
    for key, compiled in _PROGRAM_TESTS.items():
        if (value := getattr(match, key)) is not None:
            yield key, compiled(words(value, lists) if isinstance(value, str | list) else value)


def _tests_in_line(match: ProgramMatch, lists: Lists) -> Iterable[tuple[str, Test]]:
    if match.writes_to is not None:
        yield "writes_to", _writes(place_set(match.writes_to))
    if match.writes_all_of is not None:
        yield "writes_all_of", _writes(place_set(match.writes_all_of), whole=True)
    if match.not_after is not None:
        earlier = any_program(match.not_after, lists)
        yield "not_after", lambda c, s, i: not any(earlier.holds(c, s, at) for at in range(i))
    if match.names_server is not None:
        yield "names_server", lambda c, s, i: c.names_server(s.programs[i])
    if match.arguments_in is not None:
        places = place_set(match.arguments_in)
        yield "arguments_in", lambda c, s, i: not places.isdisjoint(c.argument_places(s.programs[i]))


@lru_cache(maxsize=256)
def finds(pattern: str, texts: tuple[str, ...]) -> bool:
    """Return whether a pattern of `pkill` matches one of the texts; an unreadable pattern counts."""
    if len(pattern) > _LONGEST_PATTERN:
        return True
    try:
        found = re2.compile(pattern, _PATTERN).search
    except re2.error:
        return any(pattern in text for text in texts)
    return any(found(text) for text in texts)


def values(program: Program) -> Iterator[str]:
    """Yield the arguments of a program, and also the value of each `key=value`."""
    for word in program.argv[1:]:
        yield word
        _, equals, value = word.partition("=")
        if equals:
            yield value


def _said(program: Program) -> list[str]:
    """Return the arguments without options and their values."""
    return [*program.subcommand.split(), *program.operands]


def _subcommand(wanted: Iterable[str]) -> Callable[[Program], bool]:
    """Compile subcommands. A table may list only the first of several words, or none."""
    fits = any_of(wanted)
    sizes = {len(text.split()) for text in wanted}

    def test(program: Program) -> bool:
        if fits(program.subcommand):
            return True
        said, listed = _said(program), len(program.subcommand.split())
        return any(listed < size <= len(said) and fits(" ".join(said[:size])) for size in sizes)

    return test


def _words(said: Callable[[Program], Iterable[str]], matcher: Any = any_of, *, found: bool = True) -> Any:
    def compiled(wanted: list[str]) -> OneTest:
        fits = matcher(wanted)
        return lambda program: any(map(fits, said(program))) is found

    return compiled


def _name(*, found: bool) -> Callable[[list[str]], OneTest]:
    def compiled(wanted: list[str]) -> OneTest:
        fits = any_of(wanted)
        return lambda program: fits(program.name) is found

    return compiled


def _args(wanted: list[str]) -> OneTest:
    starts = [[any_of([word]) for word in line.split()] for line in wanted]

    def begins(start: list[Callable[[str], bool]], words: Sequence[str]) -> bool:
        return len(words) >= len(start) and all(fits(word) for fits, word in zip(start, words, strict=False))

    return lambda program: any(
        begins(start, words)
        for start in starts
        for words in (program.argv, (program.name, *program.argv[1:]), (program.name, *_said(program)))
    )


def _flags_all(wanted: list[str]) -> OneTest:
    every = [any_of([flag]) for flag in wanted]
    return lambda program: all(any(map(fits, program.flags)) for fits in every)


_PROGRAM_TESTS: dict[str, Callable[[Any], OneTest]] = {
    "program": _name(found=True),
    "category": _words(lambda p: p.categories),
    "program_none": _name(found=False),
    "subcommand": _subcommand,
    "flags": _words(lambda p: p.flags),
    "flags_all": _flags_all,
    "flags_none": _words(lambda p: p.flags, found=False),
    "max_operands": lambda most: lambda p: len(p.operands) <= most,
    "min_operands": lambda least: lambda p: len(p.operands) >= least,
    "input": lambda wanted: lambda p: p.input in wanted,
    "operands": _words(lambda p: p.operands),
    "args": _args,
    "arguments": _words(values),
    "urls": _words(lambda p: chain.from_iterable(map(urls, p.argv[1:])), any_path),
    "assigns": _words(lambda p: p.assigns),
    "overwrites_branch": lambda branches: compile_overwrites(branches, named=True),
    "may_overwrite_branch": lambda branches: compile_overwrites(branches, named=False),
    "unnamed": lambda _: lambda p: p.unnamed,
    "reads_files": lambda _: lambda p: p.reads_files,
    "matching": lambda texts: lambda p: any(finds(operand, tuple(texts)) for operand in p.operands),
}
"""Conditions on one program alone, cheapest first."""


def _writes(places: frozenset[Place], *, whole: bool = False) -> Test:
    def test(context: Context, _shell: Shell, index: int) -> bool:
        for write in context.writes_by(index):
            found = context.whole_places(write) if whole else context.write_places(write)
            if not places.isdisjoint(found):
                context.found["target"] = write.target
                return True
        return False

    return test


def place_set(value: str | list[str]) -> frozenset[Place]:
    """Return one place or a list of places as a set."""
    return frozenset([value] if isinstance(value, str) else value)
