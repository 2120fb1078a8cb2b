"""Compile what a condition asks of one program of a shell line."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

import re2

from baton.engine.call.places.places import Place
from baton.engine.policy.matching.checks import branch_overwrites
from baton.engine.policy.matching.context import Context
from baton.engine.policy.rules.model import ProgramMatch, Programs
from baton.engine.shell.model import Program, Shell
from baton.engine.text.globs import any_of, any_path, is_glob
from baton.engine.text.urls import urls

Test = Callable[[Context, Shell, int], bool]
_LONGEST_PATTERN = 500
_PATTERN = re2.Options()
_PATTERN.log_errors = False

Lists = dict[str, list[str | ProgramMatch]]


class ProgramTest:
    """A compiled `ProgramMatch`: named tests, cheapest first."""

    def __init__(self, match: ProgramMatch, lists: Lists) -> None:
        self.tests: list[tuple[str, Test]] = list(_tests(match, lists))
        names = None if match.program is None else words(match.program, lists)
        self.names = None if names is None or any(map(is_glob, names)) else frozenset(names)
        """The only names that the program may have; None for names with wildcards, or any."""

    def holds(self, context: Context, shell: Shell, index: int) -> bool:
        """Return whether the program at this index passes all tests."""
        for _, test in self.tests:  # noqa: SIM110 - runs for every program of every new line
            if not test(context, shell, index):
                return False
        return True

    def nearest(self, context: Context, shell: Shell) -> tuple[int, int, str]:
        """Return the program that passes the most tests in their order: its index, how many, and which one it fails."""
        return max(
            (self._progress(context, shell, at) for at in range(len(shell.programs))), key=lambda found: found[1]
        )

    def _progress(self, context: Context, shell: Shell, index: int) -> tuple[int, int, str]:
        for held, (name, test) in enumerate(self.tests):
            if not test(context, shell, index):
                return index, held, name
        return index, len(self.tests), ""


def words(value: str | Sequence[str], lists: Lists) -> list[str]:
    """Return the texts, with each `$name` replaced by the list of that name.

    Raises:
        UnknownListError: If there is no list of that name.
    """
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
    """Alternatives for one program. Most ask for a name, by which they are found: a list may have dozens of them."""

    def __init__(self, tests: Iterable[ProgramTest] = ()) -> None:
        self._by_name: dict[str, list[ProgramTest]] = {}
        self._others: list[ProgramTest] = []
        for test in tests:
            if not test.names:
                self._others.append(test)
            for name in test.names or ():
                self._by_name.setdefault(name, []).append(test)

    def __bool__(self) -> bool:
        """Whether there is any alternative."""
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
    """Compile one program condition, or a list of alternatives.

    Raises:
        UnknownListError: If there is no list of a name that is used.
    """
    out: list[ProgramTest] = []
    for item in [value] if isinstance(value, ProgramMatch) else value:
        if isinstance(item, ProgramMatch):
            out.append(ProgramTest(item, lists))
        elif item.startswith("$") and item[1:] in lists:
            out += [ProgramTest(match, lists) for match in lists[item[1:]] if isinstance(match, ProgramMatch)]
        else:
            raise UnknownListError(item.removeprefix("$"))
    return AnyProgram(out)


def _tests(match: ProgramMatch, lists: Lists) -> Iterable[tuple[str, Test]]:  # noqa: C901, PLR0912, PLR0915 - one branch for each key
    # Every branch compiles its words here, once per rule; the functions that it yields run for every program of
    # every line, so they only compare. The names bind per branch, because a lambda keeps the variable, not the value.
    if match.program is not None:
        name = any_of(words(match.program, lists))
        yield "program", lambda _c, s, i: name(s.programs[i].name)
    if match.category is not None:
        wanted = frozenset([match.category] if isinstance(match.category, str) else match.category)
        yield "category", lambda _c, s, i: not wanted.isdisjoint(s.programs[i].categories)
    if match.program_none is not None:
        other = any_of(words(match.program_none, lists))
        yield "program_none", lambda _c, s, i: not other(s.programs[i].name)
    if match.subcommand is not None:
        sub = any_of(words(match.subcommand, lists))
        yield "subcommand", lambda _c, s, i: sub(s.programs[i].subcommand)
    if match.flags is not None:
        flag = any_of(words(match.flags, lists))
        yield "flags", lambda _c, s, i: any(map(flag, s.programs[i].flags))
    if match.flags_all is not None:
        every = [any_of(words(item, lists)) for item in match.flags_all]
        yield "flags_all", lambda _c, s, i: all(any(map(f, s.programs[i].flags)) for f in every)
    if match.flags_none is not None:
        barred = any_of(words(match.flags_none, lists))
        yield "flags_none", lambda _c, s, i: not any(map(barred, s.programs[i].flags))
    if match.max_operands is not None:
        most = match.max_operands
        yield "max_operands", lambda _c, s, i: len(s.programs[i].operands) <= most
    if match.min_operands is not None:
        least = match.min_operands
        yield "min_operands", lambda _c, s, i: len(s.programs[i].operands) >= least
    if match.input is not None:
        inputs = frozenset([match.input] if isinstance(match.input, str) else match.input)
        yield "input", lambda _c, s, i: s.programs[i].input in inputs
    if match.operands is not None:
        operand = any_of(words(match.operands, lists))
        yield "operands", lambda _c, s, i: any(map(operand, s.programs[i].operands))
    if match.args is not None:
        starts = [tuple(any_of([word]) for word in line.split()) for line in words(match.args, lists)]
        yield "args", lambda _c, s, i: any(_starts(s.programs[i], start) for start in starts)
    if match.arguments is not None:
        argument = any_of(words(match.arguments, lists))
        yield "arguments", lambda _c, s, i: any(map(argument, values(s.programs[i])))
    if match.urls is not None:
        url = any_path(words(match.urls, lists))
        yield "urls", lambda _c, s, i: any(map(url, chain.from_iterable(map(urls, s.programs[i].argv[1:]))))
    if match.assigns is not None:
        assign = any_of(words(match.assigns, lists))
        yield "assigns", lambda _c, s, i: any(map(assign, s.programs[i].assigns))
    if match.overwrites_branch is not None:
        overwrites = branch_overwrites.test(words(match.overwrites_branch, lists), named=True)
        yield "overwrites_branch", lambda _c, s, i: overwrites(s.programs[i])
    if match.may_overwrite_branch is not None:
        may = branch_overwrites.test(words(match.may_overwrite_branch, lists), named=False)
        yield "may_overwrite_branch", lambda _c, s, i: may(s.programs[i])
    if match.writes_to is not None:
        yield "writes_to", _writes(place_set(match.writes_to))
    if match.writes_all_of is not None:
        yield "writes_all_of", _writes(place_set(match.writes_all_of), whole=True)
    if match.unnamed is not None:
        yield "unnamed", lambda _c, s, i: s.programs[i].unnamed
    if match.reads_files is not None:
        yield "reads_files", lambda _c, s, i: s.programs[i].reads_files
    if match.matching is not None:
        texts = tuple(words(match.matching, lists))
        yield "matching", lambda _c, s, i: any(finds(operand, texts) for operand in s.programs[i].operands)
    if match.names_server is not None:
        yield "names_server", lambda c, s, i: c.names_server(s.programs[i])
    if match.arguments_in is not None:
        places = place_set(match.arguments_in)
        yield "arguments_in", lambda c, s, i: not places.isdisjoint(c.argument_places(s.programs[i]))


@lru_cache(maxsize=256)
def finds(pattern: str, texts: tuple[str, ...]) -> bool:
    """Return whether a pattern, as `pkill` reads it, is found in one of the texts; one that cannot be read counts."""
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


def _starts(program: Program, start: tuple[Callable[[str], bool], ...]) -> bool:
    argv = program.argv
    if len(argv) < len(start) or not start:
        return False
    first = start[0](argv[0]) or start[0](program.name)
    return first and all(test(word) for test, word in zip(start[1:], argv[1:], strict=False))


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
