"""What a line must have at least for a condition to hold: cheap to look for, and enough to leave most conditions out."""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from baton.engine.policy.matching.checks.program_checks import Lists, words
from baton.engine.policy.matching.checks.shell_checks import is_about_writes
from baton.engine.policy.rules.model import ProgramMatch, Programs, ShellMatch
from baton.engine.shell.model import Category, Program, Shell
from baton.engine.text.globs import Match, any_of, is_glob, literal_parts
from baton.engine.text.urls import HINTS

LineFact = Literal["unparsed", "fork_bomb", "exports", "feeds", "writes", "assigns"]
"""What few lines have, and conditions ask for."""


class ProgramKind(msgspec.Struct, frozen=True):
    """What a condition asks of one program's name, subcommand and categories; None where it asks for nothing.

    `names` are the names that it accepts if all of these are texts, `name` accepts by globs, `barred` refuses.
    """

    names: frozenset[str] | None
    name: Match | None
    barred: Match | None
    subcommand: Match | None
    categories: frozenset[Category] | None

    def fits(self, program: Program) -> bool:
        """Return whether a program is of this kind."""
        name = program.name
        return (
            (self.names is None or name in self.names)
            and (self.name is None or self.name(name))
            and (self.categories is None or not self.categories.isdisjoint(program.categories))
            and (self.barred is None or not self.barred(name))
            and (self.subcommand is None or self.subcommand(program.subcommand))
        )


class Texts(msgspec.Struct, frozen=True):
    """Texts of which the line must have one: a whole word, or a part of a word."""

    words: frozenset[str]
    parts: tuple[str, ...]

    def are_in(self, line: "LineSummary") -> bool:
        """Return whether the line has one of them."""
        if not self.words.isdisjoint(line.words):
            return True
        for part in self.parts:  # noqa: SIM110 - this runs for every new line, a generator takes twice as long
            if part in line.text:
                return True
        return False


_URL = Texts(frozenset(), HINTS)
_A_SLASH = Texts(frozenset(), ("/",))


class LineSummary:
    """What demands are compared with: a line's programs and facts, its words, and all words as one text."""

    __slots__ = ("facts", "programs", "text", "words")

    def __init__(self, shell: Shell) -> None:
        self.programs = shell.programs
        self.facts = frozenset(_facts_of(shell))
        found: set[str] = set(shell.exports)
        for program in shell.programs:
            found.update(program.argv)
            found.update(program.flags)
        found.update([word.partition("=")[2] for word in found if "=" in word])
        self.words = found
        self.text = "\n".join(found)


class Demand(msgspec.Struct, frozen=True):
    """What a line must have for a condition: a program of one of these kinds, if there are any, each fact, and texts."""

    kinds: tuple[ProgramKind, ...] = ()
    facts: frozenset[LineFact] = frozenset()
    texts: tuple[Texts, ...] = ()

    def is_met(self, line: LineSummary) -> bool:
        """Return whether a line has what it must have beside programs."""
        if not self.facts <= line.facts:
            return False
        for texts in self.texts:  # noqa: SIM110 - as in `Texts.are_in`
            if not texts.are_in(line):
                return False
        return True


def demand(match: ShellMatch, lists: Lists) -> Demand:
    """Return what a line must have for this condition.

    Raises:
        UnknownListError: If the condition names a list that does not exist.
    """
    kinds: tuple[ProgramKind, ...] = ()
    texts: list[Texts] = []
    if not is_about_writes(match):
        kind = _kind(match, lists)
        kinds = () if kind is None else (kind,)
        texts += _program_texts(match, lists)
    if match.only is not None and not kinds:
        # All programs must fit one of these, so at least one does.
        kinds = _kinds(match.only, lists)
    if match.exports is not None:
        texts += _texts(words(match.exports, lists))
    return Demand(kinds, frozenset(_facts(match)), tuple(texts))


def _facts_of(shell: Shell) -> Iterator[LineFact]:
    if shell.unparsed:
        yield "unparsed"
    if shell.fork_bomb:
        yield "fork_bomb"
    if shell.exports:
        yield "exports"
    if shell.feeds:
        yield "feeds"
    # A program of this category without a known target writes somewhere, too: `Context.writes`.
    if shell.writes or "file-write" in shell.categories:
        yield "writes"
    for program in shell.programs:
        if program.assigns:
            yield "assigns"
            break


def _facts(match: ShellMatch) -> Iterator[LineFact]:
    asked: dict[LineFact, bool] = {
        "unparsed": match.unparsed is True,
        "fork_bomb": match.fork_bomb is True,
        "exports": match.exports is not None,
        "feeds": match.feeds is not None,
        "assigns": match.assigns is not None,
        "writes": match.writes_to is not None or match.writes_all_of is not None,
    }
    yield from (fact for fact, is_asked in asked.items() if is_asked)


def _kinds(programs: Programs, lists: Lists) -> tuple[ProgramKind, ...]:
    """Return the kinds of alternatives; none if one of them accepts any program."""
    found: list[ProgramKind | None] = []
    for item in [programs] if isinstance(programs, ProgramMatch) else programs:
        matches = [item] if isinstance(item, ProgramMatch) else lists.get(item.removeprefix("$"), [])
        found += [_kind(match, lists) for match in matches if isinstance(match, ProgramMatch)]
    known = tuple(kind for kind in found if kind is not None)
    return known if len(known) == len(found) else ()


def _kind(match: ProgramMatch, lists: Lists) -> ProgramKind | None:
    names: frozenset[str] | None = None
    name: Match | None = None
    if match.program is not None:
        wanted = words(match.program, lists)
        if any(map(is_glob, wanted)):
            name = any_of(wanted)
        else:
            names = frozenset(wanted)
    barred = None if match.program_none is None else any_of(words(match.program_none, lists))
    subcommand = None if match.subcommand is None else any_of(words(match.subcommand, lists))
    categories: frozenset[Category] | None = None
    if match.category is not None:
        categories = frozenset([match.category] if isinstance(match.category, str) else match.category)
    if (names, name, barred, subcommand, categories) == (None, None, None, None, None):
        return None
    return ProgramKind(names, name, barred, subcommand, categories)


def _program_texts(match: ProgramMatch, lists: Lists) -> Iterator[Texts]:
    for asked in (match.flags, match.operands, match.arguments):
        if asked is not None:
            yield from _texts(words(asked, lists))
    for one in match.flags_all or ():
        yield from _texts(words(one, lists))
    if match.urls is not None:
        yield _A_SLASH
        yield _URL
    if match.args is not None:
        # The first word may be the program's name where the line has a path to it.
        starts = [line.split()[1:] for line in words(match.args, lists)]
        if all(starts):
            yield from _texts(max(start, key=_longest_part) for start in starts)


def _texts(globs: Iterable[str]) -> Iterator[Texts]:
    """Yield what every text has that one of these globs matches; nothing if one of them matches without any."""
    whole: set[str] = set()
    parts: set[str] = set()
    for glob in globs:
        if not is_glob(glob):
            whole.add(glob)
        elif part := max(literal_parts(glob), key=len):
            parts.add(part)
        else:
            return
    yield Texts(frozenset(whole), tuple(sorted(parts)))


def _longest_part(glob: str) -> int:
    return max(map(len, literal_parts(glob)))
