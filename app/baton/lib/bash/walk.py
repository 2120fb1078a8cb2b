"""Walk a parsed line: list its programs with their commands, writes and scripts."""

import re
from collections.abc import Callable, Iterable

from tree_sitter import Node

from baton.lib.bash import blocks, misreadings
from baton.lib.bash.expansion import outputs, words
from baton.lib.bash.expansion.scripts import Position, ScriptText, StdinSource, has_literal_text, input_of
from baton.lib.bash.expansion.values import (
    Alternatives,
    Filler,
    Unknown,
    Value,
    Values,
    appended,
    as_value,
    with_element,
)
from baton.lib.bash.expansion.words import EXPANSION, KIND, LITERAL, QUOTED, SUBSTITUTION, ProgramSpan, Word
from baton.lib.bash.misreadings import UnreadableError
from baton.lib.bash.model import Category, Program, Write
from baton.lib.bash.programs import arguments, builtins, interpreters, redirects, targets
from baton.lib.bash.programs.interpreters import Interpreters
from baton.lib.bash.programs.listing import RUN_UNASKED, Listing
from baton.lib.bash.programs.redirects import Redirects
from baton.lib.bash.programs.texts import Texts
from baton.lib.bash.tables import classify, held_commands, unwrap
from baton.lib.bash.tables.tables import Entry, ShellTables
from baton.lib.code.languages.unparsed import read_dialogue
from baton.lib.code.model import Code

# Find endlessly recursive functions in the call graph.


class Calls:
    """The unconditional calls between functions. A call forks in a pipeline, after `&` or in a subshell."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, bool]] = {}

    def add(self, caller: str, called: str, *, forks: bool) -> None:
        """Note a call."""
        below = self.calls.setdefault(caller, {})
        below[called] = below.get(called, False) or forks

    def endless(self) -> bool:
        """Return whether a function calls itself, directly or through others, with a fork on the way."""
        return any(self._returns(caller) for caller in list(self.calls)[:100])

    def _returns(self, start: str) -> bool:
        seen: set[tuple[str, bool]] = set()
        todo = [(start, False)]
        while todo:
            here, forked = todo.pop()
            for called, forks in self.calls.get(here, {}).items():
                state = (called, forked or forks)
                if called == start and state[1]:
                    return True
                if called in self.calls and state not in seen:
                    seen.add(state)
                    todo.append(state)
        return False


COPIES = frozenset(["tee", "cp", "mv", "ln", "install", "dd"])
_ARGS_FROM_STDIN = frozenset(["xargs", "gxargs", "parallel"])
_OPERANDS = frozenset(["operands", "operands-or-cwd", "first", "second", "last", "rest"])
_COMMAND_OPTIONS = frozenset(["-c", "--command", "--cmd", "--exec", "--run", "--script", "--shell", "-x"])
"""Options of unknown programs that may take a script."""
_HOOK_OPTION = re.compile(
    r"--?[a-z][a-z-]*-(?:command|cmd|hook|exec|pipe|shell)(=|\Z)|--(?:command|cmd|exec|run|shell)(=)"
)
"""Options of all programs that may take a script: `--pre-hook x`, `--password-command=x`."""
_TOOLS: tuple[tuple[Category, ...], ...] = (("test-or-build",), ("unknown",))
_CARRIED = frozenset(["rm", "git", "dd", "shred", "sh", "bash", "zsh", "find", "chmod", "chown", "mv", "curl", "wget"])
"""Programs looked for behind a tool of the table, such as a watcher or a starter of machines."""
_ALSO_WORDS = frozenset(["screen", "script"])
"""Programs whose names are common words of other programs, unless an option follows: `nx-cli script build`."""
_QUESTIONS = frozenset(["--version", "--help", "-V", "-v", "-h", "version", "help"])
_SAME_SHELL = frozenset(["eval", "command", "builtin", "time"])
_MOVES = frozenset(["cd", "pushd", "popd"])
_CHANGES_SHELL = _MOVES | builtins.SETTERS.keys()
_EXITS = re.compile(r"-[a-z]*e[a-z]*\Z|errexit\Z")
_MOST_ROUNDS = 16  # maximum followed rounds of a loop for a value growing in each
_KEY = re.compile(r"\[([\w.-]+)\]=(.*)\Z", re.DOTALL)
Assigned = tuple[str, Node | None, Word]  # `NAME=` or `NAME+=`, the node of an array, and the value
_KNOWN_HOME = re.compile(r"[^$`]+\Z|\$\(mktemp\b[^$`;&|]*\)\Z")  # a home folder named or created by the line
_REDIRECTS = frozenset(["file_redirect", "herestring_redirect"])
_PREFIXES = frozenset([b"time", b"coproc"])
_DECLARES = frozenset(["declare", "typeset"])
_LOCAL = frozenset(["local", "declare", "typeset"])  # commands that make a variable local to its function
_DECLARATION_WORDS = frozenset(
    ["export", "declare", "typeset", "local", "readonly", "unset", "unsetenv", "variable_name"]
)
_DEEPEST_CALLS = 6
_DEEPEST_RECURSION = 3
_SETS = re.compile(rb"(?<![\w$.{-])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(?!=)")
_DEPENDS = re.compile(rb"[$=`]|\b(?:read|set|shift|alias|mapfile)\b")
"""Reasons for a function to act differently when called than its words say."""
_LOOPS = frozenset(["for_statement", "c_style_for_statement"])
_DECLARING = frozenset(["declaration_command", "unset_command"])
_ASSIGNING = frozenset(["", "variable_assignment", "variable_assignments"])
_LEAVES = re.compile(rb"\b(?:exit|return|break|continue|die|fail|abort|exec)\b")
_UNESCAPE_TICKS_QUOTED = re.compile(r'\\([$`\\"])')


class _Parts:
    """The children of a command, sorted by kind; the text between them is checked on the way."""

    def __init__(self, node: Node, src: bytes) -> None:
        self.name: Node | None = None
        self.before_name = at = node.start_byte
        self.args: list[Node] = []
        self.assigns: list[Node] = []
        self.redirects: list[Node] = []
        self.subshells: list[Node] = []
        touches = True
        for child in node.children:
            kind = child.type
            start = child.start_byte
            if kind == "comment":
                misreadings.no_comment(src, child)
            if kind in _REDIRECTS:
                misreadings.redirection(src, at, start)
            elif touches:
                misreadings.within(src, at, start)
            else:
                misreadings.apart(src, at, start)
            touches = kind == "$"
            if kind == "command_name":
                self.name, self.before_name = child, at
            elif kind == "variable_assignment":
                self.assigns.append(child)
            elif kind in _REDIRECTS:
                self.redirects.append(child)
            elif kind == "subshell":
                self.subshells.append(child)
            else:
                self.args.append(child)
            at = child.end_byte

    def check(self, args: list[Node], src: bytes) -> Node:
        """Return the node of the program's name.

        Raises:
            UnreadableError: If it cannot be a program's name.
            CorrectableError: If it is a prefix (`time`, `coproc`) of a compound command.
        """
        name = self.name
        if name is None:
            raise UnreadableError("a command without a name")
        if src[name.start_byte : name.end_byte] in _PREFIXES:
            misreadings.prefix(src, name, args)
        elif self.subshells:
            raise UnreadableError("a subshell instead of a word")
        misreadings.name(src, self.before_name, name.start_byte, name.end_byte)
        return name


class Walk:
    """Lists the programs of one line and their commands. `parse` parses a nested script, within the limits."""

    def __init__(self, tables: ShellTables, parse: Callable[[bytes], tuple[Node, bytes]]) -> None:
        self.tables = tables
        self.parse = parse
        self.listing = Listing()
        self.texts = Texts()
        self.interpreters = Interpreters(self.listing, self.texts)
        self.exports: list[str] = []
        self.variables = held_commands.HeldVariables(tables.held)
        self.aliases: dict[str, str] = {}
        self.functions: dict[str, tuple[Node, ScriptText]] = {}
        self.calls = Calls()
        self.calls_left = misreadings.MAX_CALLS
        self.active: list[str] = []  # functions and aliases being walked
        self.in_functions: set[int] = set()  # writes in function bodies, by index
        self.moving: set[str] = set()  # functions that change the folder
        self.maybe_wrappers: list[tuple[list[Word], Position, bool]] = []
        self.moved = False  # true after any `cd`
        self.assigned = False  # true after any variable before a program
        self.exits_on_error = False
        self.ran_exec = False
        self.meaning = 0  # enclosing commands being listed again with the values of their variables
        self.count = 0  # words of all programs so far
        self.stand_ins = 0

    def emit(
        self,
        argv: list[Word],
        assigns: tuple[str, ...],
        place: Position,
        *,
        function: bool = False,
        piped: str = "",
        appended: tuple[str, ...] = (),
    ) -> classify.Invocation:
        """List a program, then its commands.

        `piped` is the placeholder of arguments from standard input (`xargs`), or ""; `appended` are these arguments.
        """
        self.count += len(argv)
        if self.count > misreadings.MAX_WORDS:
            raise UnreadableError(f"over {misreadings.MAX_WORDS} words")
        use = classify.use(self.tables, argv, assigns)
        argv = use.words
        if use.values or (use.entry is not None and use.entry.folders):
            place = self.moved_by_options(use, place)
        # Most words are bare.
        marked = [word for word in argv if word.parts or word.dynamic]
        listing = self.listing
        index = len(listing.programs)
        listing.programs.append(None)  # reserve the index: the program's commands are listed after it
        runs = unwrap.NOTHING
        scripts: list[list[Word]] = []
        hidden = False
        code: Code | None = None
        if function:
            use.categories, use.writes = (), ()
        elif use.runs or (self.texts.files and _may_be_written(use)):
            runs = unwrap.find_targets(use) if use.runs or use.entry is not None else unwrap.RunTargets(file=argv[0])
            scripts, hidden = self.interpreters.scripts(use, runs, index, place, piped=piped)
            code = self.interpreters.code(use, runs, index, place)
        wraps = bool(runs.commands or scripts or (code and code.runs))
        fed = "" if place.input is None else input_of(place.input)
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
            input="arguments" if piped or (marked and _names_results(argv)) else fed,
            wraps=wraps or function,
            depth=place.depth,
            guess=listing.guessing,
            folder=place.folder.base,
            meant=self.meaning > 0,
            unnamed=not use.name
            and (not listing.guessing or argv[0].dynamic)
            and (len(argv) > 1 or fed == "pipe")
            and not wraps
            and not place.defines
            and not (len(argv) > 1 and all(word.text in _QUESTIONS for word in argv[1:]))
            and (piped != "" or not arguments.starts_itself(argv, place)),
            reads_files=code is not None and code.reads != (),
            quoted=frozenset([word.text for word in marked if word.keeps_globs]) if marked else frozenset(),
        )
        if place.depth and place.input is not None:  # `curl … | bash -c "$(cat)"`
            listing.printed_files[index] = place.input
        self.note(use, index, place, appended, passes_on=wraps or function or use.entry is None)
        if use.name and not function and (use.entry is None or use.raw_flags or use.categories in _TOOLS):
            self.maybe_wrap(use, argv, place)
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
        """Note a program's writes, the files of the line it reads, and the commands in its arguments."""
        if use.writes:
            found = targets.written(use)
            if f"{use.name} {use.subcommand}".strip() in targets.PATCHERS:
                found += targets.patched_by(use, self.texts.patches(use, place))
            if appended and not _OPERANDS.isdisjoint(use.writes):
                found += [Write(target=path, reach=targets.reach_of(use)) for path in appended]
            self.listing.add_writes(found, place, index)
        if use.runs or self.listing.written.sources:
            self.listing.uses_written(use, index, place)
        if use.assigns:
            self.assigned = True
        if self.assigned or self.exports or held_commands.may_hold(self.tables, use):
            self.held(use, index, place, passes_on=passes_on)

    def moved_by_options(self, use: classify.Invocation, place: Position) -> Position:
        """Return the position of a program with options or variables for its folder: `git -C x`, `GIT_WORK_TREE=x git`."""
        if use.entry is not None and use.entry.mounts:
            self.listing.links.mount(targets.mounts(use, use.entry.mounts), place.folder.base)
        folders = list(use.folders)
        for name in [one[1:] for one in (use.entry.folders if use.entry is not None else ()) if one[0] == "$"]:
            given = [one.partition("=")[2] for one in use.assigns if one.startswith(f"{name}=")]
            folders += [Word(one) for one in given or place.values.get(name) if isinstance(one, str)]
        if not folders:
            return place
        here = place.below(subshell=True)
        for word in folders:
            here.folder.go("cd", [Word("cd"), word])
        return here

    def change_shell(self, use: classify.Invocation, argv: list[Word], place: Position, *, function: bool) -> None:
        """Apply a program's changes to its shell: the folder, and whether it exits on an error."""
        if function:
            if use.name in self.moving:
                place.folder.base, place.folder.others = None, ()
        elif use.name in _MOVES:
            self.moved = True
            left = place.folder.base
            place.folder.go(use.name, argv)
            if left:
                place.values.set("OLDPWD", (left,))
        elif use.name == "set" and place.certain and any(_EXITS.match(word.text) for word in argv[1:]):
            self.exits_on_error = True
        # The effect of `set` follows after the walk of its substitutions.
        if use.name in builtins.SETTERS and not function and use.name != "set":
            builtins.apply(use.name, argv, place, self.aliases, use.assigns)

    def maybe_wrap(self, use: classify.Invocation, argv: list[Word], place: Position) -> None:
        """Remember an unknown program, or an option named after a command: these are listed at the end of the line."""
        known = use.entry is not None and not _may_carry(use)
        if (len(argv) == 1 and place.input is None) or (known and not any(map(_HOOK_OPTION.match, use.raw_flags))):
            return
        few = len(self.maybe_wrappers) < misreadings.MAX_WRAPPERS
        if not self.listing.guessing and few and place.level < misreadings.MAX_DEPTH // 2:
            self.maybe_wrappers.append((argv, place.below(subshell=True), known))

    def guess(self) -> None:
        """List the possible commands of unknown programs: each end of their arguments starting with a known program."""
        self.listing.guessing = True
        words = scripts = 0
        for argv, place, known in self.maybe_wrappers:
            tried: set[str] = set()
            if not known and place.input is not None and place.input.script:
                for run in read_dialogue("\n".join([word.text for word in place.input.script])).runs:
                    self.guess_script(Word(run.script), place)
            for at in range(1, len(argv)):
                word = argv[at]
                name = word.text.rpartition("/")[2]
                may_be = not tried and scripts < misreadings.MAX_GUESSED_SCRIPTS
                script = _maybe_script(argv, at, known=known) if may_be else None
                if script is not None:
                    scripts += 1
                    self.guess_script(script, place)
                if known or name in tried or word.dynamic or not self.may_matter(name):
                    continue
                if name in _ALSO_WORDS and not any(option.text[:1] == "-" for option in argv[at + 1 : at + 2]):
                    continue
                tried.add(name)
                words += len(argv) - at
                if words > misreadings.MAX_GUESSED_WORDS:
                    raise misreadings.UnguessableError("too many arguments of an unknown program")
                self.emit(argv[at:], (), place.below(deeper=1, subshell=True))

    def guess_script(self, word: Word, place: Position) -> None:
        """List the programs of a possible script; other text has none."""
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
        """Walk the commands in a program's options, variables and configuration keys.

        `passes_on`: the program starts others, which get its variables too.
        """
        if len(self.exports) > self.variables.seen:
            self.variables.add(self.exports)
        if use.assigns or self.variables.waiting:
            self.run_held([Word(text) for text in self.variables.taken(use, passes_on=passes_on)], index, place)
        if use.operands or use.raw_flags or self.variables.pairs or use.assigns:
            text_of = (lambda path: self.texts.text_of_file(Word(path), place)) if self.texts.files else None
            self.run_held(held_commands.in_arguments(self.tables, use, self.variables, text_of), index, place)

    def run_held(self, found: Iterable[Word], index: int, place: Position) -> None:
        """Walk commands from a program's arguments or variables."""
        words = list(found)
        if not words:
            return
        # An alias defined by a variable starts git with that variable again; it must not be read endlessly.
        pairs, self.variables.pairs = self.variables.pairs, {}
        for word in words:
            self.listing.feed_words(index, [word])
            self.script([word], index, place.below(deeper=1, subshell=True))
        self.variables.pairs |= pairs

    def follow(self, use: classify.Invocation, listed: range, place: Position) -> bool:
        """List a command again with the values of its variables, and settle the listing as written.

        Returns:
            Whether there are such values.
        """
        argv = use.words
        if use.entry is not None and use.name and use.name not in _CHANGES_SHELL and _only_prints(use.entry):
            return False
        made = self.texts.filler.variants(argv, place.values)
        if not made:
            return False
        base, last, named = place.folder.base, None, self.texts.filler.whole
        categories: dict[Category, None] = {}
        self.meaning += 1
        for number, variant in enumerate(made):
            # Each variant starts in the first one's folder. If they end in several folders, the folder is unknown
            # afterwards.
            if number and place.folder.base != base:
                last, place.folder.base = place.folder.base, base
            below = place.below(deeper=1)
            name = "" if variant[0].dynamic else variant[0].text
            at = len(self.listing.programs)
            self.emit(variant, use.assigns, below, function=name in self.functions)
            program = self.listing.programs[at]
            named = named and program is not None and not program.unnamed
            categories.update(dict.fromkeys(program.categories if program is not None else ()))
            if name in self.functions:
                self.call(name, tuple([as_value(word) for word in variant[1:]]), below)
        self.meaning -= 1
        if last is not None and last != place.folder.base:
            place.folder.lose(last)
        if named:
            self.listing.settle(listed, tuple(categories))
        return True

    def keep_text(self, found: Redirects, place: Position, printed: list[Word] | None) -> None:
        """Remember a redirection's text; a file run automatically (a hook, `~/.bashrc`) is read at once."""
        self.texts.keep_text(found, place, printed)
        for target in found.targets:
            if printed and has_literal_text(printed) and RUN_UNASKED.search(target):
                self.script(printed, len(self.listing.programs) - 1, place.below(deeper=1, subshell=True))

    def expand_alias(self, name: str, rest: list[Word], place: Position) -> None:
        """Walk the text of an alias."""
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
        """Walk the commands, scripts and code of a program."""
        if code is not None:
            around = place.below(subshell=True) if use.assigns else place
            arguments.give(use, runs, around)
            self.inside_code(code, index, around)
        here = place.below(deeper=1, subshell=use.name not in _SAME_SHELL)
        piped = (arguments.token(use) or "{}") if use.name in _ARGS_FROM_STDIN else ""
        if piped:
            appended = targets.appended(use, place.input)
            here.input = self.listing.arguments_source(use, here)
        arguments.give(use, runs, here)
        first = len(self.listing.writes)
        for argv, assigns in runs.commands:
            self.emit(argv, assigns, here, piped=piped, appended=appended)
            if piped:
                self.from_input(use, argv, assigns, here)
        if use.entry is not None and use.entry.names:
            self.listing.found_by(use, first)
        given = arguments.given(use, runs) if scripts else None
        if given is not None and appended and place.input is not None:
            given = [*given, arguments.from_programs(place.input)]
        before = place.text.give(given) if given is not None else {}
        for script in scripts:
            self.script(script, index, here)
            if piped:
                self.scripts_from_input(use, script, index, here)
        if given is not None:
            place.text.give([])
            place.text.variables |= before

    def from_input(self, use: classify.Invocation, argv: list[Word], assigns: tuple[str, ...], here: Position) -> None:
        """List the commands of `xargs` for an input in the line."""
        self.meaning += 1
        for variant in arguments.from_input(use, argv, self.texts.arguments_text(use, here)):
            self.emit(variant, assigns, here)
        self.meaning -= 1

    def scripts_from_input(self, use: classify.Invocation, script: list[Word], index: int, here: Position) -> None:
        """Walk the scripts of `parallel` for an input in the line."""
        for variant in arguments.from_input(use, script, self.texts.arguments_text(use, here)):
            self.script(variant, index, here)
            if len(variant) > 1:  # `parallel` quotes inserted arguments
                self.emit(variant, (), here)

    def inside_code(self, code: Code, index: int, place: Position) -> None:
        """Note the writes and reads of code, and list its commands."""
        paths = (interpreters.as_path(write.path) for write in code.writes)
        self.listing.add_writes([Write(target=path) for path in paths if not classify.harmless(path)], place, index)
        self.listing.note_reads(map(interpreters.as_path, code.reads), place, index)
        for run in code.runs:
            here = place.below(deeper=1, subshell=True)
            here.input = StdinSource([ProgramSpan(index, index + 1)]) if run.fed else None
            if run.folder:
                here.folder.go("cd", [Word("cd"), interpreters.word(run.folder)])
            if run.words:
                self.emit([interpreters.word(text) for text in run.words], (), here)
            else:
                self.script([Word(interpreters.word(run.script).text)], index, here)
        if code.runs_input and place.input is not None and place.input.script:
            given = self.texts.filled(place.input.script, place)
            self.guess_script(Word("\n".join([one.text for one in given])), place)

    def script(self, script: list[Word], owner: int, place: Position) -> None:
        """Read words as a shell script; a placeholder variable replaces each substitution of the outer shell."""
        outer: dict[str, tuple[str, list[ProgramSpan]]] = {}
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
            raise UnreadableError("a reserved name")
        self.nested(joined, outer, owner, place)

    # Assignments: variables, arrays, references and positional parameters

    def word(self, node: Node, text: ScriptText) -> Word:
        """Read a word and note the programs with output in it."""
        word = words.read(node, text.src)
        return text.bind(word) if word.dynamic or text.pattern is not None else word

    def assignment(self, node: Node, text: ScriptText, kept: list[Assigned] | None = None) -> Word:
        """Read `NAME=value` as one word. It is added to `kept`, the variables of later commands."""
        src = text.src
        value = node.child_by_field_name("value")
        if value is None:
            word = Word(src[node.start_byte : node.end_byte].decode())
            if kept is not None:
                kept.append((word.text, None, Word("")))
            return word
        name = src[node.start_byte : value.start_byte]
        # `A= cmd`: the parser takes the next word for the value. To bash the value is empty, and `cmd` runs.
        if name[-1:] != b"=":
            end = src.rindex(b"=", node.start_byte, value.start_byte) + 1
            gap = src[end : value.start_byte]
            raise misreadings.CorrectableError(src, end, value.start_byte, b"'' " if gap.strip(b"\\\n") else b"")
        if value.type == "array":
            word = Word(src[value.start_byte : value.end_byte].decode())
            word.subs = words.find_substitutions(value, src, quotes=True)
        else:
            word = words.read(value, src)
        target = node.child_by_field_name("name")
        if target is not None and target.type == "subscript":
            word.subs = words.find_substitutions(target, src, quotes=True) + word.subs
        text.bind(word)
        if kept is not None:
            if word.spans:
                text.variables[name.decode().rstrip("+=")] = word.spans
            kept.append((name.decode(), value if value.type == "array" else None, word))
            named = Word(name.decode() + word.text)
            named.subs = word.subs
            return named
        word.text = name.decode() + word.text
        return word

    def set_variables(self, kept: list[Assigned], place: Position, *, local: bool = False) -> None:
        """Set variables to their values, after the walk of their substitutions."""
        for written, array, word in kept:
            name, _, index = written.rstrip("+=").partition("[")
            values = self.value_of(array, word, place, name)
            if index:
                place.values.set(f"{name}[{index.rstrip(']')}]", values)
                place.values.forget(name)
                values = with_element(place.values.get(name), index.rstrip("]"), values)
            elif written.endswith("+="):
                before = place.values.get(name) or ("",)
                values = (*appended(before, values), *self.grown(written, array, word, place))
            elif word.dynamic and len(values) > 1:
                values = (*values, *self.grown(written, array, word, place))
            place.values.set(name, values, certain=place.certain, local=local)

    def value_of(self, array: Node | None, word: Word, place: Position, name: str) -> Alternatives:
        """Return an assignment's values."""
        return self.texts.filler.text(word, place.values) if array is None else self.items(array, place, name)

    def grown(self, written: str, array: Node | None, word: Word, place: Position) -> Alternatives:
        """Return a variable's value after a loop that appends in each round: `for i in a b; do x="$x $i"; done`."""
        name = written.rstrip("+=")
        if array is None and not written.endswith("+=") and name not in word.text:
            return ()
        variable, rounds = (
            looped(self.texts.filler, [word], place.values, name) if array is None else self.looped(array, place, name)
        )
        if not variable:
            return ()
        here = place.below()
        here.values = Values(place.values)
        value: Value = next((one for one in place.values.get(name) if not isinstance(one, Unknown)), "")
        for one in rounds:
            here.values.set(variable, (one,))
            here.values.set(name, (value,))
            added = self.value_of(array, word, here, name)[:1]
            if not added or isinstance(added[0], Unknown):
                return ()
            value = appended((value,), added)[0] if written.endswith("+=") else added[0]
        return (value,)

    def looped(self, array: Node, place: Position, name: str) -> tuple[str, Alternatives]:
        """Return the loop variable in the words of an array, and its values."""
        try:
            return looped(
                self.texts.filler, [self.word(node, place.text) for node in array.named_children], place.values, name
            )
        except UnreadableError:
            return "", ()

    def items(self, array: Node, place: Position, name: str) -> Alternatives:
        """Return the values of an array, for each combination of alternatives in it."""
        try:
            found = [self.word(node, place.text) for node in array.named_children]
        except UnreadableError:
            return ((Unknown("${…[@]}"),),)
        for word in found:
            key = _KEY.match(word.text)
            if key is not None:
                if not word.dynamic:
                    place.values.set(f"{name}[{key[1]}]", (key[2],))
                _without_key(word)
        made = self.texts.filler.variants(found, place.values) or [found]
        return tuple([tuple([as_value(word) for word in one]) for one in made])

    def refer(self, declares: str, argv: list[Word], kept: list[Assigned], place: Position) -> None:
        """Follow `declare -n x=y` and `unset -n x`: the name refers to another variable."""
        references = place.values.references
        if declares == "unset":
            for word in argv[1:]:
                references.pop(word.text, None)
        for written, _, word in kept:
            name, target = written.rstrip("+="), self.texts.filler.text(word, place.values)[0]
            references.pop(name, None)
            if isinstance(target, str) and target.isidentifier() and target != name and target not in references:
                references[name] = target
            else:
                place.values.forget(name)

    def set_arguments(self, argv: list[Word], place: Position) -> None:
        """Follow `set -- "$@" $x`, in each round of its loop."""
        filler = self.texts.filler
        variable, rounds = looped(filler, argv, place.values)
        here = place.below()
        here.values = Values(place.values)
        for one in rounds or ("",):
            if variable:
                here.values.set(variable, (one,))
            made = filler.variants(argv, here.values)
            builtins.apply("set", made[0] if made else argv, here, self.aliases)
        if here.values.args is not None:
            place.values.args = here.values.args

    # Simple commands

    def command(self, node: Node, extra: list[Node], place: Position, found: Redirects) -> list[Word] | None:
        """Walk a simple command; return its output, if known."""
        text = place.text
        parts = _Parts(node, text.src)
        inner = redirects.NONE
        if parts.redirects:
            holder = blocks.Element(None)
            holder.redirects = parts.redirects
            inner = redirects.read(self, holder, place)
            place = _below(place, inner, found, parts, text.src)
        args = parts.args
        if extra or inner.words:
            args = sorted(args + extra + inner.words, key=lambda arg: arg.start_byte)
        name = parts.check(args, text.src)
        argv = [self.word(name.children[0] if name.child_count == 1 else name, text), *self.args(args, text)]
        assigns = [self.assignment(child, text) for child in parts.assigns]
        return self.run(argv, assigns, place, found, inner, parts.subshells)

    def run(
        self,
        argv: list[Word],
        assigns: list[Word],
        place: Position,
        found: Redirects,
        inner: Redirects,
        subshells: list[Node],
    ) -> list[Word] | None:
        """List a command and follow its effects; return its output, if known.

        `found` are the redirections around it, `inner` those in it.
        """
        first = len(self.listing.programs)
        if (home := place.values.get("HOME")) and len(home) == 1 and _KNOWN_HOME.match(str(home[0])):
            argv = [field for word in argv for field in self.at_home(word, place)]
        called = "" if argv[0].dynamic else argv[0].text
        # `emit` applies a `cd` to the folder; a command followed again starts here.
        base = place.folder.base
        changes = _may_change(argv)
        given = tuple([self.given(word, place) for word in assigns]) if assigns else ()
        use = self.emit(argv, given, place, function=called in self.functions)
        last = len(self.listing.programs)
        self.ran_exec = use.name == "exec" and not use.operands
        if found.targets or inner.targets or found.feeds or inner.feeds or found.sources or inner.sources:
            self.listing.note_writes(found, place, first)
            self.listing.note_writes(inner, place, first)
        if place.function and place.certain and called:
            self.calls.add(place.function, called, forks=place.forks)
        for below in subshells:
            self.compound(below, "subshell", place)
        if assigns or changes:
            self.word_substitutions(assigns + argv, place)
        if use.name in COPIES:
            self.texts.keep_copies(use, place)
        if inner.subs:
            self.substitutions(inner.subs, place, StdinSource([self.span_from(first)], place.input))
        printed = self.effects(use, called, range(first, last), base, place)
        if place.captured or found.targets or inner.targets:
            printed = self.texts.printed(use, place) if called not in self.functions else printed
            if inner.output and inner.targets:
                self.keep_text(inner, place, printed)
        return None if inner.output else printed

    def effects(
        self, use: classify.Invocation, called: str, listed: range, base: str | None, place: Position
    ) -> list[Word] | None:
        """Follow a call of a function or alias, or a command with variables; return a function's output."""
        argv = use.words
        printed: list[Word] | None = None
        if called in self.functions:
            args = self.texts.filled(argv[1:], place)
            before = place.text.give(args if any(word.spans for word in args) else argv[1:])
            printed = self.call(called, tuple([as_value(word) for word in args]), place)
            place.text.give([])
            place.text.variables |= before
        elif called in self.aliases:
            self.expand_alias(called, argv[1:], place)
        elif use.name == "set":
            self.set_arguments(argv, place)
        elif _may_change(argv):
            place.folder.base, after = base, place.folder.base
            if not self.follow(use, listed, place):
                place.folder.base = after
        return printed

    def at_home(self, word: Word, place: Position) -> list[Word]:
        """Return a word with `$HOME` and `~` replaced by the home folder set in the line."""
        if word.text[:2] in {"~", "~/"} and not (word.parts and word.parts[0][1]):
            word, rest = Word("$HOME"), word.text[1:]
            word.dynamic, word.parts = True, [("$HOME", EXPANSION | QUOTED), (rest, LITERAL)]
        if "HOME" not in word.text or word.subs:
            return [word]
        made = self.texts.filler.variants([word], place.values)
        return made[0] if len(made) == 1 else [word]

    def given(self, word: Word, place: Position) -> str:
        """Return an assignment before a command, with its value filled in if known."""
        if not word.dynamic:
            return word.text
        found = self.texts.filler.text(word, place.values)
        if len(found) != 1 or not isinstance(found[0], str) or isinstance(found[0], Unknown):
            return word.text
        return word.text[: word.text.index("=") + 1] + found[0]

    def args(self, nodes: list[Node], text: ScriptText) -> list[Word]:
        """Read arguments. `$"…"` has two touching nodes; other touching nodes are one word cut in two."""
        found: list[Word] = []
        for index, node in enumerate(nodes):
            following = nodes[index + 1] if index + 1 < len(nodes) else None
            if following is not None and node.end_byte == following.start_byte:
                if node.type == "$" and following.type == "string":
                    continue
                raise UnreadableError("an ambiguous word")
            found.append(self.word(node, text))
        return found

    def assignments(self, node: Node | None, extra: list[Node], place: Position, found: Redirects) -> None:
        """Walk assignments without a command, or before a command that the parser took for words."""
        nodes = [] if node is None else [node] if node.type == "variable_assignment" else node.children
        prefix: list[Word] = []
        kept: list[Assigned] = []
        at = node.start_byte if node is not None else 0
        for child in nodes:
            misreadings.no_comment(place.text.src, child)
            (misreadings.apart if prefix else misreadings.within)(place.text.src, at, child.start_byte)
            at = child.end_byte
            prefix.append(self.assignment(child, place.text, kept))
        first = len(self.listing.programs)
        texts = [word.text for word in prefix]
        argv = self.args(extra, place.text)
        if argv:
            misreadings.name(place.text.src, at, extra[0].start_byte, extra[0].end_byte)
            self.emit(argv, tuple(texts), place, function=argv[0].text in self.functions)
        else:
            self.exports += texts
        self.listing.note_writes(found, place, first if argv else place.text.owner)
        self.word_substitutions(prefix + argv, place)
        self.set_variables(kept, place)

    def declaration(self, node: Node, extra: list[Node], place: Position, found: Redirects) -> None:
        """Walk `export`, `declare`, `local`, `readonly`, `typeset`, `unset`."""
        text = place.text
        argv: list[Word] = []
        kept: list[Assigned] = []
        at = node.start_byte
        for child in node.children:
            misreadings.no_comment(text.src, child)
            # The grammar may skip unknown text: between words only blanks are allowed, at least one.
            (misreadings.apart if argv else misreadings.within)(text.src, at, child.start_byte)
            at = child.end_byte
            if child.type == "variable_assignment":
                argv.append(self.assignment(child, text, kept))
            elif child.type in _DECLARATION_WORDS:
                argv.append(Word(text.src[child.start_byte : child.end_byte].decode()))
            else:
                argv.append(self.word(child, text))
        argv += self.args(extra, text)
        name = argv[0].text
        if name == "export" or (name in _DECLARES and any(w.text[:1] == "-" and "x" in w.text for w in argv[1:])):
            self.exports += [word.text for word in argv[1:] if "=" in word.text and word.text[:1] != "-"]
        first = len(self.listing.programs)
        self.emit(argv, (), place)
        self.listing.note_writes(found, place, first)
        self.word_substitutions(argv, place)
        self.set_variables(kept, place, local=name in _LOCAL)
        if name != "export" and any(w.text[:1] == "-" and "n" in w.text for w in argv[1:]):
            self.refer(name, argv, kept, place)

    def test(self, node: Node, place: Position, found: Redirects) -> None:
        """Walk `[ … ]`, a program, or `[[ … ]]`, which is syntax and may contain only substitutions."""
        src = place.text.src
        if node.children[0].type != "[":
            self.listing.note_writes(found, place, -1)
            self.substitutions(words.find_substitutions(node, src, quotes=True), place)
            return
        # The parser makes an expression tree of `[ … ]`; to bash it is a list of words, so the leaves are put in order.
        argv: list[Word] = []
        at = node.start_byte
        todo = [node]
        while todo:
            here = todo.pop()
            if here.type == "test_command" or (here.type.endswith("_expression") and here.type != "brace_expression"):
                todo += reversed(here.children)
                continue
            touches = here.start_byte == at and argv
            misreadings.within(src, at, here.start_byte)
            at = here.end_byte
            if here.is_named and here.type != "test_operator":
                word = self.word(here, place.text)
            else:
                raw = src[here.start_byte : at]
                if raw in (b"<", b">", b"&&", b"||", b"(", b")"):
                    raise UnreadableError("an operator within `[`")
                word = Word(raw.decode().replace("\\", ""))
            if touches:  # `[ $x = ~/a ]`: one word, two leaves
                argv[-1].text += word.text
                argv[-1].subs += word.subs
                argv[-1].dynamic = argv[-1].dynamic or word.dynamic
            else:
                argv.append(word)
        first = len(self.listing.programs)
        self.emit(argv, (), place)
        self.listing.note_writes(found, place, first)
        self.word_substitutions(argv, place)

    def span_from(self, first: int) -> ProgramSpan:
        """Return the span of the programs listed since index `first`."""
        return ProgramSpan(first, len(self.listing.programs))

    def word_substitutions(self, argv: list[Word], place: Position) -> None:
        """Walk the substitutions in words; a program may pass its input on to them: `echo x | tee >(sh)`."""
        for word in argv:
            if word.subs:
                source = StdinSource([self.span_from(len(self.listing.programs) - 1)], place.input)
                if place.input is not None and any(one.text == "tee" for one in argv):
                    source.script = place.input.script
                self.substitutions(word.subs, place, source)

    # Blocks, compound commands and substitutions

    def block(self, nodes: list[Node], start: int, end: int, place: Position) -> list[Word] | None:
        """Follow a block of commands; return its output, if partly known and read by something."""
        return self.pipelines(blocks.pipelines(nodes, place.text.src, start, end), place)

    def pipelines(self, pipelines: list[blocks.Pipeline], place: Position) -> list[Word] | None:
        """Walk pipelines in sequence; return their output, like `block`."""
        printed: list[Word] = []
        known = open_line = False
        folder = place.folder
        # A `cd` may have failed: then a command after `&&` does not run, but later commands do.
        doubts: list[str | None] = []
        for pipeline in pipelines:
            after = pipeline.after
            first = len(self.listing.programs)
            if doubts and after == "||":
                self.otherwise(pipeline, place, doubts)
                doubts = []
                continue
            if doubts and after != "&&":
                folder.may_be(doubts)
                doubts = []
            before, others = folder.base, folder.others
            words = self.pipeline(pipeline, place)
            if place.captured:
                known = known or words is not None
                added = [self.unseen(first)] if words is None else words
                printed = outputs.joined(printed, added) if open_line else printed + added
                open_line = self.texts.open_line and words is not None
                if words != [] and not open_line:
                    printed.append(Word("\n"))
            if folder.base == before:
                continue
            if after == "||":
                folder.lose(before)
            elif not folder.sure and not self.exits_on_error:
                doubts += (before, *others)
        if doubts:
            folder.may_be(doubts)
        return printed if known else None

    def unseen(self, first: int) -> Word:
        """Return a word for the unknown output of the programs from an index on."""
        word = Word("$(…)")
        word.parts, word.dynamic = [(word.text, SUBSTITUTION)], True
        word.spans = [self.span_from(first)]
        return word

    def otherwise(self, pipeline: blocks.Pipeline, place: Position, doubts: list[str | None]) -> None:
        """Walk a command that runs only after a failed `cd`: `cd x || cd y`, `cd x || exit 1`."""
        folder = place.folder
        worked, folder.base = folder.base, doubts[0]
        self.pipeline(pipeline, place)
        failed, folder.base = folder.base, worked
        if failed != doubts[0]:
            folder.lose(failed)
        elif not _leaves(pipeline, place.text.src):
            folder.may_be(doubts)

    def pipeline(self, pipeline: blocks.Pipeline, place: Position) -> list[Word] | None:
        """Walk one pipeline; each of several commands runs in its own shell. Return its output, if known."""
        printed: list[Word] | None = None
        elements = pipeline.elements
        certain = place.certain
        place.certain = certain and not pipeline.after
        if len(elements) == 1 and not pipeline.background:
            printed = self.element(elements[0], place)
        else:
            source = place.input
            for element in elements:
                here = place.below(subshell=True)
                here.input = source
                here.captured = place.captured or element is not elements[-1]
                if element is elements[-1]:
                    # zsh runs the last command in the shell itself, bash in its own.
                    here.values = Values(place.values, through=True, doubtful=True)
                span = ProgramSpan()
                span.first = len(self.listing.programs)
                printed = self.element(element, here)
                span.last = len(self.listing.programs)
                source = StdinSource([span], source, printed)
                source.decoded = source.decoded or self.listing.decodes(span.first)
        place.certain = certain
        return printed

    def element(self, element: blocks.Element, place: Position) -> list[Word] | None:
        """Walk one command with its redirections; return its output, if known."""
        if element.words is not None:
            return self.run(element.words, [], place, redirects.NONE, redirects.NONE, [])
        found = redirects.NONE
        outer = place
        if element.redirects or element.heredoc:
            found, place = self.redirected(element, place)
        first = len(self.listing.programs)
        printed = self.simple(element, found, outer, place)
        if found.output and found.targets:
            self.keep_text(found, outer, printed)
        if found.subs:
            self.substitutions(found.subs, outer, StdinSource([self.span_from(first)], outer.input))
        return None if found.output else printed

    def simple(
        self, element: blocks.Element, found: redirects.Redirects, outer: Position, place: Position
    ) -> list[Word] | None:
        """Walk one command after its redirections were read; return its output, if known."""
        node = element.node
        kind = node.type if node is not None else ""
        printed: list[Word] | None = None
        extra = element.extra + found.words
        if kind == "command" and node is not None:
            printed = self.command(node, extra, place, found)
            if self.ran_exec:
                outer.input = found.input or outer.input  # `exec < file`: the shell itself reads it from now on
        elif node is not None and kind in _DECLARING:
            self.declaration(node, extra, place, found)
            printed = None if b"-p" in place.text.src[node.start_byte : node.end_byte] else []
        elif node is None and not extra and outer.captured and found.input is not None and found.input.origins:
            return self.run([Word("cat")], [], place, found, redirects.NONE, [])  # `$(< file)` of a file of the line
        elif kind in _ASSIGNING:
            self.assignments(node, extra, place, found)
            printed = None if extra else _read_whole(found) if node is None else []
        elif extra:
            raise UnreadableError("unexpected words after a command")
        elif node is not None and kind == "test_command":
            self.test(node, place, found)
        else:
            self.listing.note_writes(found, outer, outer.text.owner)
            printed = self.compound(node, kind, place) if node is not None else _read_whole(found)
        return printed

    def redirected(self, element: blocks.Element, place: Position) -> tuple[redirects.Redirects, Position]:
        """Return the redirections of a command, and its position with them."""
        found = redirects.read(self, element, place)
        below = place.below()
        below.input = found.input
        below.captured = place.captured or bool(found.targets)
        return found, below

    def compound(self, node: Node, kind: str, place: Position) -> list[Word] | None:
        """Walk a compound command; return its output, if known."""
        src = place.text.src
        printed: list[Word] | None = None
        children = node.children
        if kind == "function_definition":
            self.function(node, place)
        elif kind == "subshell":
            below = place.below(subshell=True)
            printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, below)
        elif kind == "compound_statement":
            if children[0].type == "((":
                self.substitutions(words.find_substitutions(node, src, quotes=False), place)
            else:
                printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, place.below())
        elif kind == "case_statement" or kind in _LOOPS:
            if kind == "for_statement":
                self.loop(node, place)
            printed = self.parts(children, place, loop=kind == "for_statement")
        else:
            if kind == "while_statement":
                self.changed_in_loop(node, place)
            printed = self.uncertain(children, node.start_byte, node.end_byte, place)
        return printed

    def changed_in_loop(self, node: Node, place: Position) -> None:
        """Note that the previous round may have set a loop's variables."""
        body = place.text.src[node.start_byte : node.end_byte]
        for found in _SETS.finditer(body):
            place.values.forget(found[1].decode())

    def loop(self, node: Node, place: Position) -> None:
        """Set the variable of a `for` or `select` to each of its words."""
        self.changed_in_loop(node, place)
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        src = place.text.src
        name = src[variable.start_byte : variable.end_byte].decode()
        nodes = node.children_by_field_name("value")
        if not nodes:
            args = place.values.args
            place.values.set(name, (Unknown(f"${name}"),) if args is None else args)
            return
        for one in nodes:
            subs = words.find_substitutions(one, src, quotes=True)
            if subs:
                self.substitutions(subs, place)
        try:
            items = [self.word(one, place.text) for one in nodes]
        except UnreadableError:
            return
        made = self.texts.filler.variants(items, place.values) or [items]
        values = [as_value(word) for one in made for word in one]
        place.values.set(name, tuple(dict.fromkeys(values)))
        place.text.variables[name] = [span for word in items for span in word.spans]

    def uncertain(self, nodes: list[Node], start: int, end: int, place: Position) -> list[Word] | None:
        """Walk a block that may not run. If it changes the folder, the folder is unknown afterwards."""
        base = place.folder.base
        here = place.below()
        here.certain = False
        printed = self.block(nodes, start, end, here)
        if place.folder.base != base:
            place.folder.lose(base)
        return printed

    def parts(self, children: list[Node], place: Position, *, loop: bool) -> list[Word] | None:
        """Walk the parts of `for`, `select` and `case`; return their output, if known."""
        printed: list[Word] = []
        known = False
        src = place.text.src
        at = children[0].start_byte
        for child in children:
            kind = child.type
            misreadings.between(src, at, child.start_byte, separated=True)
            at = child.end_byte
            if kind == "comment":
                misreadings.comment(src, child.start_byte, at)
            elif kind in {"do_group", "compound_statement"}:
                body = self.uncertain(child.children, child.start_byte, at, place)
                known = known or body is not None
                printed += body or []
            elif kind == "case_item":
                inner = child.children
                # The patterns before the `)` are expanded; the commands after it may run.
                cut = next((index for index, part in enumerate(inner) if part.type == ")"), -1)
                if cut < 0:
                    raise UnreadableError("a case without a pattern")
                for pattern in inner[:cut]:
                    self.substitutions(words.find_substitutions(pattern, src, quotes=True), place)
                body = self.uncertain(inner[cut + 1 :], inner[cut].end_byte, at, place)
                known = known or body is not None
                printed += body or []
            # The words of a `for` have been read already: its variable has their values.
            elif child.is_named and not loop:
                self.substitutions(words.find_substitutions(child, src, quotes=True), place)
        return printed if known else None

    def function(self, node: Node, place: Position) -> None:
        """Walk a function's body at its definition: its programs count whether or not it is called."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            raise UnreadableError("a function without a name or body")
        name = place.text.src[name_node.start_byte : name_node.end_byte].decode()
        self.functions[name] = (body, place.text)
        here = place.below(subshell=True)
        here.folder = place.folder.copy()
        here.function, here.certain, here.forks = name, True, False
        here.defines = True
        element = blocks.Element(body)
        element.redirects = [child for child in node.children if child.type == "file_redirect"]
        if any(child.type in {"heredoc_redirect", "herestring_redirect"} for child in node.children):
            raise UnreadableError("a heredoc on a function")
        first = len(self.listing.writes)
        self.element(element, here)
        self.in_functions.update(range(first, len(self.listing.writes)))
        if here.folder.base != place.folder.base:
            self.moving.add(name)

    def call(self, name: str, args: tuple[str, ...], place: Position) -> list[Word] | None:
        """Walk the body of a called function with its arguments and input; return its output, if known."""
        body, text = self.functions[name]
        raw = text.src[body.start_byte : body.end_byte]
        active = self.active.count(name) >= _DEEPEST_RECURSION or len(self.active) >= _DEEPEST_CALLS
        if active and not place.defines:
            self.changed_in_loop(body, place)
        depends = place.captured or place.input is not None or self.listing.written.sources or _DEPENDS.search(raw)
        if active or self.calls_left <= 0 or not depends:
            return None
        self.calls_left -= 1
        here = place.below(deeper=1)
        if here.level > misreadings.MAX_DEPTH // 2:
            return None
        here.text, here.function, here.defines = text, "", False
        here.values = Values(place.values, args=args, through=True)
        self.active.append(name)
        self.meaning += 1
        base = here.folder.base
        printed = self.element(blocks.Element(body), here)
        if here.folder.base != base:
            here.folder.lose(base)
        self.meaning -= 1
        self.active.pop()
        return printed

    def nested(
        self, text: str, outer: dict[str, tuple[str, list[ProgramSpan]]], owner: int, place: Position
    ) -> list[Word] | None:
        """Walk a nested script; `outer` are the placeholders for the outer shell's substitutions."""
        root, src = self.parse(misreadings.prepare(text).encode())
        here = place.below()
        here.text = ScriptText(src, owner)
        here.text.variables = place.text.variables
        here.text.stand_in(outer)
        return self.block(root.children, 0, len(src), here)

    def substitutions(self, nodes: list[Node], place: Position, source: StdinSource | None = None) -> None:
        """Walk substitutions; `source` is the input of a `>(…)`."""
        for node in nodes:
            span = place.text.span(node.start_byte)
            span.first = len(self.listing.programs)
            src = place.text.src
            here = place.below(deeper=1, subshell=True)
            here.captured = True
            children = node.children
            opener = src[children[0].start_byte : children[0].end_byte].strip()[:1]
            if opener == b"`":
                printed = self.backticks(node, children[0].end_byte, here)
            else:
                if children[0].type not in {"$(", "<(", ">("} or children[-1].type != ")":
                    raise UnreadableError("an ambiguous substitution")
                if opener == b">" and source is not None:
                    here.input = source
                printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, here)
            span.last = len(self.listing.programs)
            self.texts.keep_output(src[node.start_byte : node.end_byte].decode(), printed, here)

    def ticked(self, text: str, place: Position) -> None:
        """Walk the text in backticks of a here-document."""
        here = place.below(deeper=1, subshell=True)
        here.captured = True
        printed = self.nested(text, place.text.outer, place.text.owner, here)
        self.texts.keep_output(f"`{text}`", printed, here)

    def backticks(self, node: Node, start: int, place: Position) -> list[Word] | None:
        """Walk the text in backticks. The shell removes one level of escapes before reading it."""
        src = place.text.src
        text = src[start : node.end_byte - 1].decode()
        if src[node.end_byte - 1 : node.end_byte] != b"`" or "`" in re.sub(r"\\.", "", text, flags=re.DOTALL):
            raise UnreadableError("ambiguous backticks")
        parent = node.parent
        while parent is not None and parent.type in {"expansion", "concatenation"}:
            parent = parent.parent
        quoted = parent is not None and parent.type == "string"
        text = (_UNESCAPE_TICKS_QUOTED if quoted else words.UNESCAPE_TICKS).sub(r"\1", text)
        return self.nested(text, place.text.outer, place.text.owner, place)


def _may_be_written(use: classify.Invocation) -> bool:
    """Return whether a program is a possible file of the line, or runs a default file."""
    return "/" in use.words[0].text if use.entry is None else bool(use.entry.files)


def _names_results(argv: list[Word]) -> bool:
    """Return whether an argument is a variable with another program's output (`find … | while read f; do rm "$f"`)."""
    return any(word.spans and word.dynamic and "$(" not in word.text and "`" not in word.text for word in argv[1:])


def _categories(use: classify.Invocation, *, wraps: bool, hidden: bool) -> tuple[Category, ...]:
    """Return the categories: a wrapper has none unless its table says so; a hidden script is `unknown`."""
    kept = () if wraps and not use.keeps else use.categories
    if not hidden or "unknown" in kept or use.tests_by_name:
        return kept
    return (*kept, "unknown") if use.keeps else ("unknown",)


def _only_prints(entry: Entry) -> bool:
    return entry.categories == ("read-only",) and not (
        entry.clauses or entry.subcommands or entry.runs or entry.writes or entry.holds
    )


def looped(filler: Filler, words: list[Word], values: Values, but: str = "") -> tuple[str, Alternatives]:
    """Return the variable with the most alternatives and its values; ("", ()) if none has several."""
    names = [name for name in filler.names(words) if name != but]
    name = max(names, key=lambda one: len(values.get(one)), default="")
    found = values.get(name) if name else ()
    return (name, found) if 1 < len(found) <= _MOST_ROUNDS else ("", ())


def _without_key(word: Word) -> None:
    """Remove `[key]=` from an item of an array; items stay in written order."""
    cut = word.text.index("=") + 1
    word.text = word.text[cut:]
    parts: list[tuple[str, int]] = []
    for text, kind in word.parts:
        parts += [(text[cut:], kind)] if len(text) > cut else []
        cut = max(0, cut - len(text))
    word.parts = parts


def _below(place: Position, inner: Redirects, outer: Redirects, parts: _Parts, src: bytes) -> Position:
    """Return the position of a command with its redirections; those of a lone `exec` change the shell itself.

    The `outer` ones, which the parser puts around the command, come after the others, and the last one counts.
    """
    below = place.below()
    below.input = place.input if outer.feeds else inner.input
    name = parts.name
    if name is not None and not parts.args and src[name.start_byte : name.end_byte] == b"exec":
        place.input = inner.input
    return below


def _may_carry(use: classify.Invocation) -> bool:
    """Return whether a known tool, whose row names no command, has a carried program among its operands."""
    return (
        not use.runs
        and use.categories in _TOOLS
        and (
            not _CARRIED.isdisjoint([use.words[at].text for at in use.operands if at > 1])
            or not _COMMAND_OPTIONS.isdisjoint([flag for flag in use.raw_flags if flag[:2] == "--"])
        )
    )


def _maybe_script(argv: list[Word], at: int, *, known: bool) -> Word | None:
    """Return the possible script of an argument: the value of an option, or a command after `!`."""
    word, before = argv[at], argv[at - 1].text
    option = _HOOK_OPTION.match(word.text)
    if option is not None and option[0][-1] == "=":
        return Word(word.text[option.end() :])
    if word.text[:1] == "!" and not known:
        return Word(word.text[1:])
    option = _HOOK_OPTION.match(before)
    return word if (option is not None and option[1] == "") or (before in _COMMAND_OPTIONS and not known) else None


def _may_change(argv: list[Word]) -> bool:
    """Return whether expansion may change a word; globs do not count, they are file names."""
    for word in argv:  # noqa: SIM110 - a generator takes as long as all else here, and this runs for every command
        if word.dynamic or (word.globs and "{" in word.text):
            return True
    return False


def _leaves(pipeline: blocks.Pipeline, src: bytes) -> bool:
    """Return whether a pipeline ends the script, as in `cd x || exit 1`: later commands rely on the `cd`."""
    node = pipeline.elements[-1].node
    return node is not None and _LEAVES.search(src, node.start_byte, node.end_byte) is not None


def _read_whole(found: redirects.Redirects) -> list[Word] | None:
    """Return the output of a redirection alone: `$(< file)`."""
    return found.input.script if found.input is not None else None
