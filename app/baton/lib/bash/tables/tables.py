"""The shell tables: the kind, writes and commands of programs, built from policies/shell/*.yaml.

The `Raw…` types and `Way` are the file format; `classify` and `unwrap` use `Entry` and `Clause`.
"""

import fnmatch
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar, get_args

import msgspec
import re2

from baton.lib.bash.model import Category, Lands, Reach
from baton.lib.code import model as code_model
from baton.lib.text.secrets.lines import SecretPlace
from baton.lib.text.yaml_lines import Fault, Lines, Path, ProblemError, YamlError, did_you_mean, fit, line_of, parse

# The tables of commands in text: variables and configuration keys, from policies/shell/held_commands.yaml.

T = TypeVar("T")

HELD_FILE = "held_commands.yaml"
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.dot_nl = True
_LITERAL_FIRST = re.compile(r"\^?([\w:/=@-]+)\(\.\*\)\Z", re.ASCII)
_SLOT = re.compile(r"\{(text|quoted|words|list|remote)\}")


class HeldText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in a program's arguments with a command, or another program's code, as its text.

    `at` is an option (its value), `operands`, or `flags` (options as written). `find` is a regular expression with the
    command as its first group, for each match; without it, the command is the whole text. `runs` is the shell text that
    runs it: `{text}` is the command, `{quoted}` the same as one word, `{words}` split into words, `{list}` split at
    commas, `{remote}` the command of a git remote (`ext::`), where `%` escapes. `joined`: the option takes a value only
    after `=`.
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
    files: list[str] = []
    file_variables: list[str] = []
    includes: list[str] = []
    setting: str = ""
    ordinary: list[str] = []
    keys: dict[str, str | dict[str, str]] = {}


class _RawFile(msgspec.Struct, forbid_unknown_fields=True):
    variables: dict[str, _RawVariable] = {}
    keys: dict[str, _RawKeys] = {}


class Template(msgspec.Struct, frozen=True):
    """How a held text is run, by its prefix; the longest prefix comes first."""

    by_prefix: tuple[tuple[str, str], ...]

    def shell_text(self, text: str) -> tuple[str, str] | None:
        """Return the shell text for a held text, and the rest after its prefix."""
        for prefix, runs in self.by_prefix:
            if text.startswith(prefix):
                return runs, text[len(prefix) :]
        return None


class HeldVariable(msgspec.Struct, frozen=True):
    """A variable with a command; only the programs `of` use it, or all if empty. `find` is as in `HeldText`."""

    of: frozenset[str]
    find: str
    template: Template


class KeyTable(msgspec.Struct, frozen=True, eq=False):
    """The configuration keys of a program with commands as values, and the ways to set them.

    `options` have the value `key=value`; `variables` have `key=NAME of a variable`; `pairs` are the name prefixes of
    two variables for a key and its value. `setters` are subcommands with a key and a value. `files` are the program's
    configuration files; `file_variables` and the values of the keys `includes` name others. A persistent setting is
    listed as the program `setting`, unless one of `ordinary` matches its whole `key=value`.
    """

    options: frozenset[str]
    variables: frozenset[str]
    pairs: tuple[str, ...]
    setters: list[list[str]]
    files: tuple[str, ...]
    file_variables: tuple[str, ...]
    includes: frozenset[str]
    setting: str
    ordinary: tuple[str, ...]
    exact: dict[str, Template]
    globs: tuple[tuple[re.Pattern[str], Template], ...]

    def template(self, key: str) -> Template | None:
        """Return the template for a key's value. Keys are case-insensitive."""
        key = key.casefold()
        found = self.exact.get(key)
        if found is None:
            for pattern, template in self.globs:
                if pattern.match(key):
                    return template
        return found


class HeldCommands(msgspec.Struct, frozen=True, eq=False, dict=True):
    """All variables and keys with commands."""

    variables: dict[str, HeldVariable] = {}
    globs: tuple[tuple[re.Pattern[str], HeldVariable], ...] = ()
    keys: dict[str, KeyTable] = {}

    @cached_property
    def pairs(self) -> tuple[str, ...]:
        """The name prefixes of all variables for a key or its value."""
        return tuple({prefix for table in self.keys.values() for prefix in table.pairs})

    def variable(self, name: str) -> HeldVariable | None:
        """Find a variable by its name."""
        found = self.variables.get(name)
        if found is None:
            return next((one for pattern, one in self.globs if pattern.match(name)), None)
        return found


def read_held(path: str, data: dict[str, Any], lines: Lines, problems: list[Fault]) -> HeldCommands:
    """Read the data of a file; append faults to the problems."""
    try:
        raw = fit(path, data, lines, _RawFile, ())
    except ProblemError as error:
        problems.append(error.problem)
        return HeldCommands()

    def template(at: Path, runs: str | dict[str, str]) -> Template:
        given = {"": runs} if isinstance(runs, str) else runs
        problems.extend(
            Fault(path, line_of(lines, at), _slot_fault(text)) for text in given.values() if _slot_fault(text)
        )
        return Template(tuple(sorted(given.items(), key=lambda item: -len(item[0]))))

    variables: dict[str, HeldVariable] = {}
    for names, one in raw.variables.items():
        fault_of = held_fault(HeldText(at="flags", find=one.find))
        if fault_of:
            problems.append(Fault(path, line_of(lines, ("variables", names)), fault_of))
        held = HeldVariable(frozenset(one.of), one.find, template(("variables", names), one.runs))
        variables |= dict.fromkeys(names.split("|"), held)
    keys: dict[str, KeyTable] = {}
    for programs, table in raw.keys.items():
        found: dict[str, Template] = {}
        for group, runs in table.keys.items():
            found |= dict.fromkeys(group.casefold().split("|"), template(("keys", programs, "keys", group), runs))
        problems.extend(
            Fault(path, line_of(lines, ("keys", programs, "ordinary")), fault_of)
            for expression in table.ordinary
            if (fault_of := held_fault(HeldText(at="flags", find=f"({expression})")))
        )
        exact, globs = _parted(found)
        built = KeyTable(
            options=frozenset(table.options),
            variables=frozenset(table.variables),
            pairs=tuple(table.pairs),
            setters=[setter.split() for setter in table.setters],
            files=tuple(table.files),
            file_variables=tuple(table.file_variables),
            includes=frozenset(table.includes),
            setting=table.setting,
            ordinary=tuple(table.ordinary),
            exact=exact,
            globs=globs,
        )
        keys |= dict.fromkeys(programs.split("|"), built)
    plain, wild = _parted(variables)
    return HeldCommands(plain, wild, keys)


@lru_cache(maxsize=1_024)
def pattern(text: str) -> "re2._Regexp[str]":
    """Compile the regular expression of a `find` with RE2, which takes linear time.

    Raises:
        re2.error: If it is not a regular expression.
    """
    return re2.compile(text, _OPTIONS)


@lru_cache(maxsize=1_024)
def literal(text: str) -> str:
    """Return the literal prefix of every match of a `find` expression, or "" if unclear.

    Searching for it takes a twentieth of the time of RE2.
    """
    found = _LITERAL_FIRST.match(text)
    return found[1] if found else ""


def held_fault(held: HeldText) -> str:
    """Return the fault of an item of `holds`, or ""."""
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
    globs = tuple((glob(name), one) for name, one in named.items() if _is_glob(name))
    return {name: one for name, one in named.items() if not _is_glob(name)}, globs


# The table of programs with secret arguments, built from policies/shell/secrets.yaml.

SECRETS_FILE = "secrets.yaml"
_PLACES = ("option", "operand", "word", "stdin")


class RawSecretEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One program or subcommand; an entry that is only a list has `secrets` alone."""

    secrets: list[str | SecretPlace] = []
    takes_value: list[str] = []
    subcommands: dict[str, Any] = {}


class SecretEntry(msgspec.Struct, frozen=True):
    """The places of secrets of a program or subcommand, and its options with a value."""

    secrets: tuple[SecretPlace, ...] = ()
    takes_value: frozenset[str] = frozenset()
    subcommands: dict[str, "SecretEntry"] = {}


def read_secrets(path: str, data: dict[str, Any], lines: Lines, problems: list[Fault]) -> dict[str, SecretEntry]:
    """Read the data of a file; append faults to the problems."""
    found: dict[str, SecretEntry] = {}
    for key, value in data.items():
        entry = _entry(path, value, lines, problems, (key,))
        found |= dict.fromkeys(key.split("|"), entry)
    return found


def _entry(path: str, value: Any, lines: Lines, problems: list[Fault], at: Path) -> SecretEntry:
    if isinstance(value, list):
        value = {"secrets": value}
    try:
        raw = fit(path, value, lines, RawSecretEntry, at)
    except ProblemError as error:
        problems.append(error.problem)
        return SecretEntry()
    places = tuple(SecretPlace(option=place) if isinstance(place, str) else place for place in raw.secrets)
    for index, place in enumerate(places):
        text = _fault(place)
        if text:
            problems.append(Fault(path, line_of(lines, (*at, "secrets", index)), text))
    below: dict[str, SecretEntry] = {}
    for key, part in raw.subcommands.items():
        below |= dict.fromkeys(key.split("|"), _entry(path, part, lines, problems, (*at, "subcommands", key)))
    return SecretEntry(secrets=places, takes_value=frozenset(raw.takes_value), subcommands=below)


def _fault(place: SecretPlace) -> str:
    if sum(bool(getattr(place, name)) for name in _PLACES) != 1:
        return f"a place of a secret needs exactly one of {', '.join(f'`{name}`' for name in _PLACES)}"
    if place.option and not place.option.startswith(("-", "+", "/")):
        return f"`{place.option}` is not an option: it must start with `-`"
    return ""


CATEGORIES: tuple[str, ...] = get_args(Category)
_TARGETS = ("operands", "first", "last", "rest", "cwd", "operands-or-cwd", "second")
_SCRIPTS = ("operands", "rest", "first", "each")
_CODES = ("operands", "first", "second", "arguments")
LANGUAGES: tuple[str, ...] = (*code_model.LANGUAGES, "other")
"""Languages of code run by a program; code in `other` ones is not read."""
_MANY = 1 << 30
_NOTHING: dict[Any, Any] = {}  # shared by all entries
_NAME = re.compile(r"[^\s/]+")
_LONG_OF_ONE_DASH = re.compile(r"-[a-zA-Z][\w-]")
_WAYS = ("command", "after", "code", "script", "stdin", "between", "module", "file")


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of a program to run something; exactly one of the first eight fields is set."""

    command: int | None = None
    after: str | None = None
    script: str | None = None
    code: tuple[str, ...] | None = None
    stdin: bool | str | None = None
    between: tuple[str, ...] | None = None
    module: str | None = None
    file: bool | None = None
    assignments: bool | Literal["expanded"] = False
    language: str = ""
    ends: bool = False
    until: tuple[str, ...] = (";", "+")
    adds: str = ""
    program: str = ""


class RawClause(msgspec.Struct, forbid_unknown_fields=True, rename={"is_": "is"}):
    """One clause of `when` or `overall`."""

    is_: str | list[str] | None = None
    writes: list[str] | None = None
    runs: list[Way] | None = None
    flags: list[str | int] = []
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    first: list[str] = []
    count: str | int | None = None
    assigns: list[str] = []
    alone: bool = False


class RawEntry(msgspec.Struct, forbid_unknown_fields=True, rename={"is_": "is"}):
    """One program or subcommand; the long form of an entry."""

    is_: str | list[str] = "unknown"
    aka: list[str] = []
    takes_value: list[str] = []
    takes_two: list[str] = []
    folders: list[str] = []
    mounts: list[str] = []
    files: dict[str, list[str]] = {}
    holds: list[str | HeldText] = []
    overall: list[RawClause] = []
    subcommands: dict[str, Any] = {}
    when: list[RawClause] = []
    writes: list[str] = []
    runs: list[Way] = []
    reach: dict[Reach, list[str]] = {}
    lands: dict[Lands, list[str]] = {}
    replaces_target: list[str] = []
    moves: bool = False
    names: dict[str, Literal["glob", "regex", "part", "extension"]] = {}
    note: str = ""


class Globs:
    """A set of names, some of them with `*` or `?`."""

    __slots__ = ("_match", "exact")

    def __init__(self, globs: Iterable[str]) -> None:
        names = frozenset(globs)
        wild = frozenset(filter(_is_glob, names))
        patterns = [glob(name).pattern for name in sorted(wild)]
        self.exact = names - wild
        self._match = re.compile("|".join(patterns), re.DOTALL).match if patterns else None

    def __contains__(self, name: str) -> bool:
        return name in self.exact or (self._match is not None and self._match(name) is not None)

    def any_of(self, names: Collection[str]) -> bool:
        """Return whether one of the names is in the set."""
        if not self.exact.isdisjoint(names):
            return True
        match = self._match
        if match is not None:
            for name in names:
                if match(name):
                    return True
        return False


class Clause(msgspec.Struct, frozen=True, eq=False):
    """Conditions that must all hold, and their replacements of the entry's values; None: no condition, no change.

    With `alone` there are no operands and no option values, so nothing else can run (`python -V`).
    """

    flags: Globs | None
    values: tuple[tuple[str, Globs], ...]
    operands: Globs | None
    first: Globs | None
    count: tuple[int, int]
    assigns: Globs | None
    categories: tuple[Category, ...] | None
    writes: tuple[str, ...] | None
    runs: tuple[Way, ...] | None
    alone: bool = False


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One program or subcommand. `name` is the program's and has no meaning for a subcommand.

    The range of its writes, `reach`, may depend on flags; the first match decides. `lands`: copies go into the target
    by name, unless a flag of `replaces_target` is given. `moves`: it moves its sources. `names` are options selecting a
    search's results by name. After `own_operands` operands, the rest belongs to the program's command or script.
    `may_run`: it can run anything at all. `takes_two` are options with two values. `folders` are options, their
    keys and variables for the working folder, `mounts` options showing a folder under another path. `files` are the
    files run by default, by language: names in its folder, or options naming another file. `holds` are the other places
    of commands in its arguments. `long_options` are those of the table, sorted: most programs accept them abbreviated.
    `clusters`: `-ab` is `-a -b` and not a long option.
    """

    name: str
    categories: tuple[Category, ...] = ("unknown",)
    takes_value: frozenset[str] = frozenset()
    subcommands: dict[str, "Entry"] = {}
    sub_globs: tuple[tuple[re.Pattern[str], "Entry"], ...] = ()
    clauses: tuple[Clause, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[Way, ...] = ()
    own_operands: int = _MANY
    last: frozenset[str] = frozenset()
    reach: Mapping[Reach, list[str]] = {}
    lands: Mapping[Lands, list[str]] = {}
    replaces_target: frozenset[str] = frozenset()
    moves: bool = False
    names: Mapping[str, str] = {}
    may_run: bool = False
    takes_two: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    files: Mapping[str, list[str]] = {}
    holds: tuple[HeldText, ...] = ()
    long_options: tuple[str, ...] = ()
    clusters: bool = True

    def full_name(self, option: str) -> str:
        """Return the long option of an abbreviation, or the option itself.

        `--forc` may be `--force` or `--force-with-lease`: git refuses it today; here it counts as the first.
        """
        known = self.long_options
        at = bisect_left(known, option)
        fits = [name for name in known[at : at + 2] if name.startswith(option)]
        return fits[0] if fits and fits[-1].startswith(fits[0]) else option

    def subcommand(self, word: str) -> "Entry | None":
        """Find the entry of a subcommand."""
        found = self.subcommands.get(word)
        if found is None:
            for pattern, entry in self.sub_globs:
                if pattern.match(word):
                    return entry
        return found


class ShellTables(msgspec.Struct, frozen=True, eq=False):
    """All entries by program name; `globs` are those with a pattern as name, `any_glob` is their union.

    `secrets` are the places of secret arguments, `held` the variables and configuration keys with commands.
    """

    entries: dict[str, Entry] = {}
    globs: tuple[tuple[re.Pattern[str], Entry], ...] = ()
    any_glob: re.Pattern[str] = re.compile(r"(?!)")
    secrets: dict[str, SecretEntry] = {}
    held: HeldCommands = HeldCommands()

    def find(self, name: str) -> Entry | None:
        """Find a program by its base name."""
        found = self.entries.get(name)
        # Unknown names are common, and the patterns many.
        if found is None and self.any_glob.match(name):
            for pattern, entry in self.globs:
                if pattern.match(name):
                    return entry
        return found


def build(texts: Mapping[str, str]) -> ShellTables | tuple[Fault, ...]:
    """Build the tables from file texts by path; a later entry of the same name replaces an earlier one.

    Returns:
        The tables, or the problems sorted by file and line if there are any.
    """
    return _built(tuple(texts.items()))


@lru_cache(maxsize=4)
def _built(texts: tuple[tuple[str, str], ...]) -> ShellTables | tuple[Fault, ...]:
    problems: list[Fault] = []
    entries: dict[str, Entry] = {}
    globs: dict[str, Entry] = {}
    secrets: dict[str, SecretEntry] = {}
    held = HeldCommands()
    for path, text in texts:
        try:
            data, lines = parse(text)
        except YamlError as error:
            problems.append(Fault(path, error.line, error.text))
            continue
        if data is None:
            continue
        if not isinstance(data, dict):
            problems.append(Fault(path, 1, "a shell table is a mapping from program names to entries"))
            continue
        if path.rpartition("/")[2] == SECRETS_FILE:
            secrets |= read_secrets(path, data, lines, problems)
            continue
        if path.rpartition("/")[2] == HELD_FILE:
            held = read_held(path, data, lines, problems)
            continue
        reader = _Reader(path, lines, problems)
        for key, value in data.items():
            for name, entry in reader.program(key, value):
                (globs if _is_glob(name) else entries)[name] = entry
    if problems:
        return tuple(sorted(dict.fromkeys(problems), key=lambda problem: (problem.file, problem.line)))
    any_glob = re.compile("|".join([f"(?:{glob(name).pattern})" for name in globs]) or r"(?!)")
    # For equal names the last entry wins, so the last of the matching globs must win, too.
    tables = ShellTables(entries, tuple((glob(name), entry) for name, entry in reversed(globs.items())), any_glob)
    secrets = {name: _with_values(entry, tables.find(name)) for name, entry in secrets.items()}
    return msgspec.structs.replace(tables, secrets=secrets, held=held)


def _with_values(secret: SecretEntry, entry: Entry | None) -> SecretEntry:
    """Add the options with a value, so operands after them are counted correctly."""
    if entry is None:
        return secret
    below = {word: _with_values(one, entry.subcommand(word)) for word, one in secret.subcommands.items()}
    return msgspec.structs.replace(secret, takes_value=secret.takes_value | entry.takes_value, subcommands=below)


class _Defaults(msgspec.Struct, frozen=True):
    """Values inherited by a subcommand from its parent entry."""

    takes_value: frozenset[str] = frozenset()
    clauses: tuple[Clause, ...] = ()
    holds: tuple[HeldText, ...] = ()
    reach: Mapping[Reach, list[str]] = {}
    folders: frozenset[str] = frozenset()
    files: Mapping[str, list[str]] = {}


class _Reader:
    """Turns the data of one file into entries, and collects the problems."""

    def __init__(self, path: str, lines: Lines, problems: list[Fault]) -> None:
        self.path = path
        self.lines = lines
        self.problems = problems

    def report(self, at: Path, text: str) -> None:
        self.problems.append(Fault(self.path, line_of(self.lines, at), text))

    def program(self, key: str, value: Any) -> list[tuple[str, Entry]]:
        found: list[tuple[str, Entry]] = []
        first, *others = key.split("|")
        read = self.entry((key,), value, first, _Defaults())
        aka = value.get("aka", []) if isinstance(value, dict) else []
        for name in (first, *others):
            self.check_name((key,), name)
            entry = read if name == first else msgspec.structs.replace(read, name=name)
            names = [name, *(other for other in aka if isinstance(other, str))]
            found += [(other, entry) for other in names]
        return found

    def check_name(self, at: Path, name: str) -> None:
        if not _NAME.fullmatch(name):
            self.report(at, f"`{name}` is not a name: use one word without `/`")

    def entry(self, at: Path, value: Any, name: str, above: "_Defaults") -> Entry:
        if isinstance(value, str | list):
            value = {"is": value}
        try:
            raw = fit(self.path, value, self.lines, RawEntry, at)
        except ProblemError as error:
            self.problems.append(error.problem)
            return Entry(name)
        holds = self.held((*at, "holds"), raw.holds)
        options = [one for one in raw.folders if one[:1] != "$" and " " not in one]
        held = [one.at for one in holds if one.at[0] in "-+" and not one.joined]
        takes_value = _same(above.takes_value.union(raw.takes_value, raw.takes_two, options, raw.mounts, held))
        # `git -C dir commit -C HEAD`: a subcommand may use the same letter for something else.
        folders = _same(above.folders.difference(raw.takes_value).union(raw.folders))
        holds = above.holds + holds
        # `overall` and `takes_value` also apply to every subcommand: `git -C dir` comes before the word.
        overall = tuple(self.clause((*at, "overall", index), clause) for index, clause in enumerate(raw.overall))
        overall = above.clauses + overall
        self.options(at, {"takes_value": raw.takes_value, "folders": raw.folders, "mounts": raw.mounts})
        if raw.aka and len(at) > 1:
            self.report((*at, "aka"), "only a program has `aka`; join the names of a subcommand by `|`")
        subcommands: dict[str, Entry] = {}
        globs: list[tuple[re.Pattern[str], Entry]] = []
        for key, below in raw.subcommands.items():
            place = (*at, "subcommands", key)
            entry = self.entry(
                place,
                below,
                name,
                _Defaults(takes_value, overall, holds, raw.reach or above.reach, folders, raw.files or above.files),
            )
            for word in key.split("|"):
                self.check_name(place, word.replace("/", "-"))
                if _is_glob(word):
                    globs.append((glob(word), entry))
                elif word in subcommands:
                    self.report(place, f"the subcommand `{word}` is defined twice")
                else:
                    subcommands[word] = entry
        clauses = overall + tuple(self.clause((*at, "when", index), clause) for index, clause in enumerate(raw.when))
        return Entry(
            name=name,
            categories=self.categories((*at, "is"), raw.is_),
            takes_value=takes_value,
            subcommands=subcommands or _NOTHING,
            sub_globs=tuple(globs),
            clauses=clauses,
            may_run=bool(raw.runs or any(clause.runs for clause in clauses)),
            takes_two=_same(frozenset(raw.takes_two)),
            folders=folders,
            mounts=_same(frozenset(raw.mounts)),
            files=raw.files or above.files or _NOTHING,
            holds=holds,
            clusters=not any(_LONG_OF_ONE_DASH.match(option) for option in _options(takes_value, clauses)),
            long_options=_long_options(
                takes_value,
                clauses,
                raw.writes,
                raw.replaces_target,
                *(raw.reach or above.reach).values(),
                *raw.lands.values(),
            ),
            writes=self.targets((*at, "writes"), raw.writes),
            runs=self.ways((*at, "runs"), raw.runs),
            reach=raw.reach or above.reach or _NOTHING,
            lands=raw.lands or _NOTHING,
            replaces_target=_same(frozenset(raw.replaces_target)),
            moves=raw.moves,
            names=raw.names or _NOTHING,
            own_operands=min(
                (0 if way.file else way.command or 0 for way in raw.runs if way.file or way.command is not None),
                default=_MANY,
            ),
            last=_same(
                frozenset(
                    option
                    for way in raw.runs
                    if way.ends
                    for option in (*(way.code or ()), way.module, way.script)
                    if option
                )
            ),
        )

    def options(self, at: Path, lists: Mapping[str, list[str]]) -> None:
        for key, options in lists.items():
            for index, option in enumerate(options):
                if not option.startswith(("-", "+", "$") if key == "folders" else ("-", "+")):
                    self.report((*at, key, index), f"`{option}` is not an option: it must start with `-`")

    def clause(self, at: Path, raw: RawClause) -> Clause:
        conditions = (raw.flags, raw.values, raw.operands, raw.first, raw.count, raw.assigns)
        if all(condition in ([], {}, None) for condition in conditions):
            self.report(at, "this clause has no condition, so it always holds; put its effect into the entry itself")
        if raw.is_ is None and raw.writes is None and raw.runs is None:
            self.report(at, "this clause has no effect; add `is`, `writes` or `runs`")
        count = re.fullmatch(r"([0-9])(\+?)", "" if raw.count is None else str(raw.count))
        if raw.count is not None and not count:
            self.report((*at, "count"), f"`{raw.count}` is not a count; write `0`, `1`, `2+` …")
        flags = [str(flag) for flag in raw.flags]
        for option in (*flags, *raw.values):
            if not option.startswith(("-", "+", "*")):
                self.report((*at, "flags"), f"`{option}` is not an option: it must start with `-`")
        low = int(count[1]) if count else 0
        return Clause(
            flags=Globs(flags) if flags else None,
            values=tuple((option, Globs(globs)) for option, globs in raw.values.items()),
            operands=Globs(raw.operands) if raw.operands else None,
            first=Globs(raw.first) if raw.first else None,
            # `2` is exactly two, `2+` two or more.
            count=(low, low if count and not count[2] else _MANY),
            assigns=Globs(raw.assigns) if raw.assigns else None,
            categories=None if raw.is_ is None else self.categories((*at, "is"), raw.is_),
            writes=None if raw.writes is None else self.targets((*at, "writes"), raw.writes),
            runs=None if raw.runs is None else self.ways((*at, "runs"), raw.runs),
            alone=raw.alone,
        )

    def held(self, at: Path, items: list[str | HeldText]) -> tuple[HeldText, ...]:
        read = [HeldText(at=item) if isinstance(item, str) else item for item in items]
        found = tuple(msgspec.structs.replace(one, at=place) for one in read for place in one.at.split("|"))
        for index, one in enumerate(found):
            text = held_fault(one)
            if text:
                self.report((*at, index), text)
        return found

    def categories(self, at: Path, value: str | list[str]) -> tuple[Category, ...]:
        words = [value] if isinstance(value, str) else value
        for word in words:
            if word not in CATEGORIES:
                self.report(at, f"unknown category `{word}`" + did_you_mean(word, list(CATEGORIES)))
        return tuple(words)  # type: ignore[arg-type]

    def targets(self, at: Path, words: list[str]) -> tuple[str, ...]:
        for index, word in enumerate(words):
            if word not in _TARGETS and not word.startswith(("-", "~/", "/")) and not re.fullmatch(r"[\w-]+=", word):
                allowed = [*_TARGETS, "-o", "of=", "~/.kube/config"]
                self.report((*at, index), f"unknown place of a written path `{word}`" + did_you_mean(word, allowed))
        return tuple(words)

    def ways(self, at: Path, ways: list[Way]) -> tuple[Way, ...]:
        for index, way in enumerate(ways):
            given = [name for name in _WAYS if getattr(way, name) is not None]
            if len(given) != 1:
                self.report(
                    (*at, index), f"a way to run needs exactly one of {', '.join(f'`{name}`' for name in _WAYS)}"
                )
            if way.script is not None and way.script not in _SCRIPTS and not way.script.startswith("-"):
                text = f"unknown place of a script `{way.script}`" + did_you_mean(way.script, [*_SCRIPTS, "-c"])
                self.report((*at, index, "script"), text)
            for place in way.code or ():
                if place not in _CODES and not place.startswith("-"):
                    text = f"unknown place of code `{place}`" + did_you_mean(place, [*_CODES, "-c"])
                    self.report((*at, index, "code"), text)
            language = way.stdin if isinstance(way.stdin, str) else way.language
            # A crontab is not a language for code, but its lines end in shell.
            if (language or way.code) and language not in (*LANGUAGES, "crontab"):
                text = f"unknown language `{language}`" + did_you_mean(language, list(LANGUAGES))
                self.report((*at, index), text)
        return tuple(ways)


@lru_cache(maxsize=8_192)
def glob(text: str) -> re.Pattern[str]:
    """Compile a glob: `*` is any text, `?` any character, `[ab]` and `[!ab]` one of or none of these."""
    return re.compile(fnmatch.translate(text))


@lru_cache(maxsize=2_048)
def _same(options: frozenset[str]) -> frozenset[str]:
    """Return the equal set made before: one takes 216 bytes, and most entries have the same."""
    return options


def _long_options(takes_value: Collection[str], clauses: Iterable[Clause], *others: Iterable[str]) -> tuple[str, ...]:
    found = _options(takes_value, clauses).union(*others)
    return tuple(sorted(option for option in found if option.startswith("--")))


def _options(takes_value: Collection[str], clauses: Iterable[Clause]) -> set[str]:
    found = set(takes_value)
    for clause in clauses:
        found.update(clause.flags.exact if clause.flags else ())
        found.update(option for option, _ in clause.values)
    return found


def _is_glob(text: str) -> bool:
    return "*" in text or "?" in text
