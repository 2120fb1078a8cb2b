"""The tables of texts that hold commands: variables and configuration keys, from policies/shell/held_commands.yaml."""

import fnmatch
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import msgspec
import re2

from baton.engine.text.yaml_lines import Lines, Path, Problem, ProblemError, fit, line_of

T = TypeVar("T")

FILE = "held_commands.yaml"
"""The file of a folder of shell tables that has this format."""
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.dot_nl = True
_LITERAL_FIRST = re.compile(r"\^?([\w:/=@-]+)\(\.\*\)\Z", re.ASCII)
_SLOT = re.compile(r"\{(text|quoted|words|list|remote)\}")


class HeldText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in a program's arguments whose text holds a command, or code of another program.

    `at` is an option, whose value it is, or `operands`, or `flags` (options as they are written). `find` is a regular
    expression whose first group is the command, for each match; without it the whole text is. `runs` is the shell text
    that runs it, in which `{text}` stands for the command, `{quoted}` for it as one word, `{words}` for it split into
    words, `{list}` for it split at its commas, `{remote}` for the command of a git remote (`ext::`), where `%` escapes. With `joined` the option takes a value only after `=`.
    """

    at: str
    find: str = ""
    runs: str = "{text}"
    joined: bool = False


class _RawVariable(msgspec.Struct, forbid_unknown_fields=True):
    of: list[str] = []
    find: str = ""
    runs: str | dict[str, str] = "{text}"


class _RawKeys(msgspec.Struct, forbid_unknown_fields=True):
    options: list[str] = []
    variables: list[str] = []
    pairs: list[str] = []
    setters: list[str] = []
    keys: dict[str, str | dict[str, str]] = {}


class _RawFile(msgspec.Struct, forbid_unknown_fields=True):
    variables: dict[str, _RawVariable] = {}
    keys: dict[str, _RawKeys] = {}


class Template(msgspec.Struct, frozen=True):
    """How a held text is run, by the prefix that it starts with; the longest prefix comes first."""

    by_prefix: tuple[tuple[str, str], ...]

    def find(self, text: str) -> tuple[str, str] | None:
        """Return the shell text that runs a held text, and what is left of that behind its prefix."""
        for prefix, runs in self.by_prefix:
            if text.startswith(prefix):
                return runs, text[len(prefix) :]
        return None


class HeldVariable(msgspec.Struct, frozen=True):
    """A variable that holds a command; only the programs `of` use it, all if there are none.

    `find` is as in `HeldText`.
    """

    of: frozenset[str]
    find: str
    template: Template


class KeyTable(msgspec.Struct, frozen=True, eq=False):
    """The configuration keys of a program that hold commands, and where keys are set.

    `options` have `key=value` as their value, `variables` have `key=NAME of a variable`, `pairs` are the beginnings of
    the names of two variables that hold a key and its value. `setters` are subcommands with a key and a value.
    """

    options: frozenset[str]
    variables: frozenset[str]
    pairs: tuple[str, ...]
    setters: frozenset[str]
    exact: dict[str, Template]
    globs: tuple[tuple[re.Pattern[str], Template], ...]

    def find(self, key: str) -> Template | None:
        """Find how the value of a key is run. Keys are compared without regard to case."""
        key = key.casefold()
        found = self.exact.get(key)
        if found is None:
            return next((template for pattern, template in self.globs if pattern.match(key)), None)
        return found


class HeldCommands(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All variables and keys that hold commands."""

    variables: dict[str, HeldVariable] = {}
    globs: tuple[tuple[re.Pattern[str], HeldVariable], ...] = ()
    keys: dict[str, KeyTable] = {}

    @cached_property
    def pairs(self) -> tuple[str, ...]:
        """The beginnings of the names of all variables that hold a key or its value."""
        return tuple({prefix for table in self.keys.values() for prefix in table.pairs})

    def variable(self, name: str) -> HeldVariable | None:
        """Find a variable by its name."""
        found = self.variables.get(name)
        if found is None:
            return next((one for pattern, one in self.globs if pattern.match(name)), None)
        return found


def read(path: str, data: dict[str, Any], lines: Lines, problems: list[Problem]) -> HeldCommands:
    """Read the data of a file; add what is wrong to the problems."""
    try:
        raw = fit(path, data, lines, _RawFile, ())
    except ProblemError as error:
        problems.append(error.problem)
        return HeldCommands()

    def template(at: Path, runs: str | dict[str, str]) -> Template:
        given = {"": runs} if isinstance(runs, str) else runs
        problems.extend(
            Problem(path, line_of(lines, at), _slot_fault(text)) for text in given.values() if _slot_fault(text)
        )
        return Template(tuple(sorted(given.items(), key=lambda item: -len(item[0]))))

    variables: dict[str, HeldVariable] = {}
    for names, one in raw.variables.items():
        fault_of = fault(HeldText(at="flags", find=one.find))
        if fault_of:
            problems.append(Problem(path, line_of(lines, ("variables", names)), fault_of))
        held = HeldVariable(frozenset(one.of), one.find, template(("variables", names), one.runs))
        variables |= dict.fromkeys(names.split("|"), held)
    keys: dict[str, KeyTable] = {}
    for programs, table in raw.keys.items():
        found: dict[str, Template] = {}
        for group, runs in table.keys.items():
            found |= dict.fromkeys(group.casefold().split("|"), template(("keys", programs, "keys", group), runs))
        exact, globs = _parted(found)
        built = KeyTable(
            options=frozenset(table.options),
            variables=frozenset(table.variables),
            pairs=tuple(table.pairs),
            setters=frozenset(table.setters),
            exact=exact,
            globs=globs,
        )
        keys |= dict.fromkeys(programs.split("|"), built)
    plain, wild = _parted(variables)
    return HeldCommands(plain, wild, keys)


@lru_cache(maxsize=1_024)
def pattern(text: str) -> "re2._Regexp[str]":
    """Compile the regular expression of a `find`; RE2 takes time linear in the text.

    Raises:
        re2.error: If it is not a regular expression.
    """
    return re2.compile(text, _OPTIONS)


@lru_cache(maxsize=1_024)
def literal(text: str) -> str:
    """Return the text that every match of a `find` regular expression begins with, or "" if that is not clear.

    To look for it takes a twentieth of the time that a search with RE2 takes.
    """
    found = _LITERAL_FIRST.match(text)
    return found[1] if found else ""


def fault(held: HeldText) -> str:
    """Return what is wrong with an item of `holds`, "" for nothing."""
    if not held.at.startswith(("-", "+")) and held.at not in ("operands", "flags"):
        return f"`{held.at}` is no place of a command; allowed: an option, `operands`, `flags`"
    try:
        groups = pattern(held.find).groups if held.find else 1
    except re2.error as error:
        return f"`{held.find}` is not a regular expression: {error}"
    return _slot_fault(held.runs) if groups == 1 else f"`{held.find}` needs one group, `(…)`: the command"


def _slot_fault(text: str) -> str:
    return (
        ""
        if _SLOT.search(text)
        else f"`{text}` needs `{{text}}`, `{{quoted}}`, `{{words}}`, `{{list}}` or `{{remote}}`: the held command"
    )


def _parted(named: dict[str, T]) -> tuple[dict[str, T], tuple[tuple[re.Pattern[str], T], ...]]:
    """Part the plain names from those that are globs."""
    return {name: one for name, one in named.items() if not _is_glob(name)}, tuple(_patterns(named.items()))


def _patterns(items: Iterable[tuple[str, T]]) -> Iterable[tuple[re.Pattern[str], T]]:
    return ((re.compile(fnmatch.translate(name)), one) for name, one in items if _is_glob(name))


def _is_glob(name: str) -> bool:
    return "*" in name or "?" in name
