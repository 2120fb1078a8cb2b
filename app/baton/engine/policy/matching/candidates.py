"""Finds the rules that can match a call by what its shell line has, so that a new line costs no look at every rule."""

from collections.abc import Iterator
from typing import Literal

from baton.engine.policy.matching.conditions import CompiledCondition
from baton.engine.policy.matching.demands import LineFact, LineSummary, ProgramKind
from baton.engine.policy.matching.rule import RuleCandidate
from baton.engine.shell.model import Category, Program, Shell

_CACHED_PROGRAMS = 4_096
_LONGEST_NAME = 256
_NONE = frozenset[int]()
_Key = Literal["no line", "any line", "unread"] | LineFact


class Candidates:
    """The rules that can match calls of a tool at a level, ordered by id.

    The conditions of all rules are numbered in one order. One that asks for a program is found by the name or the
    categories of the line's programs, another by a fact of the line; one that asks for none of these by every line.
    """

    def __init__(self, rules: tuple[RuleCandidate, ...]) -> None:
        self.rules = rules
        # The exceptions of a rule come right after its conditions. Those that ask for no program are looked at where
        # one of the conditions is reached.
        self._numbered: list[tuple[int, CompiledCondition, bool]] = []
        self._other_exceptions: list[tuple[CompiledCondition, ...]] = []
        for at, candidate in enumerate(rules):
            found = [one for one in candidate.unless if one.line is not None and one.line.kinds]
            self._numbered += [(at, one, False) for one in candidate.given] + [(at, one, True) for one in found]
            self._other_exceptions.append(tuple([one for one in candidate.unless if one not in found]))
        self._by_key: dict[_Key, set[int]] = {}
        self._kinds = _Kinds()
        for number, (_, condition, _) in enumerate(self._numbered):
            if condition.line is not None:
                for kind in condition.line.kinds:
                    self._kinds.add(number, kind)
            for key in _keys(condition):
                self._by_key.setdefault(key, set()).add(number)

    def reached(self, shell: Shell | None, *, guesses: bool = False, unread: bool = False) -> Iterator[RuleCandidate]:
        """Yield the rules that a call may concern, each with those of its conditions that can hold for it.

        Args:
            shell: The call's line, None for a call without one.
            guesses: Whether the line has guesses.
            unread: Whether the input can have more than is looked at.
        """
        by_key = self._by_key
        numbers: set[int] = set(by_key.get("no line" if shell is None else "any line", _NONE))
        if unread:
            numbers |= by_key.get("unread", _NONE)
        line = None if shell is None else LineSummary(shell)
        if line is not None:
            for fact in line.facts:
                numbers |= by_key.get(fact, _NONE)
            numbers.update(*map(self._kinds.of, line.programs))
        found: dict[int, tuple[list[CompiledCondition], list[CompiledCondition]]] = {}
        for number in sorted(numbers):
            at, condition, is_exception = self._numbered[number]
            if _is_met(condition, line):
                found.setdefault(at, ([], []))[is_exception].append(condition)
        for at, (given, unless) in found.items():
            if given:
                unless += [one for one in self._other_exceptions[at] if _is_met(one, line)]
                yield RuleCandidate(self.rules[at].rule, tuple(given), tuple(unless), guesses)


def _is_met(condition: CompiledCondition, line: LineSummary | None) -> bool:
    """Return whether a line has what a condition asks of it beside programs; `line` is None for a call without one."""
    demand = condition.line
    return demand is None or (line is not None and demand.is_met(line))


class _Kinds:
    """Conditions by the kinds of programs that they ask for."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[tuple[int, ProgramKind]]] = {}
        self._by_category: dict[Category, list[tuple[int, ProgramKind]]] = {}
        self._others: list[tuple[int, ProgramKind]] = []
        self._known: dict[tuple[str, str, tuple[Category, ...]], frozenset[int]] = {}

    def add(self, number: int, kind: ProgramKind) -> None:
        """Add a condition."""
        if kind.names is not None:
            for name in kind.names:
                self._by_name.setdefault(name, []).append((number, kind))
        elif kind.name is None and kind.categories is not None:
            for category in kind.categories:
                self._by_category.setdefault(category, []).append((number, kind))
        else:
            self._others.append((number, kind))

    def of(self, program: Program) -> frozenset[int]:
        """Return the conditions that ask for a program like this one."""
        key = (program.name, program.subcommand, program.categories)
        found = self._known.get(key)
        if found is None:
            asking = [*self._by_name.get(program.name, ()), *self._others]
            for category in program.categories:
                asking += self._by_category.get(category, ())
            found = frozenset(number for number, kind in asking if kind.fits(program))
            # Names come from lines: without limits, invented ones would fill the memory.
            if len(self._known) < _CACHED_PROGRAMS and len(program.name) + len(program.subcommand) <= _LONGEST_NAME:
                self._known[key] = found
        return found


def _keys(condition: CompiledCondition) -> Iterator[_Key]:
    """Yield what must be there for a condition to hold, if it asks for no program."""
    line = condition.line
    if condition.asks_unread:
        yield "unread"
    elif line is None:
        yield "no line"
        yield "any line"
    elif not line.kinds:
        yield min(line.facts, default="any line")
