"""List programs with what they run, write and interpret. `commands` and `walk` read the syntax and call this."""

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable

import msgspec
from tree_sitter import Node

from baton.engine.code.model import LANGUAGES, Code
from baton.engine.shell import misreadings
from baton.engine.shell.expansion import outputs
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource, has_literal_text
from baton.engine.shell.expansion.values import Filler, Unknown, Values, as_value
from baton.engine.shell.expansion.words import EXPANSION, KIND, QUOTED, SUBSTITUTION, Span, Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.model import SOMEWHERE, Category, Input, Program, Write
from baton.engine.shell.programs import arguments, builtins, fork_bombs, interpreters, links, targets, written_files
from baton.engine.shell.programs.redirects import Redirects
from baton.engine.shell.tables import classify, held_commands, unwrap
from baton.engine.shell.tables.tables import Entry, ShellTables

_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([\w.]+)")
_INTERPRETERS = {"python": "python", "node": "javascript", "perl": "perl", "ruby": "ruby", "php": "php"}
COPIES = frozenset(["tee", "cp", "mv", "ln", "install"])
_ARGS_FROM_STDIN = frozenset(["xargs", "gxargs", "parallel"])
_OPERANDS = frozenset(["operands", "operands-or-cwd", "first", "second", "last", "rest"])
_COMMAND_OPTIONS = frozenset(["-c", "--command", "--cmd", "--exec", "--run", "--script", "--shell", "-x"])
"""Options in which a program that no table knows may take a script."""
_MOST_FOUND = 100
"""Targets that the writes of a search's commands are spelt out to."""
_QUESTIONS = frozenset(["--version", "--help", "-V", "-v", "-h", "version", "help"])
_SAME_SHELL = frozenset(["eval", "command", "builtin", "time"])
_WHEN = re.compile(r"^[ \t]*(?:@\w+|[\d*][^\s]*(?:[ \t]+[^\s]+){4})[ \t]+", re.MULTILINE)
"""The time at the beginning of a line of a crontab."""
_MOVES = frozenset(["cd", "pushd", "popd"])
_PRINTERS = frozenset(["cat", "head", "tail", "bat", "tac"])
_RUN_LATER = re.compile(
    r"^/etc/(?:cron|anacron|init|profile|rc\.|systemd|sudoers|ld\.so|update-motd|xdg/autostart)|^/var/spool/cron"
    r"|\.git/hooks/|/\.config/(?:systemd|autostart|fish)/|/Launch(?:Agents|Daemons)/|/\.ssh/(?:authorized_keys|rc)"
    r"|/\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|zlogin)$"
)
"""Files that others run or trust without being asked: what is written there counts as run."""
_EXITS = re.compile(r"-[a-z]*e[a-z]*\Z|errexit\Z")


class Programs(ABC):
    """Collects the programs and writes of one line. `parse` parses a nested script, within the limits.

    `sinks` are pairs of a program's index and the input that it interprets as a script. `moving` are functions that
    change the folder, `in_functions` the writes in function bodies; `moved` is True after any `cd`. `run_downloads` are programs whose
    code executes what it gets from the network.
    """

    def __init__(self, tables: ShellTables, parse: Callable[[bytes], tuple[Node, bytes]]) -> None:
        self.tables = tables
        self.parse = parse
        self.programs: list[Program | None] = []
        self.writes: list[Write] = []
        self.reads: list[Write] = []
        self.links = links.Links()
        self.exports: list[str] = []
        self.variables = held_commands.HeldVariables(tables.held)
        self.sinks: list[tuple[int, StdinSource]] = []
        self.redirects_to_file = False
        self.network = False
        self.calls = fork_bombs.Calls()
        self.in_functions: set[int] = set()
        self.moved = False
        self.moving: set[str] = set()
        self.exits_on_error = False
        self.filler = Filler()
        self.functions: dict[str, tuple[Node, ScriptText]] = {}
        self.aliases: dict[str, str] = {}
        self.files: dict[str, list[Word]] = {}
        self.active: list[str] = []
        self.calls_left = misreadings.MAX_CALLS
        self.meaning = 0
        self.ran_exec = False
        self.maybe_wrappers: list[tuple[list[Word], Position]] = []
        self.guessing = False
        self.count = 0
        self.stand_ins = 0
        self.codes = 0
        self.run_downloads: list[int] = []
        self.written = written_files.WrittenFiles()
        self.printed_files: dict[int, StdinSource] = {}
        self.interpreting: set[int] = set()

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
        index = len(self.programs)
        self.programs.append(None)  # keep the place: what the program runs is listed after it
        runs = unwrap.NOTHING
        scripts: list[list[Word]] = []
        hidden = False
        code: Code | None = None
        if function:
            use.categories, use.writes = (), ()
        elif use.runs:
            runs = unwrap.find(use)
            scripts, hidden = self.scripts(use, runs, index, place, piped=piped)
            code = self.code(use, runs, index, place)
        elif use.entry is None and "/" in argv[0].text and self.files:
            runs = unwrap.RunTargets(file=argv[0])
            scripts, hidden = self.scripts(use, runs, index, place, piped=piped)
            code = self.code(use, runs, index, place)
        wraps = bool(runs.commands or scripts or (code and code.runs))
        self.programs[index] = Program(
            argv=tuple([word.text for word in argv]),
            name=use.name,
            subcommand=use.subcommand,
            flags=frozenset(use.flags),
            operands=tuple([argv[at].text for at in use.operands]),
            assigns=assigns,
            categories=interpreters.categories(use.categories, code)
            if code
            else _categories(use, wraps=wraps, hidden=hidden),
            input="arguments" if piped else _input(place.input),
            wraps=wraps or function,
            depth=place.depth,
            guess=self.guessing,
            folder=place.folder.base,
            meant=self.meaning > 0,
            unnamed=not use.name and len(argv) > 1 and not wraps and not place.defines and not _only_asks(argv),
        )
        if use.entry is None and use.name and len(argv) > 1 and not function:
            self.maybe_wrap(argv, place)
        if use.writes:
            found = targets.written(use)
            if appended and not _OPERANDS.isdisjoint(use.writes):
                found += [Write(target=path, reach=targets.reach_of(use)) for path in appended]
            self.note(found, place, index)
        self.uses_written(use, index, place)
        self.held(use, index, place, passes_on=wraps or function or use.entry is None)
        if wraps or code:
            self.inside(use, runs, scripts, code, index, place, appended)
        if argv[0].dynamic and argv[0].spans:
            self.feed_name(index, argv[0], place.text)
        self.change_shell(use, argv, place, function=function)
        return use

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
        if use.name in builtins.SETTERS and not function:
            builtins.apply(use.name, argv, place, self.aliases)

    def maybe_wrap(self, argv: list[Word], place: Position) -> None:
        """Remember a program that no table knows: when the line is read, what may be its command is listed."""
        if not self.guessing and len(self.maybe_wrappers) < misreadings.MAX_WRAPPERS:
            copied = place.below(subshell=True) if place.level < misreadings.MAX_DEPTH // 2 else None
            if copied is not None:
                self.maybe_wrappers.append((argv, copied))

    def guess(self) -> None:
        """List what the unknown programs of the line may run: each end of their arguments that starts with a known one."""
        self.guessing = True
        words = 0
        for argv, place in self.maybe_wrappers:
            tried: set[str] = set()
            for at in range(1, len(argv)):
                word = argv[at]
                name = word.text.rpartition("/")[2]
                if not tried and argv[at - 1].text in _COMMAND_OPTIONS:
                    self.guess_script(word, place)
                if name in tried or word.dynamic or not self.may_matter(name):
                    continue
                tried.add(name)
                words += len(argv) - at
                if words > misreadings.MAX_GUESSED_WORDS:
                    return
                self.emit(argv[at:], (), place.below(deeper=1, subshell=True))

    def guess_script(self, word: Word, place: Position) -> None:
        """List the programs of a text that may be a script; one that is no shell text has none."""
        first = len(self.programs)
        try:
            self.script([word], len(self.programs) - 1, place.below(deeper=1, subshell=True))
        except UnreadableError:
            self.forget(first)

    def forget(self, first: int) -> None:
        """Take the programs from this index on off the list."""
        del self.programs[first:]
        self.writes = [write for write in self.writes if write.by < first]
        self.sinks = [sink for sink in self.sinks if sink[0] < first]
        self.run_downloads = [index for index in self.run_downloads if index < first]

    def may_matter(self, name: str) -> bool:
        """Return whether a program does more than read and print with some arguments."""
        entry = self.tables.find(name) if name else None
        return entry is not None and not _only_prints(entry)

    def runs_file(self, index: int, path: str, place: Position) -> None:
        """Note that a program runs a file: if the line has written it, its writers feed the program."""
        source = self.written.source(path, place.folder.base)
        if source is not None:
            self.sinks.append((index, source))

    def uses_written(self, use: classify.Invocation, index: int, place: Position) -> None:
        """Note a program that is a file which the line has written, or that prints one (`cat x | sh`)."""
        if any(way.stdin for way in use.runs):
            self.interpreting.add(index)
        if not self.written.sources:
            return
        path = use.words[0].text
        if "/" in path:
            self.runs_file(index, path, place)
        if use.name in _PRINTERS:
            for at in use.operands:
                source = self.written.source(use.words[at].text, place.folder.base)
                if source is not None:
                    self.printed_files[index] = source

    def held(self, use: classify.Invocation, index: int, place: Position, *, passes_on: bool) -> None:
        """Walk the commands that options, variables and configuration keys of a program hold.

        `passes_on` is True for a program that starts others, which get its variables too.
        """
        found: list[Word] = []
        if len(self.exports) > self.variables.seen:
            self.variables.note(self.exports)
        if use.assigns or self.variables.waiting:
            found += [Word(text) for text in self.variables.taken(use, passes_on=passes_on)]
        if use.name in self.tables.held.keys or (use.entry is not None and use.entry.holds):
            found += held_commands.in_arguments(self.tables, use, self.variables)
        for word in found:
            self.feed_words(index, [word])
            self.script([word], index, place.below(deeper=1, subshell=True))

    def filled(self, words: list[Word], place: Position) -> list[Word]:
        """Return words with known values filled in; of alternatives the first."""
        made = self.filler.variants(words, place.values) if any(word.dynamic for word in words) else []
        return made[0] if made else words

    def follow(self, use: classify.Invocation, listed: range, place: Position) -> bool:
        """List a command once more with the values of its variables, and settle what was listed as written.

        Returns:
            Whether there are such values.
        """
        argv = use.words
        if use.entry is not None and use.name and use.name not in builtins.SETTERS and _only_prints(use.entry):
            return False
        made = self.filler.variants(argv, place.values)
        if not made:
            return False
        base, last, named = place.folder.base, None, self.filler.whole
        categories: dict[Category, None] = {}
        self.meaning += 1
        for number, words in enumerate(made):
            if number and place.folder.base != base:
                last, place.folder.base = place.folder.base, base
            below = place.below(deeper=1)
            name = "" if words[0].dynamic else words[0].text
            at = len(self.programs)
            self.emit(words, use.assigns, below, function=name in self.functions)
            program = self.programs[at]
            named = named and program is not None and not program.unnamed
            categories.update(dict.fromkeys(program.categories if program is not None else ()))
            if name in self.functions:
                self.call(name, tuple([as_value(word) for word in words[1:]]), below)
        self.meaning -= 1
        if last is not None and last != place.folder.base:
            place.folder.lose(last)
        if named:
            self.settle(listed, tuple(categories))
        return True

    def settle(self, listed: range, categories: tuple[Category, ...]) -> None:
        """Take back that a command is not known, once it has been listed with its values; `categories` are what it has then."""
        for index in listed:
            program = self.programs[index]
            if program is None:
                continue
            if program.unnamed:
                self.programs[index] = msgspec.structs.replace(program, unnamed=False, wraps=True, categories=())
            elif index == listed[0] and "unknown" in program.categories:
                self.programs[index] = msgspec.structs.replace(
                    program, wraps=program.wraps or not program.name, categories=categories
                )

    def expand_alias(self, name: str, rest: list[Word], place: Position) -> None:
        """Walk what an alias stands for."""
        if name not in self.active:
            self.active.append(name)
            self.script([Word(self.aliases[name]), *rest], len(self.programs) - 1, place.below(deeper=1))
            self.active.pop()

    # texts that the line writes into files, and what substitutions print

    def keep_text(self, found: Redirects, place: Position, printed: list[Word] | None) -> None:
        """Remember what a redirection writes into files."""
        for target in found.targets:
            path = self.path_of(Word(target), place)
            if printed is None:
                self.files.pop(path, None)
            else:
                before = self.files.get(path, []) if found.appends else []
                program = self.programs[-1] if self.programs else None
                end = [] if program is not None and program.name == "printf" else [Word("\n")]
                self.files[path] = [*before, *printed, *end]

    def keep_copies(self, use: classify.Invocation, place: Position) -> None:
        """Remember the text of files that `tee`, `cp`, `mv` and the like write."""
        words = self.filled([use.words[at] for at in use.operands], place)
        if use.name == "tee":
            text = place.input.script if place.input is not None else None
            targets = words
        elif len(words) > 1:
            text, targets = self.text_of_file(words[0], place), words[1:2]
        else:
            return
        for target in targets:
            if text is not None:
                self.files[self.path_of(target, place)] = text

    def path_of(self, word: Word, place: Position) -> str:
        """Return the name under which the text of a file is kept."""
        text = word.text
        if "$" in text and not word.dynamic:
            word = Word(text)
            word.parts, word.dynamic = [(text, EXPANSION | QUOTED)], True
        text = str(self.filler.text(word, place.values)[0]) if word.dynamic else text
        return _joined(place.folder.base, text)

    def text_of_file(self, word: Word, place: Position) -> list[Word] | None:
        """Return the text of a file that the line has written, or of `<(…)`, as the words of a script."""
        return self.files.get(self.path_of(word, place)) if self.files else None

    def keep_output(self, text: str, printed: list[Word] | None, place: Position) -> None:
        """Remember what a substitution prints."""
        known = None
        if printed is not None:
            made = self.filled(printed, place)
            known = outputs.known_text(made)
        if known is None:
            self.filler.outputs.pop(text, None)
        elif text[:2] == "<(":
            path = f"/dev/fd/{len(self.files)}-of-the-line"
            self.files[path] = [Word(known)]
            self.filler.outputs[text] = path
        else:
            self.filler.outputs[text] = known.strip("\n ").replace(" \n ", "\n")

    def decodes(self, index: int) -> bool:
        """Return whether a program makes other text of its input than a reader of the line sees."""
        program = self.programs[index] if index < len(self.programs) else None
        return program is not None and program.name in outputs.DECODERS

    def scripts(
        self, use: classify.Invocation, runs: unwrap.RunTargets, index: int, place: Position, *, piped: bool
    ) -> tuple[list[list[Word]], bool]:
        """Return the scripts that a program interprets, and whether there are others whose text is not known."""
        scripts = [script for script in runs.scripts if has_literal_text(script)]
        unseen = [script for script in runs.scripts if not has_literal_text(script)]
        if runs.file is not None:
            self.file_script(use, runs.file, index, place, scripts, unseen)
        for script in unseen:
            self.feed_words(index, script)
        hidden = bool(unseen)
        source = place.input
        if source is None:
            return scripts, hidden
        hidden = self.input_script(use, runs, source, index, place, scripts, piped=piped) or hidden
        return scripts, hidden

    def file_script(
        self,
        use: classify.Invocation,
        file: Word,
        index: int,
        place: Position,
        scripts: list[list[Word]],
        unseen: list[list[Word]],
    ) -> None:
        """Add the text of a file that a program runs to its scripts, or to those whose text is not known."""
        text = self.text_of_file(file, place)
        language = "" if text is None else _language(use, text)
        if text is not None and language == "shell":
            scripts.append(text)
        elif language not in LANGUAGES:
            unseen.append([file])
        self.runs_file(index, file.text, place)

    def input_script(
        self,
        use: classify.Invocation,
        runs: unwrap.RunTargets,
        source: StdinSource,
        index: int,
        place: Position,
        scripts: list[list[Word]],
        *,
        piped: bool,
    ) -> bool:
        """Add the standard input of a program to its scripts; return whether it is one whose text is not known."""
        hidden = False
        if runs.stdin == "script" and source.script is not None and has_literal_text(source.script):
            scripts.append(self.filled(source.script, place))
            if source.decoded:
                self.sinks.append((index, source))
        elif runs.stdin in LANGUAGES and source.script is not None and has_literal_text(source.script):
            pass  # read by `code`
        elif runs.stdin == "crontab" and source.script is not None:
            scripts.append([Word(_WHEN.sub("", word.text)) for word in source.script])
        elif runs.stdin:
            hidden = runs.stdin == "script"
            self.sinks.append((index, source))
            self.feed_words(index, source.script or [])
        # `… | xargs sh -c`: the input becomes the script, or `{}` puts it into one.
        elif piped and any(way.script == "-c" for way in use.runs):
            replaced = any("{}" in word.text for script in runs.scripts for word in script)
            if replaced or not runs.scripts:
                self.sinks.append((index, source))
        return hidden

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
            self.give(use, runs, around)
            self.inside_code(code, index, around)
        here = place.below(deeper=1, subshell=use.name not in _SAME_SHELL)
        piped = use.name in _ARGS_FROM_STDIN
        if piped:
            appended = targets.appended(use, place.input)
        self.give(use, runs, here)
        first = len(self.writes)
        for argv, assigns in runs.commands:
            self.emit(argv, assigns, here, piped=piped, appended=appended)
            if piped:
                self.from_input(use, argv, assigns, here)
        if use.entry is not None and use.entry.names:
            self.found_by(use, first)
        for script in scripts:
            self.script(script, index, here)
            if piped:
                self.scripts_from_input(use, script, index, here)

    def give(self, use: classify.Invocation, runs: unwrap.RunTargets, here: Position) -> None:
        """Set the variables and positional parameters of what a program runs."""
        args = arguments.given(use, runs)
        if args is None and not use.assigns and not any(assigns for _, assigns in runs.commands):
            return
        here.values = Values(here.values, args=args)
        for text in (*use.assigns, *[one for _, assigns in runs.commands for one in assigns]):
            name, equals, value = text.partition("=")
            if equals:
                here.values.set(name, (Unknown(value) if "$" in value or "`" in value else value,))

    def from_input(self, use: classify.Invocation, argv: list[Word], assigns: tuple[str, ...], here: Position) -> None:
        """List the commands that `xargs` makes of an input that stands in the line."""
        self.meaning += 1
        for words in arguments.from_input(use, argv, self.input_text(here)):
            self.emit(words, assigns, here)
        self.meaning -= 1

    def scripts_from_input(self, use: classify.Invocation, script: list[Word], index: int, here: Position) -> None:
        """Walk the scripts that `parallel` makes of an input that stands in the line."""
        for words in arguments.from_input(use, script, self.input_text(here)):
            self.script(words, index, here)

    def input_text(self, place: Position) -> str | None:
        """Return the text of standard input, if it is known."""
        if place.input is None or place.input.script is None:
            return None
        return outputs.known_text(self.filled(place.input.script, place))

    def code(self, use: classify.Invocation, runs: unwrap.RunTargets, index: int, place: Position) -> Code | None:
        """Read the code that a program runs: in its arguments, its input, or a file of the line; None if it runs none."""
        text = None if runs.file is None or runs.code else self.text_of_file(runs.file, place)
        language = "" if text is None else _language(use, text)
        if text is not None and language in LANGUAGES:
            runs = msgspec.structs.replace(runs, stdin=language)
        elif not runs.code and runs.stdin not in LANGUAGES:
            return None
        else:
            text = interpreters.code_of(runs, place.input)
        self.codes += 1
        words = self.filled(text, place)
        self.feed_words(index, [] if has_literal_text(words) else words)
        code = interpreters.read(runs, words, place.text, self.codes)
        if code.runs_network:
            self.run_downloads.append(index)
        if code.runs_input and place.input is not None and runs.code:
            self.sinks.append((index, place.input))
        return code

    def inside_code(self, code: Code, index: int, place: Position) -> None:
        """Note what code writes, and list what it runs."""
        paths = [path for path in interpreters.paths(code) if not classify.harmless(path)]
        self.note([Write(target=path) for path in paths], place, index)
        for run in code.runs:
            here = place.below(deeper=1, subshell=True)
            here.input = None
            if run.folder:
                here.folder.go("cd", [Word("cd"), interpreters.word(run.folder)])
            if run.words:
                self.emit([interpreters.word(text) for text in run.words], (), here)
            else:
                self.script([Word(interpreters.word(run.script).text)], index, here)

    def found_by(self, use: classify.Invocation, first: int) -> None:
        """Put what a search finds in the place of `{}` in the writes since there were `first` of them."""
        here = self.writes[first:]
        asking = sum("{}" in write.target for write in here)
        if use.entry is None or not asking:
            return
        found = targets.found_below([use.words[at].text for at in use.operands] or ["."], use, use.entry)
        if asking * len(found) > _MOST_FOUND:
            found = [SOMEWHERE]
        self.writes[first:] = []
        for write in here:
            texts = [write.target.replace("{}", one) for one in found] if "{}" in write.target else [write.target]
            self.writes += [msgspec.structs.replace(write, target=text) for text in texts]

    def printed(self, use: classify.Invocation, place: Position) -> list[Word] | None:
        """Return what a command prints, if the text stands in the line: `echo`, `printf`, or a `cat` of known input."""
        name = use.name
        if name in {"echo", "printf"}:
            dynamic = any(word.dynamic for word in use.words)
            made = (self.filler.variants(use.words, place.values) if dynamic else []) or [use.words]
            read = outputs.echoed if name == "echo" else outputs.formatted
            found = [read(words) for words in made]
            return [
                word for one in found if one is not None for word in (*one, *([Word("\n")] if len(found) > 1 else []))
            ]
        if name in {"command", "which", "type"} and use.operands:
            return [use.words[at] for at in use.operands]
        if name in outputs.SILENT:
            return []
        files = [use.words[at] for at in use.operands if use.words[at].text != "-"]
        if name == "cat" and files:
            texts = [self.text_of_file(word, place) for word in files]
            return None if None in texts else [word for text in texts for word in text or []]
        if place.input is None or place.input.script is None:
            return None
        if name in outputs.PASSES:
            return place.input.script
        text = self.input_text(place)
        made_text = None if text is None else outputs.filtered(name, use.words, text)
        return None if made_text is None else [Word(made_text)]

    # nested texts

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

    def feed_words(self, index: int, script: list[Word]) -> None:
        """Note that a program interprets the output of the substitutions in these words."""
        spans = [span for word in script for span in word.spans]
        if spans:
            self.sinks.append((index, StdinSource(spans)))

    def feed_name(self, index: int, name: Word, text: ScriptText) -> None:
        """Note that the output of the substitution in a program's name is run."""
        owner = text.owner if name.outer and text.owner >= 0 else index
        self.sinks.append((owner, StdinSource(name.spans)))

    def note_writes(self, found: Redirects, place: Position, by: int) -> None:
        """Note the files that redirections write."""
        if found.targets:
            # A write of a guess belongs to it even where no program makes it, so that it is left out with the guess.
            by = len(self.programs) - 1 if self.guessing and by < 0 else by
            self.redirects_to_file = self.redirects_to_file or not self.guessing
            self.note([Write(target=target, reach="file") for target in found.targets], place, by)
        for path in found.sources if by in self.interpreting else ():
            self.runs_file(by, path, place)
        self.reads += [Write(target=source, base=place.folder.base, by=by) for source in found.sources]

    def note(self, writes: list[Write], place: Position, by: int) -> None:
        """Note what a program writes, from each folder that it may run in."""
        folder = place.folder
        program = self.programs[by] if by >= 0 else None
        if program is not None:
            self.written.note([write.target for write in writes], folder.base, by, program, place.input)
            if place.input is not None and any(_RUN_LATER.search(write.target) for write in writes):
                self.sinks.append((by, place.input))
        for write in writes:
            if write.target == SOMEWHERE:
                bases: tuple[str | None, ...] = (None,)
            else:
                bases = folder.bases(write.target) if folder.others else (folder.base,)
            self.note_from([msgspec.structs.replace(write, base=base, by=by) for base in bases])

    def note_from(self, writes: list[Write]) -> None:
        """Note writes whose folders are known, and what they change through links that the line has made."""
        for write in writes:
            self.writes.append(write)
            real = self.links.followed(write)
            if real is not None:
                self.writes.append(msgspec.structs.replace(write, target=real))
            self.links.note(write)


def _categories(use: classify.Invocation, *, wraps: bool, hidden: bool) -> tuple[Category, ...]:
    """Return the categories: a wrapper has none of its own, unless its table says so; a script out of sight is `unknown`."""
    kept = () if wraps and not use.keeps else use.categories
    if not hidden or "unknown" in kept or use.tests_by_name:
        return kept
    return (*kept, "unknown") if use.keeps else ("unknown",)


def _input(source: StdinSource | None) -> Input:
    """Return what standard input is: programs that feed it, a text in the line, or a file."""
    if source is None:
        return ""
    if source.connection:
        return "connection"
    if source.spans or source.parent is not None:
        return "pipe"
    return "file" if source.script is None else "text"


def _joined(base: str | None, path: str) -> str:
    return path if base is None else posixpath.normpath(posixpath.join(base, path))


def _language(use: classify.Invocation, text: list[Word]) -> str:
    """Return the language in which a program reads a file that the line has written; "" if that is not known."""
    if use.entry is None:
        first = text[0].text.partition("\n")[0] if text else ""
        found = _SHEBANG.match(first)
        name = "" if found is None else found[1]
        return "shell" if not name or name.endswith("sh") else _INTERPRETERS.get(name.rstrip("0123456789."), "")
    if use.name in {".", "source"} or any(way.stdin is True for way in use.runs):
        return "shell"
    return next((way.stdin for way in use.runs if isinstance(way.stdin, str)), "")


def _only_prints(entry: Entry) -> bool:
    """Return whether a program reads and prints, whatever its arguments are."""
    return entry.categories == ("read-only",) and not (
        entry.clauses or entry.subcommands or entry.runs or entry.writes or entry.holds
    )


def _only_asks(argv: list[Word]) -> bool:
    """Return whether a program is only asked for its version or help."""
    return all(word.text in _QUESTIONS for word in argv[1:])
