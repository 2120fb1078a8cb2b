"""The shell tables: what programs are, what they write and what they run, built from policies/shell/*.yaml.

The `Raw…` types and `Way` are the format of a file; `Entry` and `Clause` are what `classify` and `unwrap` work with.
"""

import fnmatch
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

from baton.engine.code import model as code_model
from baton.engine.shell.model import Category, Lands, Reach
from baton.engine.shell.tables import held_tables, secret_tables
from baton.engine.shell.tables.held_tables import HeldCommands, HeldText
from baton.engine.shell.tables.secret_tables import SecretEntry
from baton.engine.text.yaml_lines import (
    Lines,
    Path,
    Problem,
    ProblemError,
    YamlError,
    did_you_mean,
    fit,
    line_of,
    parse,
)

CATEGORIES: tuple[str, ...] = get_args(Category)
_TARGETS = ("operands", "first", "last", "rest", "cwd", "operands-or-cwd", "second")
_SCRIPTS = ("operands", "rest", "first", "each")
_CODES = ("operands", "first", "second", "arguments")
LANGUAGES: tuple[str, ...] = (*code_model.LANGUAGES, "other")
"""Languages that a program may run; of `other` ones nothing is read."""
_MANY = 1 << 30
_NAME = re.compile(r"[^\s/]+")
_WAYS = ("command", "after", "code", "script", "stdin", "between", "module", "file")


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a program runs something; exactly one of the first eight fields is set."""

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
    abbreviates: bool = False
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
    """Conditions that must all hold, and what then replaces the entry's own values; None means: no condition, no change.

    With `alone` there are no operands and no values of options, so that nothing can be run beside (`python -V`).
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
    """One program or subcommand. `name` is the program's; it means nothing for a subcommand.

    How far its writes reach, `reach`, may depend on flags; the first that holds decides. `lands`: what is copied lands in its
    target by name, so long as no flag of `replaces_target` is given. It `moves` what it copies. `names` are options that
    select what a search finds by its name.

    After `own_operands` operands, the rest belongs to the command or script that the program runs. `may_run` is True if
    it can run anything at all. `takes_two` are options with two values. `folders` are options that name the folder which
    the program changes to before it does anything, `mounts` options that show a folder under another path. `files` are what it runs without being told so, by language: names in
    its folder, or options that name another file. `holds` say where else its arguments hold commands. `long_options` are those that the
    table knows, sorted, where the program accepts them abbreviated.
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

    def full_name(self, option: str) -> str:
        """Return the long option that an abbreviation stands for, if there is one; otherwise the option itself.

        `--forc` may be `--force` or `--force-with-lease`: git refuses it today, and we take it for the first.
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
    """All entries by program name; `globs` are those whose name is a pattern, of which `any_glob` is the union.

    `secrets` say who takes secrets where, `held` which variables and configuration keys hold commands.
    """

    entries: dict[str, Entry] = {}
    globs: tuple[tuple[re.Pattern[str], Entry], ...] = ()
    any_glob: re.Pattern[str] = re.compile(r"(?!)")
    secrets: dict[str, SecretEntry] = {}
    held: HeldCommands = HeldCommands()

    def find(self, name: str) -> Entry | None:
        """Find a program by its base name."""
        found = self.entries.get(name)
        # Names that no table has are usual, and the patterns many.
        if found is None and self.any_glob.match(name):
            for pattern, entry in self.globs:
                if pattern.match(name):
                    return entry
        return found


def build(texts: Mapping[str, str]) -> ShellTables | tuple[Problem, ...]:
    """Build the tables from file texts by path; a later entry of the same name replaces an earlier one.

    Returns:
        The tables, or the problems sorted by file and line if there are any.
    """
    return _built(tuple(texts.items()))


@lru_cache(maxsize=4)
def _built(texts: tuple[tuple[str, str], ...]) -> ShellTables | tuple[Problem, ...]:
    problems: list[Problem] = []
    entries: dict[str, Entry] = {}
    globs: dict[str, Entry] = {}
    secrets: dict[str, SecretEntry] = {}
    held = HeldCommands()
    for path, text in texts:
        try:
            data, lines = parse(text)
        except YamlError as error:
            problems.append(Problem(path, error.line, error.text))
            continue
        if data is None:
            continue
        if not isinstance(data, dict):
            problems.append(Problem(path, 1, "a shell table is a mapping from program names to entries"))
            continue
        if path.rpartition("/")[2] == secret_tables.FILE:
            secrets |= secret_tables.read(path, data, lines, problems)
            continue
        if path.rpartition("/")[2] == held_tables.FILE:
            held = held_tables.read(path, data, lines, problems)
            continue
        reader = _Reader(path, lines, problems)
        for key, value in data.items():
            for name, entry in reader.program(key, value):
                (globs if _is_glob(name) else entries)[name] = entry
    if problems:
        return tuple(sorted(dict.fromkeys(problems), key=lambda problem: (problem.file, problem.line)))
    any_glob = re.compile("|".join([f"(?:{glob(name).pattern})" for name in globs]) or r"(?!)")
    # Of names the last entry counts, so of the globs that fit it must be the last one, too.
    tables = ShellTables(entries, tuple((glob(name), entry) for name, entry in reversed(globs.items())), any_glob)
    return msgspec.structs.replace(tables, secrets=_with_values(secrets, tables), held=held)


def _with_values(secrets: dict[str, SecretEntry], tables: ShellTables) -> dict[str, SecretEntry]:
    """Add the options that take a value, so that operands behind them are counted right."""
    return {name: _with_values_of(entry, tables.find(name)) for name, entry in secrets.items()}


def _with_values_of(secret: SecretEntry, entry: Entry | None) -> SecretEntry:
    if entry is None:
        return secret
    below = {word: _with_values_of(one, entry.subcommand(word)) for word, one in secret.subcommands.items()}
    return msgspec.structs.replace(secret, takes_value=secret.takes_value | entry.takes_value, subcommands=below)


class _Defaults(msgspec.Struct, frozen=True):
    """What a subcommand inherits from the entry that it belongs to."""

    takes_value: frozenset[str] = frozenset()
    clauses: tuple[Clause, ...] = ()
    holds: tuple[HeldText, ...] = ()
    abbreviates: bool = False
    reach: Mapping[Reach, list[str]] = {}
    folders: frozenset[str] = frozenset()
    files: Mapping[str, list[str]] = {}


class _Reader:
    """Turns the data of one file into entries, and collects the problems."""

    def __init__(self, path: str, lines: Lines, problems: list[Problem]) -> None:
        self.path = path
        self.lines = lines
        self.problems = problems

    def report(self, at: Path, text: str) -> None:
        self.problems.append(Problem(self.path, line_of(self.lines, at), text))

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
        takes_value = above.takes_value.union(raw.takes_value, raw.takes_two, raw.folders, raw.mounts)
        # `git -C dir commit -C HEAD`: a subcommand may use the same letter for something else.
        folders = (above.folders - frozenset(raw.takes_value)).union(raw.folders)
        takes_value |= frozenset(one.at for one in holds if one.at[0] in "-+" and not one.joined)
        holds = above.holds + holds
        abbreviates = raw.abbreviates or above.abbreviates
        # `overall` and `takes_value` also hold for every subcommand: `git -C dir` comes before the word.
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
                _Defaults(
                    takes_value,
                    overall,
                    holds,
                    abbreviates,
                    raw.reach or above.reach,
                    folders,
                    raw.files or above.files,
                ),
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
            subcommands=subcommands,
            sub_globs=tuple(globs),
            clauses=clauses,
            may_run=bool(raw.runs or any(clause.runs for clause in clauses)),
            takes_two=frozenset(raw.takes_two),
            folders=folders,
            mounts=frozenset(raw.mounts),
            files=raw.files or above.files,
            holds=holds,
            long_options=_long_options(takes_value, clauses) if abbreviates else (),
            writes=self.targets((*at, "writes"), raw.writes),
            runs=self.ways((*at, "runs"), raw.runs),
            reach=raw.reach or above.reach,
            lands=raw.lands,
            replaces_target=frozenset(raw.replaces_target),
            moves=raw.moves,
            names=raw.names,
            own_operands=min((0 if way.file else way.command or 0 for way in raw.runs if _ends(way)), default=_MANY),
            last=frozenset(
                [
                    option
                    for way in raw.runs
                    if way.ends
                    for option in (*(way.code or ()), way.module, way.script)
                    if option
                ]
            ),
        )

    def options(self, at: Path, lists: Mapping[str, list[str]]) -> None:
        for key, options in lists.items():
            for index, option in enumerate(options):
                if not option.startswith(("-", "+")):
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
        found = tuple(HeldText(at=item) if isinstance(item, str) else item for item in items)
        for index, one in enumerate(found):
            text = held_tables.fault(one)
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
            # A crontab is no language that code can be in, but its lines end in shell.
            if (language or way.code) and language not in (*LANGUAGES, "crontab"):
                text = f"unknown language `{language}`" + did_you_mean(language, list(LANGUAGES))
                self.report((*at, index), text)
        return tuple(ways)


@lru_cache(maxsize=8_192)
def glob(text: str) -> re.Pattern[str]:
    """Compile a glob: `*` is any text, `?` any character, `[ab]` and `[!ab]` one of or none of these."""
    return re.compile(fnmatch.translate(text))


def _long_options(takes_value: Collection[str], clauses: Iterable[Clause]) -> tuple[str, ...]:
    found = set(takes_value)
    for clause in clauses:
        found.update(clause.flags.exact if clause.flags else ())
        found.update(option for option, _ in clause.values)
    return tuple(sorted(option for option in found if option.startswith("--")))


def _ends(way: Way) -> bool:
    return bool(way.file) or way.command is not None


def _is_glob(text: str) -> bool:
    return "*" in text or "?" in text
