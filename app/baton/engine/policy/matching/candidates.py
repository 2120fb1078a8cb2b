"""Finds the rules that can match a call by what its shell line has, so that a new line costs no look at every rule."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Literal

from baton.engine.policy.matching.conditions import CompiledCondition, LineFact
from baton.engine.policy.matching.rule import RuleCandidate
from baton.engine.shell.model import Category, Shell

_CACHED_NAMES = 4_096
_LONGEST_NAME = 256
_NONE = frozenset[int]()
_assigns = attrgetter("assigns")
_Key = Literal["no line", "any line", "program"] | LineFact | Category


class Candidates:
    """The rules that can match calls of a tool at a level, ordered by id.

    The conditions of all rules are numbered in one order, and found by the name of a program that they ask for, by
    another fact of the line, or by a category. One that asks for none of these is found by every line.
    """

    def __init__(self, rules: tuple[RuleCandidate, ...]) -> None:
        self.rules = rules
        self._numbered = [(at, one) for at, candidate in enumerate(rules) for one in candidate.given]
        self._by_key: dict[_Key, frozenset[int]] = {}
        for number, (_, condition) in enumerate(self._numbered):
            for key in _keys(condition):
                self._by_key[key] = self._by_key.get(key, _NONE) | {number}
        self._by_name: dict[str, frozenset[int]] = {}

    def reached(
        self, shell: Shell | None, programs: frozenset[str], *, guesses: bool = False
    ) -> Iterator[RuleCandidate]:
        """Yield the rules that a line may concern, each with those of its conditions that can hold for the line.

        Args:
            shell: The line, None for a call without one.
            programs: The names of the programs that the line runs.
            guesses: Whether the line has guesses, so that every category may be among them.
        """
        if shell is None:
            numbers: set[int] | frozenset[int] = self._by_key.get("no line", _NONE)
        else:
            numbers = set(self._by_key.get("any line", _NONE))
            numbers.update(*map(self._named, programs))
            numbers.update(
                *[self._by_key.get(key, _NONE) for key in (*_categories(shell, guesses=guesses), *_facts(shell))]
            )
        found = [self._numbered[number] for number in sorted(numbers)]
        for at, conditions in groupby(found, key=itemgetter(0)):
            rule = self.rules[at]
            yield RuleCandidate(rule.rule, tuple([one for _, one in conditions]), rule.unless, guesses)

    def _named(self, name: str) -> frozenset[int]:
        """Return the conditions that ask for a program of this name."""
        found = self._by_name.get(name)
        if found is None:
            asking = [(number, self._numbered[number][1].program) for number in self._by_key.get("program", _NONE)]
            found = frozenset(number for number, asks in asking if asks is not None and asks(name))
            # Names come from lines: without limits, invented ones would fill the memory.
            if len(self._by_name) < _CACHED_NAMES and len(name) <= _LONGEST_NAME:
                self._by_name[name] = found
        return found


def _keys(condition: CompiledCondition) -> Iterator[_Key]:
    """Yield what must be there for a condition to hold; any one of it is enough to look at the condition."""
    if not condition.needs_shell:
        yield "no line"
        yield "any line"
    elif condition.program is not None:
        yield "program"
    elif condition.fact is not None:
        yield condition.fact
    elif condition.categories is not None:
        yield from condition.categories
    else:
        yield "any line"


def _categories(shell: Shell, *, guesses: bool) -> Iterable[Category]:
    return {name for one in shell.programs for name in one.categories} if guesses else shell.categories


def _facts(shell: Shell) -> Iterator[LineFact]:
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
    if any(map(_assigns, shell.programs)):
        yield "assigns"
