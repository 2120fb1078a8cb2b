"""Look one program up in the shell tables: its flags, operands, subcommand, categories and written paths."""

import re

from baton.engine.shell.expansion.words import Word
from baton.engine.shell.model import Category
from baton.engine.shell.tables.tables import Clause, Entry, Globs, ShellTables, Way

_PLAIN_NAME = re.compile(r"[\w.+@-]+\Z")
_UNKNOWN: tuple[Category, ...] = ("unknown",)
_READ_ONLY: tuple[Category, ...] = ("read-only",)
_TEST: tuple[Category, ...] = ("test-or-build",)
_LONG_HELP = (["--help"], ["--version"])
_ASKS_VERSION = (["-V"], ["-version"])
_BUILTIN_NAMES = (
    "[ alias builtin cd command declare echo eval exec exit export false hash help history jobs let local print printf"
    " pwd read return set shift source test time times trap true type umask wait"
)
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_HARMLESS = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "-", ""])
_VARIABLE = re.compile(r"\$[{(]?([A-Z_]+)[)}]?\Z")
_TOOL_VARIABLES = {
    "SHELL": "sh", "BASH": "bash", "PYTHON": "python3", "PYTHON3": "python3", "PY": "python3", "PIP": "pip", "PYTEST": "pytest",
    "NODE": "node", "NPM": "npm", "NPX": "npx", "YARN": "yarn", "PNPM": "pnpm", "BUN": "bun", "RUBY": "ruby", "PERL": "perl",
    "PHP": "php", "JAVA": "java", "JAVAC": "javac", "MVN": "mvn", "GRADLE": "gradle", "GO": "go", "CARGO": "cargo",
    "RUSTC": "rustc", "CC": "cc", "CXX": "c++", "LD": "ld", "AR": "ar", "CMAKE": "cmake", "MAKE": "make", "NINJA": "ninja",
    "EDITOR": "vim", "VISUAL": "vim", "PAGER": "less", "BROWSER": "open", "GIT": "git", "DOCKER": "docker", "KUBECTL": "kubectl",
    "CURL": "curl", "SED": "sed", "AWK": "awk", "GREP": "grep", "TAR": "tar", "ADB": "adb",
}  # fmt: skip
"""Variables that tools use for a program: a line that does not set them runs that program."""
_SLICES = {
    "operands": slice(None),
    "first": slice(0, 1),
    "second": slice(1, 2),
    "last": slice(-1, None),
    "rest": slice(1, None),
}


class Invocation:
    """One program with its arguments, looked up in the tables.

    `operands` are indexes into `words`, after the subcommand. `raw_flags` are the options as written, `values` the
    (option, value) pairs, `value_places` the indexes of the words that hold these values. `folders` are the words that name
    the folder which the program runs in; several are changed to one after the other. `keeps` is True if the categories stay even where the program wraps another, `tests_by_name`
    if they come from the name of the script file that it runs.
    """

    __slots__ = (
        "assigns", "categories", "entry", "flags", "folders", "keeps", "name", "operands", "raw_flags", "runs", "subcommand",
        "tests_by_name", "value_places", "values", "words", "writes",
    )  # fmt: skip

    def __init__(self, words: list[Word], assigns: tuple[str, ...]) -> None:
        self.words = words
        self.assigns = assigns
        self.name = ""
        self.entry: Entry | None = None
        self.subcommand = ""
        self.flags: set[str] = set()
        self.raw_flags: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.value_places: list[int] = []
        self.folders: list[Word] = []
        self.operands: list[int] = []
        self.categories: tuple[Category, ...] = _UNKNOWN
        self.writes: tuple[str, ...] = ()
        self.runs: tuple[Way, ...] = ()
        self.keeps = False
        self.tests_by_name = False


def use(tables: ShellTables, words: list[Word], assigns: tuple[str, ...]) -> Invocation:
    """Look a program up. It is unknown if the tables lack it, or if its name or subcommand is an expansion."""
    found = Invocation(words, assigns)
    first = words[0]
    entry: Entry | None = None
    if first.dynamic:
        found.name = _name_behind(first)
        entry = _entry(tables, first.text, found.name) if found.name else None
    # A glob may stand for any program; `[` alone is the test.
    elif not (first.globs and first.text != "["):
        found.name = first.text.rpartition("/")[2].removesuffix(".exe")
        entry = _entry(tables, first.text, found.name)
        if entry is not None:
            found.name = entry.name if entry.name and "*" not in entry.name else found.name
    found.entry = entry
    known = _arguments(found)
    if found.entry is not None:
        if known and found.raw_flags and _only_prints(found):
            found.categories = _READ_ONLY
        elif known:
            _decide(found, found.entry)
            if found.categories == _UNKNOWN:
                _by_file_name(found, tables)
            if found.writes and "file-write" in found.categories:
                _without_idle_writes(found)
        else:
            found.runs = found.entry.runs
    return found


def _name_behind(word: Word) -> str:
    """Return the name of a program whose folder alone is an expansion, or that a variable of tools holds; "" for others."""
    text = word.text
    variable = _VARIABLE.match(text)
    if variable is not None:
        return _TOOL_VARIABLES.get(variable[1], "")
    name = text.rpartition("/")[2]
    return name if name != text and _PLAIN_NAME.match(name) else ""


def _entry(tables: ShellTables, path: str, name: str) -> Entry | None:
    """Find the entry of a program. `./test` is not the builtin; `jest@29` (as `npx` takes it) is `jest`."""
    if name in _BUILTINS and "/" in path and not path.startswith("/"):
        return tables.find(f"{name}.sh")  # a script, whose name may say that it tests
    found = tables.find(name)
    if found is None and "@" in name[1:]:
        found = tables.find(name[:1] + name[1:].partition("@")[0])
    return found


def _only_prints(found: Invocation) -> bool:
    """Return whether the program only prints its help or version.

    `--help` counts ahead of the first operand only: many programs pass on what stands behind it, or have begun by then.
    """
    if found.entry is None:
        return False
    if not found.operands and not found.values:
        # With text to run on its input, `-h` and `-V` are options of that run: `bash -h`, `dash -V`.
        reads = any(way.stdin for way in found.entry.runs)
        if found.raw_flags in _LONG_HELP or (found.raw_flags in _ASKS_VERSION and not reads):
            return True
        # `-h` is help for most programs, but `rm -h` or `shutdown -h` is not: those must not pass as harmless.
        if found.raw_flags == ["-h"] and not reads and "destructive" not in found.entry.categories:
            return True
    if "--help" not in found.raw_flags or found.entry.may_run:
        return False
    before = found.words[1 : found.operands[0]] if found.operands else found.words
    return any(word.text == "--help" for word in before)


def _by_file_name(found: Invocation, tables: ShellTables) -> None:
    """Apply what the tables say of a script file's name: `sh run_tests.sh` tests as `./run_tests.sh` does."""
    if not found.operands or not any(way.file for way in found.runs):
        return
    word = found.words[found.operands[0]]
    if word.dynamic and word.text.endswith(("}", ")", "`")):
        return
    entry = tables.find(word.text.rpartition("/")[2])
    if entry is not None and "test-or-build" in entry.categories:
        found.categories, found.tests_by_name = _TEST, True


def _without_idle_writes(found: Invocation) -> None:
    """A writer whose only target is its output or /dev/null writes no file: `curl -o -`, `sort -o /dev/stdout`."""
    paths = _named_targets(found)
    if paths and all(map(harmless, paths)):
        found.categories = tuple([one for one in found.categories if one != "file-write"]) or _READ_ONLY
        found.writes = ()


def targets(found: Invocation) -> list[str]:
    """Return the paths that the program writes, as its entry says."""
    return [path for path in _named_targets(found) if not harmless(path)]


def _named_targets(found: Invocation) -> list[str]:
    paths: list[str] = []
    words = found.words
    operands = [words[index].text for index in found.operands]
    for place in found.writes:
        # The tables name a place by the operand's position, by a fixed path, by `of=` or by the option that holds it.
        if place in _SLICES:
            paths += operands[_SLICES[place]]
        elif place == "operands-or-cwd":
            paths += operands or ["."]
        elif place == "cwd":
            paths.append(".")
        elif place[0] in "~/":
            paths.append(place)
        elif place.endswith("="):
            paths += [text[len(place) :] for text in operands if text.startswith(place)]
        else:
            paths += [value for option, value in found.values if option == place]
    return paths


def harmless(path: str) -> bool:
    """Return whether writing to a path changes no file."""
    # `png:-` is ImageMagick's standard output.
    return path in _HARMLESS or path.rpartition("/")[0] == "/dev/fd" or path.endswith(":-")


def _arguments(found: Invocation) -> bool:
    """Sort the arguments into options, subcommand and operands; return False if the subcommand is an expansion."""
    entry = found.entry
    takes = entry.takes_value if entry else frozenset()
    words, operands = found.words, found.operands
    index, count, seen = 1, len(words), 0
    options, told = True, True
    own = entry.own_operands if entry else len(words)
    last = entry.last if entry else None
    while index < count:
        text = words[index].text
        if options and text[:1] == "-" and text != "-":
            if text == "--":
                options = False
                found.flags.add(text)
            else:
                index = _option(found, text, index, takes)
                if last and found.values and found.values[-1][0] in last:
                    # `sh -c -e text`: more options may stand between `-c` and its text.
                    options = found.values[-1][1][:1] == "-"
        elif entry is not None and text != "-" and not operands and (entry.subcommands or entry.sub_globs):
            below = None if words[index].dynamic else entry.subcommand(text)
            if below is None:
                told = told and not words[index].dynamic
                operands.append(index)
            else:
                if entry.folders:
                    seen = _note_folders(found, entry.folders, seen)
                found.entry = entry = below
                takes, own = entry.takes_value, entry.own_operands
                found.subcommand = f"{found.subcommand} {text}" if found.subcommand else text
        else:
            operands.append(index)
        # In `sudo -u x rm -rf y`, what follows `rm` belongs to `rm`: the wrapper has one operand of its own.
        options = options and len(operands) <= own
        index += 1
    if entry is not None and entry.folders:
        _note_folders(found, entry.folders, seen)
    return told


def _note_folders(found: Invocation, folders: frozenset[str], seen: int) -> int:
    """Note the folders that options name; the first `seen` values are known. Return how many values there are now."""
    if seen == len(found.values):
        return seen
    for (option, value), at in zip(found.values[seen:], found.value_places[seen:], strict=True):
        if option in folders:
            word = found.words[at]
            if word.text != value:
                dynamic, word = word.dynamic, Word(value)
                word.dynamic = dynamic
            found.folders.append(word)
    return len(found.values)


def _option(found: Invocation, text: str, index: int, takes: frozenset[str]) -> int:
    """Record an option; return the index of the last argument that belongs to it."""
    found.raw_flags.append(text)
    flags = found.flags
    name, equals, value = text.partition("=")
    # A long option. `-name=value` (Go, Java) is one too; `-f=x` is the short `-f`.
    if text[1] == "-" or (equals and len(name) > 2):  # noqa: PLR2004 (a dash and one letter)
        flags.add(name)
        full = found.entry.full_name(name) if found.entry is not None and found.entry.long_options else name
        if full != name:
            name = full
            flags.add(name)
        if equals:
            found.values.append((name, value))
            found.value_places.append(index)
            # `-oProxyCommand=x`: a short option with a value that has a `=` of its own.
            if text[1] != "-" and text[:2] in takes and name not in takes:
                flags.add(text[:2])
                found.values.append((text[:2], text[2:]))
                found.value_places.append(index)
        elif name in takes:
            return _value(found, name, index)
        return index
    if text in takes:
        flags.add(text)
        return _value(found, text, index)
    # Short options in one word: `-xzf a` is `-x -z -f a`, `-ofile` is `-o file`.
    for at in range(1, len(text)):
        letter = "-" + text[at]
        flags.add(letter)
        if letter in takes:
            flags.add(text[: at + 1])
            if at + 1 < len(text):
                found.values.append((letter, text[at + 1 :].removeprefix("=")))
                found.value_places.append(index)
                return index
            return _value(found, letter, index)
    flags.add(text)
    return index


def _value(found: Invocation, option: str, index: int) -> int:
    if index + 1 < len(found.words):
        found.values.append((option, found.words[index + 1].text))
        found.value_places.append(index + 1)
        two = found.entry is not None and option in found.entry.takes_two
        return index + 2 if two and index + 2 < len(found.words) else index + 1
    return index


def _decide(found: Invocation, entry: Entry) -> None:
    found.categories, found.writes, found.runs = entry.categories, entry.writes, entry.runs
    for clause in entry.clauses:
        if _holds(clause, found):
            if clause.categories is not None:
                found.categories = clause.categories
                found.keeps = clause.runs is not None
            if clause.writes is not None:
                found.writes = clause.writes
            if clause.runs is not None:
                found.runs = clause.runs
            return


def _has_one(flags: Globs, found: Invocation) -> bool:
    """Return whether a program has one of some options, by its name or as it was written (`-j8`, `--x=y`)."""
    if not found.flags:
        return False
    return flags.any_of(found.flags) or (not found.flags.issuperset(found.raw_flags) and flags.any_of(found.raw_flags))


def _holds(clause: Clause, found: Invocation) -> bool:
    if clause.alone and (found.operands or found.values):
        return False
    low, high = clause.count
    if not low <= len(found.operands) <= high:
        return False
    flags = clause.flags
    if flags is not None and not _has_one(flags, found):
        return False
    for option, globs in clause.values:
        if not any(option == name and value in globs for name, value in found.values):
            return False
    return (
        (clause.assigns is None or clause.assigns.any_of(found.assigns))
        and (clause.first is None or clause.first.any_of([found.words[at].text for at in found.operands[:1]]))
        and (clause.operands is None or clause.operands.any_of([found.words[at].text for at in found.operands]))
    )
