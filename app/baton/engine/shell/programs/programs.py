"""List programs with what they run, write and interpret. `commands` and `walk` read the syntax and call this."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from tree_sitter import Node

from baton.engine.code.model import Code
from baton.engine.shell import misreadings
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource, has_literal_text, input_of
from baton.engine.shell.expansion.values import as_value
from baton.engine.shell.expansion.words import KIND, SUBSTITUTION, Span, Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.model import Category, Program, Write
from baton.engine.shell.programs import arguments, builtins, fork_bombs, interpreters, targets
from baton.engine.shell.programs.interpreters import Interpreters
from baton.engine.shell.programs.listing import RUN_UNASKED, Listing
from baton.engine.shell.programs.redirects import Redirects
from baton.engine.shell.programs.texts import Texts
from baton.engine.shell.tables import classify, held_commands, unwrap
from baton.engine.shell.tables.tables import Entry, ShellTables

COPIES = frozenset(["tee", "cp", "mv", "ln", "install", "dd"])
_ARGS_FROM_STDIN = frozenset(["xargs", "gxargs", "parallel"])
_OPERANDS = frozenset(["operands", "operands-or-cwd", "first", "second", "last", "rest"])
_COMMAND_OPTIONS = frozenset(["-c", "--command", "--cmd", "--exec", "--run", "--script", "--shell", "-x"])
"""Options in which a program that no table knows may take a script."""
_QUESTIONS = frozenset(["--version", "--help", "-V", "-v", "-h", "version", "help"])
_SAME_SHELL = frozenset(["eval", "command", "builtin", "time"])
_MOVES = frozenset(["cd", "pushd", "popd"])
_CHANGES_SHELL = _MOVES | builtins.SETTERS.keys()
_EXITS = re.compile(r"-[a-z]*e[a-z]*\Z|errexit\Z")


class Programs(ABC):
    """Lists the programs of one line and what each of them runs. `parse` parses a nested script, within the limits.

    `moving` are functions that change the folder, `in_functions` the writes in function bodies; `moved` is True after
    any `cd`, `assigned` after any variable in front of a program. `meaning` counts the commands around that are listed
    once more with the values of their variables.
    """

    moved = False
    assigned = False
    exits_on_error = False
    ran_exec = False
    calls_left = misreadings.MAX_CALLS
    meaning = 0
    count = 0
    stand_ins = 0

    def __init__(self, tables: ShellTables, parse: Callable[[bytes], tuple[Node, bytes]]) -> None:
        self.tables = tables
        self.parse = parse
        self.listing = Listing()
        self.texts = Texts()
        self.interpreters = Interpreters(self.listing, self.texts)
        self.exports: list[str] = []
        self.variables = held_commands.HeldVariables(tables.held)
        self.calls = fork_bombs.Calls()
        self.in_functions: set[int] = set()
        self.moving: set[str] = set()
        self.functions: dict[str, tuple[Node, ScriptText]] = {}
        self.aliases: dict[str, str] = {}
        self.active: list[str] = []
        self.maybe_wrappers: list[tuple[list[Word], Position]] = []

    @abstractmethod
    def nested(
        self, text: str, outer: dict[str, tuple[str, list[Span]]], owner: int, place: Position
    ) -> list[Word] | None:
        """Walk a nested script; return what it prints, if that is known."""

    @abstractmethod
    def call(self, name: str, args: tuple[str, ...], place: Position) -> list[Word] | None:
        """Walk the body of a function that is called; return what it prints, if that is known."""

    def emit(
        self,
        argv: list[Word],
        assigns: tuple[str, ...],
        place: Position,
        *,
        function: bool = False,
        piped: bool = False,
        appended: tuple[str, ...] = (),
    ) -> classify.Invocation:
        """List a program, then what it runs.

        `piped` is True if it gets arguments from standard input (`xargs`); `appended` are these arguments.
        """
        self.count += len(argv)
        if self.count > misreadings.MAX_WORDS:
            raise UnreadableError(f"over {misreadings.MAX_WORDS} words")
        use = classify.use(self.tables, argv, assigns)
        if use.values:
            place = self.moved_by_options(use, place)
        listing = self.listing
        index = len(listing.programs)
        listing.programs.append(None)  # keep the place: what the program runs is listed after it
        runs = unwrap.NOTHING
        scripts: list[list[Word]] = []
        hidden = False
        code: Code | None = None
        if function:
            use.categories, use.writes = (), ()
        elif use.runs or (self.texts.files and _may_be_written(use)):
            runs = unwrap.find(use) if use.runs or use.entry is not None else unwrap.RunTargets(file=argv[0])
            scripts, hidden = self.interpreters.scripts(use, runs, index, place, piped=piped)
            code = self.interpreters.code(use, runs, index, place)
        wraps = bool(runs.commands or scripts or (code and code.runs))
        listing.programs[index] = Program(
            argv=tuple([word.text for word in argv]),
            name=use.name,
            subcommand=use.subcommand,
            flags=frozenset(use.flags),
            operands=tuple([argv[at].text for at in use.operands]),
            assigns=assigns,
            categories=interpreters.categories(use.categories, code)
            if code
            else _categories(use, wraps=wraps, hidden=hidden),
            input="arguments" if piped else "" if place.input is None else input_of(place.input),
            wraps=wraps or function,
            depth=place.depth,
            guess=listing.guessing,
            folder=place.folder.base,
            meant=self.meaning > 0,
            unnamed=not use.name
            and len(argv) > 1
            and not wraps
            and not place.defines
            and not _only_asks(argv)
            and (piped or not arguments.starts_itself(argv, place)),
            reads_files=code is not None and code.reads != (),
        )
        self.note(use, index, place, appended, passes_on=wraps or function or use.entry is None)
        if use.entry is None and use.name and len(argv) > 1 and not function:
            self.maybe_wrap(argv, place)
        if wraps or code:
            self.inside(use, runs, scripts, code, index, place, appended)
        if argv[0].dynamic and argv[0].spans:
            listing.feed_name(index, argv[0], place.text)
        if function or use.name in _CHANGES_SHELL:
            self.change_shell(use, argv, place, function=function)
        return use

    def note(
        self, use: classify.Invocation, index: int, place: Position, appended: tuple[str, ...], *, passes_on: bool
    ) -> None:
        """Note what a program writes, which files of the line it reads, and which commands its arguments hold."""
        if use.writes:
            found = targets.written(use)
            if appended and not _OPERANDS.isdisjoint(use.writes):
                found += [Write(target=path, reach=targets.reach_of(use)) for path in appended]
            self.listing.note(found, place, index)
        if use.runs or self.listing.written.sources:
            self.listing.uses_written(use, index, place)
        if use.assigns:
            self.assigned = True
        if self.assigned or self.exports or held_commands.may_hold(self.tables, use):
            self.held(use, index, place, passes_on=passes_on)

    def moved_by_options(self, use: classify.Invocation, place: Position) -> Position:
        """Return the position of a program whose options name the folder that it runs in: `git -C x`, `env -C x`."""
        if use.entry is not None and use.entry.mounts:
            self.listing.links.mount(targets.mounts(use, use.entry.mounts), place.folder.base)
        if not use.folders:
            return place
        here = place.below(subshell=True)
        for word in use.folders:
            here.folder.go("cd", [Word("cd"), word])
        return here

    def change_shell(self, use: classify.Invocation, argv: list[Word], place: Position, *, function: bool) -> None:
        """Follow what a program changes in the shell that runs it: its folder, and whether it ends on an error."""
        if function:
            if use.name in self.moving:
                place.folder.base, place.folder.others = None, ()
        elif use.name in _MOVES:
            self.moved = True
            place.folder.go(use.name, argv)
        elif use.name == "set" and place.certain and any(_EXITS.match(word.text) for word in argv[1:]):
            self.exits_on_error = True
        # What `set` makes of its arguments follows when its substitutions have been walked.
        if use.name in builtins.SETTERS and not function and use.name != "set":
            builtins.apply(use.name, argv, place, self.aliases, use.assigns)

    def maybe_wrap(self, argv: list[Word], place: Position) -> None:
        """Remember a program that no table knows: when the line is read, what may be its command is listed."""
        if not self.listing.guessing and len(self.maybe_wrappers) < misreadings.MAX_WRAPPERS:
            copied = place.below(subshell=True) if place.level < misreadings.MAX_DEPTH // 2 else None
            if copied is not None:
                self.maybe_wrappers.append((argv, copied))

    def guess(self) -> None:
        """List what the unknown programs of the line may run: each end of their arguments that starts with a known one."""
        self.listing.guessing = True
        words = scripts = 0
        for argv, place in self.maybe_wrappers:
            tried: set[str] = set()
            for at in range(1, len(argv)):
                word = argv[at]
                name = word.text.rpartition("/")[2]
                if not tried and argv[at - 1].text in _COMMAND_OPTIONS and scripts < misreadings.MAX_GUESSED_SCRIPTS:
                    scripts += 1
                    self.guess_script(word, place)
                if name in tried or word.dynamic or not self.may_matter(name):
                    continue
                tried.add(name)
                words += len(argv) - at
                if words > misreadings.MAX_GUESSED_WORDS:
                    raise misreadings.UnguessableError("too many arguments of an unknown program")
                self.emit(argv[at:], (), place.below(deeper=1, subshell=True))

    def guess_script(self, word: Word, place: Position) -> None:
        """List the programs of a text that may be a script; one that is no shell text has none."""
        first = len(self.listing.programs)
        try:
            self.script([word], len(self.listing.programs) - 1, place.below(deeper=1, subshell=True))
        except UnreadableError:
            self.listing.forget(first)

    def may_matter(self, name: str) -> bool:
        """Return whether a program does more than read and print with some arguments."""
        entry = self.tables.find(name) if name else None
        return entry is not None and not _only_prints(entry)

    def held(self, use: classify.Invocation, index: int, place: Position, *, passes_on: bool) -> None:
        """Walk the commands that options, variables and configuration keys of a program hold.

        `passes_on` is True for a program that starts others, which get its variables too.
        """
        found: list[Word] = []
        if len(self.exports) > self.variables.seen:
            self.variables.note(self.exports)
        if use.assigns or self.variables.waiting:
            found += [Word(text) for text in self.variables.taken(use, passes_on=passes_on)]
        if use.operands or use.raw_flags or self.variables.pairs or use.assigns:
            found += held_commands.in_arguments(self.tables, use, self.variables)
        for word in found:
            self.listing.feed_words(index, [word])
            self.script([word], index, place.below(deeper=1, subshell=True))

    def follow(self, use: classify.Invocation, listed: range, place: Position) -> bool:
        """List a command once more with the values of its variables, and settle what was listed as written.

        Returns:
            Whether there are such values.
        """
        argv = use.words
        if use.entry is not None and use.name and use.name not in builtins.SETTERS and _only_prints(use.entry):
            return False
        made = self.texts.filler.variants(argv, place.values)
        if not made:
            return False
        base, last, named = place.folder.base, None, self.texts.filler.whole
        categories: dict[Category, None] = {}
        self.meaning += 1
        for number, words in enumerate(made):
            # Each variant starts where the first one did. If they end in several folders, the folder is not known after them.
            if number and place.folder.base != base:
                last, place.folder.base = place.folder.base, base
            below = place.below(deeper=1)
            name = "" if words[0].dynamic else words[0].text
            at = len(self.listing.programs)
            self.emit(words, use.assigns, below, function=name in self.functions)
            program = self.listing.programs[at]
            named = named and program is not None and not program.unnamed
            categories.update(dict.fromkeys(program.categories if program is not None else ()))
            if name in self.functions:
                self.call(name, tuple([as_value(word) for word in words[1:]]), below)
        self.meaning -= 1
        if last is not None and last != place.folder.base:
            place.folder.lose(last)
        if named:
            self.listing.settle(listed, tuple(categories))
        return True

    def keep_text(self, found: Redirects, place: Position, printed: list[Word] | None, *, by: str) -> None:
        """Remember what a redirection writes; what others run without being asked (a hook, `~/.bashrc`) is read at once."""
        self.texts.keep_text(found, place, printed, by=by)
        for target in found.targets:
            if printed and has_literal_text(printed) and RUN_UNASKED.search(target):
                self.script(printed, len(self.listing.programs) - 1, place.below(deeper=1, subshell=True))

    def expand_alias(self, name: str, rest: list[Word], place: Position) -> None:
        """Walk what an alias stands for."""
        if name not in self.active:
            self.active.append(name)
            self.script([Word(self.aliases[name]), *rest], len(self.listing.programs) - 1, place.below(deeper=1))
            self.active.pop()

    def inside(
        self,
        use: classify.Invocation,
        runs: unwrap.RunTargets,
        scripts: list[list[Word]],
        code: Code | None,
        index: int,
        place: Position,
        appended: tuple[str, ...],
    ) -> None:
        """Walk what a program runs."""
        if code is not None:
            around = place.below(subshell=True) if use.assigns else place
            arguments.give(use, runs, around)
            self.inside_code(code, index, around)
        here = place.below(deeper=1, subshell=use.name not in _SAME_SHELL)
        piped = use.name in _ARGS_FROM_STDIN
        if piped:
            appended = targets.appended(use, place.input)
        arguments.give(use, runs, here)
        first = len(self.listing.writes)
        for argv, assigns in runs.commands:
            self.emit(argv, assigns, here, piped=piped, appended=appended)
            if piped:
                self.from_input(use, argv, assigns, here)
        if use.entry is not None and use.entry.names:
            self.listing.found_by(use, first)
        for script in scripts:
            self.script(script, index, here)
            if piped:
                self.scripts_from_input(use, script, index, here)

    def from_input(self, use: classify.Invocation, argv: list[Word], assigns: tuple[str, ...], here: Position) -> None:
        """List the commands that `xargs` makes of an input that stands in the line."""
        self.meaning += 1
        for words in arguments.from_input(use, argv, self.texts.arguments_text(use, here)):
            self.emit(words, assigns, here)
        self.meaning -= 1

    def scripts_from_input(self, use: classify.Invocation, script: list[Word], index: int, here: Position) -> None:
        """Walk the scripts that `parallel` makes of an input that stands in the line."""
        for words in arguments.from_input(use, script, self.texts.arguments_text(use, here)):
            self.script(words, index, here)

    def inside_code(self, code: Code, index: int, place: Position) -> None:
        """Note what code writes and reads, and list what it runs."""
        paths = [path for path in interpreters.paths(code) if not classify.harmless(path)]
        self.listing.note([Write(target=path) for path in paths], place, index)
        self.listing.note_reads(map(interpreters.as_path, code.reads), place, index)
        for run in code.runs:
            here = place.below(deeper=1, subshell=True)
            here.input = StdinSource([Span(index, index + 1)]) if run.fed else None
            if run.folder:
                here.folder.go("cd", [Word("cd"), interpreters.word(run.folder)])
            if run.words:
                self.emit([interpreters.word(text) for text in run.words], (), here)
            else:
                self.script([Word(interpreters.word(run.script).text)], index, here)

    def script(self, script: list[Word], owner: int, place: Position) -> None:
        """Read words as a shell script; a variable stands in for each substitution that the outer shell makes."""
        outer: dict[str, tuple[str, list[Span]]] = {}
        pieces: list[str] = []
        for word in script:
            if all(kind & KIND != SUBSTITUTION for _, kind in word.parts):
                pieces.append(word.text)
                continue
            spans = word.spans
            piece = ""
            for text, kind in word.parts:
                if kind & KIND == SUBSTITUTION:
                    self.stand_ins += 1
                    name = f"__stand_in_{self.stand_ins}_"
                    outer[name] = (text, spans)
                    piece += "$" + name
                else:
                    piece += text
            pieces.append(piece)
        joined = " ".join(pieces)
        if outer and any("__stand_in_" in word.text for word in script):
            raise UnreadableError("a name that is reserved here")
        self.nested(joined, outer, owner, place)


def _may_be_written(use: classify.Invocation) -> bool:
    """Return whether a program is a file that the line may have written, or runs one that it is not told of."""
    return "/" in use.words[0].text if use.entry is None else bool(use.entry.files)


def _categories(use: classify.Invocation, *, wraps: bool, hidden: bool) -> tuple[Category, ...]:
    """Return the categories: a wrapper has none of its own, unless its table says so; a script out of sight is `unknown`."""
    kept = () if wraps and not use.keeps else use.categories
    if not hidden or "unknown" in kept or use.tests_by_name:
        return kept
    return (*kept, "unknown") if use.keeps else ("unknown",)


def _only_prints(entry: Entry) -> bool:
    """Return whether a program reads and prints, whatever its arguments are."""
    return entry.categories == ("read-only",) and not (
        entry.clauses or entry.subcommands or entry.runs or entry.writes or entry.holds
    )


def _only_asks(argv: list[Word]) -> bool:
    """Return whether a program is only asked for its version or help."""
    return all(word.text in _QUESTIONS for word in argv[1:])
