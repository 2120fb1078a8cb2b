"""Look one program up in the shell tables: its flags, operands, subcommand, categories and written paths."""

import re
from typing import Literal

from baton.lib.bash.expansion.words import Word
from baton.lib.bash.model import Category
from baton.lib.bash.tables.tables import Clause, Entry, Globs, ShellTables, Way

# Meaning of verbs of unknown subcommand programs: `modal app list` looks, `auth0 apps create` does not.

Verb = Literal["looks", "changes", "destroys", "acts"]
_LOOKS = (
    "about browse can cat check-update current describe diff doctor env events find functions get help health history info inspect list"
    " log logs ls metrics outdated ping ports print ps query read regions search show stat stats status tail top tree usage"
    " version versions view who whoami why"
)
_CHANGES = (
    "add allow apply approve archive assign attach authorize backup block bump cancel change clone commit configure connect copy cp"
    " create define deploy detach disable disconnect download dump edit enable export fork generate grant import init install"
    " invite join leave link lock login logout merge migrate modify mount move mv new open pair patch pause pin post promote provision"
    " publish pull push put rebuild redeploy refresh register release rename renew replace reset resize restart restore resume"
    " retry rollback rotate save scale schedule select send set setup sign snapshot start stop subscribe suspend swap switch sync tag"
    " transfer trigger trust unarchive unassign unblock undo unlink unlock unpin unregister unset unsubscribe untag update upgrade"
    " upload upsert use write"
)
_DESTROYS = "clean clear del delete deregister destroy drain drop erase flush kill nuke prune purge remove revoke rm terminate uninstall unpublish wipe"
_ACTS = "bench bundle build call check compile cover dev eval exec invoke lint preview repl run serve shell ssh test typecheck watch x"
_SURE = "describe diff help history info inspect list log logs ls outdated search show stats status version whoami"
SURE = frozenset(_SURE.split())  # verbs that look in every program
_ALSO_NOUNS = "backup connect env events functions health metrics ports regions release restore schedule snapshot"
ALSO_NOUNS = frozenset(_ALSO_NOUNS.split())  # verbs that are nouns before another verb: `backup list`, `regions set`
_WORDS: tuple[tuple[Verb, str], ...] = (
    ("looks", _LOOKS), ("changes", _CHANGES), ("destroys", _DESTROYS), ("acts", _ACTS)
)  # fmt: skip
_KINDS: dict[str, Verb] = {word: kind for kind, words in _WORDS for word in words.split()}
_NOUN = re.compile(r"[A-Za-z][\w:-]*")


def is_word(text: str) -> bool:
    """Return whether an argument may be a command word: a noun or a verb, rather than a path or a value."""
    return _NOUN.fullmatch(text) is not None


def verb_kind(word: str) -> Verb | None:
    """Return a word's effect; None for a noun. `list-modules` and `apps:list` list."""
    found = _KINDS.get(word)
    if found is None and ":" in word:
        return verb_kind(word.rpartition(":")[2])
    return found or _KINDS.get(word.partition("-")[0])


_PLAIN_NAME = re.compile(r"[\w.+@-]+\Z")
_UNKNOWN: tuple[Category, ...] = ("unknown",)
_READ_ONLY: tuple[Category, ...] = ("read-only",)
_VCS_READ: tuple[Category, ...] = ("vcs-read",)
_TEST: tuple[Category, ...] = ("test-or-build",)
_INSTALL: tuple[Category, ...] = ("package-install",)
_NETWORK: tuple[Category, ...] = ("network",)
_LONG_HELP = (["--help"], ["--version"])
_ASKS_VERSION = (["-V"], ["-version"])
_HELP_OF_WINDOWS = frozenset([
    "del", "erase", "rd", "copy", "move", "ren", "format", "xcopy", "robocopy", "reg", "net", "sc", "diskpart",
    "schtasks", "taskkill",
])  # fmt: skip
_HELPS = frozenset(["--help", "-h", "-help", "-?"])
_RUNS = frozenset(["run", "exec", "x", "dlx", "start", "call", "invoke"])
"""Verbs before the name of a program, which gets the options after it."""
_OUTPUTS = frozenset([
    "--output", "--output-file", "--outfile", "--out-file", "--out", "--output-dir", "--outdir", "--out-dir",
    "--output-path",
])  # fmt: skip
_PATH = re.compile(r"[\w~$.-]*[./][\w./$~-]*")  # a file name, rather than a format: `json`, `custom-columns=A:.b`
_BUILTIN_NAMES = (
    "[ alias builtin cd command declare echo eval exec exit export false hash help history jobs let local print printf"
    " pwd read return set shift source test time times trap true type umask wait"
)
_BUILTINS = frozenset(_BUILTIN_NAMES.split())
_VERSION = re.compile(r"(.[^@]*)@|([a-z][a-z+-]+[a-z+])-?\d+(?:\.\d+)*\Z")  # of `npx jest@29`; `lua5.4`, `clang-17`
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
"""Conventional variables for a program: unless the line sets them, it runs that program."""
_SLICES = {
    "operands": slice(None), "first": slice(1), "second": slice(1, 2), "last": slice(-1, None), "rest": slice(1, None),
}  # fmt: skip


class Invocation:
    """One program with its arguments, looked up in the tables.

    `operands` are indexes into `words`, after the subcommand. `raw_flags` are the options as written, `values` the
    (option, value) pairs, `value_places` the indexes of the words with these values. `folders` are the words naming the
    working folder; several are applied in sequence. `keeps`: the categories stay even if the program wraps another.
    `tests_by_name`: they come from the name of the script file.
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
    """Look a program up. It is unknown if missing from the tables, or if its name or subcommand is an expansion."""
    found = Invocation(words, assigns)
    first = words[0]
    entry: Entry | None = None
    if first.dynamic:
        # `$0` is the shell, unless a script restarts itself with it.
        own = first.text in {"$0", "${0}"} and (len(words) == 1 or (words[1].text[:1] == "-" and not words[1].dynamic))
        found.name = "sh" if own else _name_behind(first)
        entry = _entry(tables, first.text, found.name) if found.name else None
    # A glob may match any program; `[` alone is the test.
    elif not (first.globs and first.text != "["):
        # zsh finds the program of `=rm`.
        name = first.text.rpartition("/")[2].removesuffix(".exe")
        found.name = name.removeprefix("=").removeprefix("zf_") or name
        entry = _entry(tables, first.text, found.name)
        if entry is None:
            entry = _other_spelling(tables, found)
        if entry is not None:
            found.name = entry.name if entry.name and "*" not in entry.name else found.name
    found.entry = entry
    known = _arguments(found)
    if entry is None:
        if known and found.name and "/" not in first.text:
            _by_sure_verb(found)
    elif known:
        _known(found, entry, tables)
    elif found.entry is not None:
        found.runs = found.entry.runs
    return found


def _known(found: Invocation, program: Entry, tables: ShellTables) -> None:
    """Classify a known program with known words; `program` is the entry above its subcommands."""
    has_verbs = bool(program.subcommands or program.sub_globs)
    if _only_prints(found) or (has_verbs and _asks_help(found, program)):
        found.categories = _READ_ONLY
        return
    _decide(found, found.entry or program)
    if has_verbs and found.operands and not found.runs:
        _by_verb(found)
    if found.categories in (_READ_ONLY, _VCS_READ):
        _by_output(found)
    if found.categories == _UNKNOWN:
        _by_file_name(found, tables)
    if found.writes and "file-write" in found.categories:
        _without_idle_writes(found)


def _name_behind(word: Word) -> str:
    """Return a program's name if only its folder is an expansion, or from a tool's variable; otherwise ""."""
    text = word.text
    variable = _VARIABLE.match(text)
    if variable is not None:
        return _TOOL_VARIABLES.get(variable[1], "")
    name = text.rpartition("/")[2]
    return name if name != text and _PLAIN_NAME.match(name) else ""


def _entry(tables: ShellTables, path: str, name: str) -> Entry | None:
    """Find the entry of a program. `./test` is not the builtin; `jest@29` is `jest`, `lua5.4` is `lua`."""
    if name in _BUILTINS and "/" in path and not path.startswith("/"):
        return tables.find(f"{name}.sh")  # a script, possibly a test by its name
    if name == "exe" and path.startswith("/proc/"):
        return tables.find("sh")
    found = tables.find(name)
    if found is None:
        version = _VERSION.match(name)
        bare = (version[1] or version[2]) if version is not None else ""
        found = tables.find(bare) if bare and bare not in _BUILTINS else None
    return found


def _other_spelling(tables: ShellTables, found: Invocation) -> Entry | None:
    """Find the entry of `git-push` (`git push`), and of `RM`, which case-insensitive file systems run as `rm`."""
    path, name = found.words[0].text, found.name
    if path[:1] == "/" or "/" not in path:
        name = name.lower()
    program, dash, subcommand = name.partition("-")
    entry = tables.find(program) if dash and program == "git" else None
    if entry is not None and subcommand in entry.subcommands:
        found.words = [Word(program), Word(subcommand), *found.words[1:]]
        return entry
    return tables.find(name) if name != found.name else None


def _only_prints(found: Invocation) -> bool:
    """Return whether the program only prints its help or version.

    `--help` counts only before the first operand: many programs pass later options on, or have started by then.
    """
    if found.name in _HELP_OF_WINDOWS and [word.text for word in found.words[1:]] == ["/?"]:
        return True
    if found.entry is None or not found.raw_flags:
        return False
    if not found.operands and not found.values:
        # If the program runs its input, `-h` and `-V` are options of the run: `bash -h`, `dash -V`.
        reads = any(way.stdin for way in found.entry.runs)
        if found.raw_flags in _LONG_HELP or (found.raw_flags in _ASKS_VERSION and not reads):
            return True
        # `-h` is help for most programs, but not for `rm -h` or `shutdown -h`: those must not pass as harmless.
        if found.raw_flags == ["-h"] and not reads and "destructive" not in found.entry.categories:
            return True
    if "--help" not in found.raw_flags or found.entry.may_run:
        return False
    before = found.words[1 : found.operands[0]] if found.operands else found.words
    return any(word.text == "--help" for word in before)


def _asks_help(found: Invocation, entry: Entry) -> bool:
    """Return whether help on a subcommand is requested: `codex exec --help`, `helm help create`."""
    words = [word.text for word in found.words[1:]]
    if not words or not (words[0] == "help" or words[-1] in _HELPS) or any(word.dynamic for word in found.words):
        return False
    if words[0] == "help" and entry.subcommand("help") is None:
        return all(map(is_word, words)) and "test-or-build" not in entry.categories and not entry.may_run
    return (
        words[-1] in _HELPS
        and (found.subcommand != "" or not entry.may_run)
        and (words[-1] != "-h" or "destructive" not in entry.categories)
        and all(map(is_word, words[:-1]))
        and _RUNS.isdisjoint(words[:-2])
    )


def _by_verb(found: Invocation) -> None:
    """Classify a program by the verb after a noun, if its table does not list this verb."""
    spoken = found.subcommand.rpartition(" ")[2]
    if spoken not in ALSO_NOUNS and verb_kind(spoken):
        return
    verb = _verb(found)
    kind = verb_kind(verb)
    category = found.categories
    if kind == "looks" and (category in (_UNKNOWN, _NETWORK, _TEST) or (category == _INSTALL and verb in SURE)):
        found.categories = _READ_ONLY
    elif kind == "destroys" and category in (_READ_ONLY, _UNKNOWN, _NETWORK):
        found.categories = ("destructive",)
    elif kind == "changes" and category == _READ_ONLY:
        found.categories = _UNKNOWN


def _verb(found: Invocation) -> str:
    """Return the first verb among the operands directly after the program's name."""
    verb = ""
    for at in found.operands[:3]:
        word = found.words[at]
        # `celery worker -l info`: the word after an option may be its value.
        if word.dynamic or not is_word(word.text) or found.words[at - 1].text[:1] == "-":
            break
        if verb_kind(word.text):
            verb = word.text
            if verb not in ALSO_NOUNS:
                break
        elif verb:
            break
    return verb


def _by_sure_verb(found: Invocation) -> None:
    """Classify an unknown program as read-only if its verb looks in every program."""
    if _verb(found) in SURE or [word.text for word in found.words[1:]] in _LONG_HELP:
        found.categories = _READ_ONLY


def _by_output(found: Invocation) -> None:
    """Note a reading program's write to the file of an output option: `--output inventory.json`."""
    takes = found.entry.takes_value if found.entry else ()
    for at, word in enumerate(found.words[1:], 1):
        if not word.text.startswith(("-o", "--o")):  # as all of them do
            continue
        option, equals, value = word.text.partition("=")
        if option in _OUTPUTS or (option == "-o" and option in takes):
            value = value if equals else found.words[at + 1].text if at + 1 < len(found.words) else ""
            if _PATH.fullmatch(value):
                found.categories = (
                    (*found.categories, "file-write") if found.categories == _VCS_READ else ("file-write",)
                )
                found.writes = (option,)
                found.values.append((option, value))
                found.value_places.append(at if equals else at + 1)


def _by_file_name(found: Invocation, tables: ShellTables) -> None:
    """Apply the tables to a script file's name: `sh run_tests.sh` tests like `./run_tests.sh`."""
    if not found.operands or not any(way.file for way in found.runs):
        return
    word = found.words[found.operands[0]]
    if word.dynamic and word.text.endswith(("}", ")", "`")):
        return
    entry = tables.find(word.text.rpartition("/")[2])
    if entry is not None and "test-or-build" in entry.categories:
        found.categories, found.tests_by_name = _TEST, True


def _without_idle_writes(found: Invocation) -> None:
    """Drop writes only to standard output or /dev/null: `curl -o -`, `sort -o /dev/stdout`."""
    paths = _named_targets(found)
    if paths and all(map(harmless, paths)):
        found.categories = tuple([one for one in found.categories if one != "file-write"]) or _READ_ONLY
        found.writes = ()


def targets(found: Invocation) -> list[str]:
    """Return the written paths, by the program's entry."""
    return [path for path in _named_targets(found) if not harmless(path)]


def _named_targets(found: Invocation) -> list[str]:
    paths: list[str] = []
    words = found.words
    operands = [words[index].text for index in found.operands]
    for place in found.writes:
        # The tables name a place by the operand's position, by a fixed path, by `of=` or by its option.
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
                    # `sh -c -e text`: more options may come between `-c` and its text.
                    options = found.values[-1][1][:1] == "-"
        elif entry is not None and text != "-" and not operands and (entry.subcommands or entry.sub_globs):
            below = None if words[index].dynamic else entry.subcommand(text) or entry.subcommand(text.lower())
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
        # In `sudo -u x rm -rf y`, the words after `rm` belong to `rm`: the wrapper has one operand of its own.
        options = options and len(operands) <= own
        index += 1
    if entry is not None and entry.folders:
        _note_folders(found, entry.folders, seen)
    return told


def _note_folders(found: Invocation, folders: frozenset[str], seen: int) -> int:
    """Note the folders of options; the first `seen` values are known. Return the current number of values."""
    if seen == len(found.values):
        return seen
    for (option, value), at in zip(found.values[seen:], found.value_places[seen:], strict=True):
        key, equals, rest = value.partition("=")
        is_key = bool(equals) and f"{option} {key}" in folders  # `git -c core.worktree=x`
        if is_key or option in folders:
            value = rest if is_key else value  # noqa: PLW2901
            word = found.words[at]
            if word.text != value:
                dynamic, word = word.dynamic, Word(value)
                word.dynamic = dynamic
            found.folders.append(word)
    return len(found.values)


def _option(found: Invocation, text: str, index: int, takes: frozenset[str]) -> int:
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
            if text[1] != "-" and name not in takes:
                _cluster(found, text, len(name), index, takes)
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


def _cluster(found: Invocation, text: str, end: int, index: int, takes: frozenset[str]) -> None:
    """Record a short option with a `=` inside its value: `-oProxyCommand=x`, `-voProxyCommand=x`."""
    last = end if found.entry is not None and found.entry.clusters else 2
    at = next((at for at in range(1, last) if f"-{text[at]}" in takes), 0)
    if at:
        found.flags.update(f"-{letter}" for letter in text[1 : at + 1])
        found.values.append((f"-{text[at]}", text[at + 1 :]))
        found.value_places.append(index)


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
        if (clause.flags is None or found.flags) and _holds(clause, found):
            if clause.categories is not None:
                found.categories = clause.categories
                found.keeps = clause.runs is not None
            if clause.writes is not None:
                found.writes = clause.writes
            if clause.runs is not None:
                found.runs = clause.runs
            return


def _has_one(flags: Globs, found: Invocation) -> bool:
    """Return whether a program has one of some options, by its name or as written (`-j8`, `--x=y`)."""
    return flags.any_of(found.flags) or (not found.flags.issuperset(found.raw_flags) and flags.any_of(found.raw_flags))


def _holds(clause: Clause, found: Invocation) -> bool:
    if clause.alone and (found.operands or found.values):
        return False
    low, high = clause.count
    if not low <= len(found.operands) <= high:
        return False
    if clause.flags is not None and not _has_one(clause.flags, found):
        return False
    for option, globs in clause.values:
        if not any(option == name and value in globs for name, value in found.values):
            return False
    return (
        (clause.assigns is None or clause.assigns.any_of(found.assigns))
        and (clause.first is None or clause.first.any_of([found.words[at].text for at in found.operands[:1]]))
        and (clause.operands is None or clause.operands.any_of([found.words[at].text for at in found.operands]))
    )
