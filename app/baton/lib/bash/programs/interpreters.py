"""Shell scripts and code for interpreters, in arguments, in an input, or in a file written by the line."""

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from baton.lib.bash.expansion.scripts import Position, ScriptText, StdinSource, has_literal_text
from baton.lib.bash.expansion.words import EXPANSION, LITERAL, Word
from baton.lib.bash.model import SOMEWHERE, Category
from baton.lib.bash.programs.listing import Listing
from baton.lib.bash.programs.texts import Texts
from baton.lib.bash.tables import classify
from baton.lib.bash.tables.unwrap import NOTHING, RunTargets
from baton.lib.code import model
from baton.lib.code.model import LANGUAGES, UNKNOWN, Code
from baton.lib.code.read import read as read_code

MAX_TEXTS = 100
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([\w.]+)")
_INTERPRETERS = {"python": "python", "node": "javascript", "perl": "perl", "ruby": "ruby", "php": "php"}
_WINDOWS = {"ps1": "powershell", "bat": "cmd", "cmd": "cmd"}
_ARGUMENTS = re.compile(r"\$?\b(sys\.argv|process\.argv|ARGV|argv)\[(\d)(:)?\]|[@*]ARGV\b")
_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_MOST_ARGUMENTS = 32
_WHEN = re.compile(r"^[ \t]*(?:@\w+|[\d*][^\s]*(?:[ \t]+[^\s]+){4})[ \t]+", re.MULTILINE)
"""The time at the start of a crontab line."""


class Interpreters:
    """Finds the scripts and the code interpreted by the programs of one line."""

    def __init__(self, listing: Listing, texts: Texts) -> None:
        self.listing = listing
        self.texts = texts
        self.codes = 0

    def scripts(
        self, use: classify.Invocation, runs: RunTargets, index: int, place: Position, *, piped: str
    ) -> tuple[list[list[Word]], bool]:
        """Return a program's scripts, and whether it has others with unknown text."""
        scripts = [script for script in runs.scripts if has_literal_text(script)]
        unseen = [script for script in runs.scripts if not has_literal_text(script)]
        if runs.file is not None:
            self.file_script(use, runs.file, index, place, scripts, unseen)
        for script in unseen:
            self.listing.feed_words(index, script)
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
        """Add the text of a program's file to its scripts, or to those with unknown text."""
        text = self.texts.of_file(file, place)
        language = "" if text is None else _language(use, text)
        if text is not None and language == "shell":
            scripts.append(text)
        elif language not in LANGUAGES:
            unseen.append([file])
        self.listing.runs_file(index, file.text, place)

    def input_script(
        self,
        use: classify.Invocation,
        runs: RunTargets,
        source: StdinSource,
        index: int,
        place: Position,
        scripts: list[list[Word]],
        *,
        piped: str,
    ) -> bool:
        """Add a program's standard input to its scripts; return whether it is a script with unknown text."""
        hidden = False
        script = [] if source.script is None else self.texts.filled(source.script, place)
        if runs.stdin == "script" and script and has_literal_text(script):
            scripts.append(script)
            if source.decoded:
                self.listing.sinks.append((index, source))
        elif runs.stdin in LANGUAGES and source.script is not None and has_literal_text(source.script):
            pass  # read by `code`
        elif runs.stdin == "crontab" and source.script is not None:
            scripts.append([Word(_WHEN.sub("", word.text)) for word in source.script])
        elif runs.stdin == "dialogue":
            pass  # input from outside the line is presumed data, such as a dump being loaded
        elif runs.stdin:
            hidden = runs.stdin == "script"
            self.listing.sinks.append((index, source))
            self.listing.feed_words(index, source.script or [])
        # `… | xargs sh -c`: the input becomes the script, or is inserted into one by `{}`.
        elif piped and any(way.script == "-c" for way in use.runs):
            if not runs.scripts or any(piped in word.text for script in runs.scripts for word in script):
                self.listing.sinks.append((index, source))
        elif piped and not runs.commands and any(way.command is not None for way in use.runs):
            self.listing.sinks.append((index, source))
        return hidden

    def task_file(
        self, use: classify.Invocation, files: Mapping[str, list[str]], place: Position
    ) -> tuple[list[Word] | None, str]:
        """Return the text and language of a task runner's default file, if the line has written it."""
        for language, names in files.items():
            given = [value for option, value in use.values if option in names]
            for name in given or [name for name in names if name[:1] != "-"]:
                text = self.texts.of_file(Word(name), place)
                if text is not None:
                    return text, language
        return None, ""

    def code(self, use: classify.Invocation, runs: RunTargets, index: int, place: Position) -> Code | None:
        """Read a program's code: in its arguments, its input, or a file of the line; None if it runs none."""
        text = None if runs.file is None or runs.code else self.texts.of_file(runs.file, place)
        language = "" if text is None else _language(use, text)
        if text is None and use.entry is not None and use.entry.files and self.texts.files and not runs.code:
            text, language = self.task_file(use, use.entry.files, place)
        if text is not None and language in LANGUAGES:
            runs = msgspec.structs.replace(runs, stdin=language)
        elif not runs.code and (runs.stdin not in LANGUAGES or _is_data(runs, place.input)):
            return None
        else:
            text = code_of(runs, place.input)
        self.codes += 1
        words = self.texts.filled(text, place)
        self.listing.feed_words(index, [word for word in words if not has_literal_text([word])])
        if runs.language == "awk":  # `-v name=text`, or an operand, is the value of a variable
            words = [*(Word(f"{name}={json.dumps(value)}\n") for name, value in _assigned(use)), *words]
        code = read(runs, words, place.text, self.codes, [use.words[at] for at in use.operands])
        if (
            code.runs_input
            and runs.language == "powershell-arguments"
            and has_literal_text(code_of(NOTHING, place.input))
        ):
            runs = msgspec.structs.replace(NOTHING, stdin="powershell")
            code = read(runs, code_of(runs, place.input), place.text, self.codes)
        if code.forks_without_end:
            self.listing.forks_without_end = True
        if code.runs_network:
            self.listing.run_downloads.append(index)
        if code.runs_input and place.input is not None and runs.code:
            self.listing.sinks.append((index, place.input))
        return code


def _assigned(use: classify.Invocation) -> list[tuple[str, str]]:
    """Return the variables that the arguments of awk set."""
    given = [value for option, value in use.values if option in {"-v", "--assign"}]
    texts = [*given, *(use.words[at].text for at in use.operands)]
    return [(found[1], found[2]) for text in texts if (found := _ASSIGNMENT.fullmatch(text)) is not None]


def code_of(runs: RunTargets, source: StdinSource | None) -> list[Word]:
    """Return the words of a program's code; none if it is not in the line."""
    if runs.code:
        return list(runs.code)
    return (source.script if source is not None else None) or []


def read(runs: RunTargets, words: list[Word], text: ScriptText, count: int, given: Sequence[Word] = ()) -> Code:
    """Read the code; `count` is the number of code texts in the line so far, `given` the program's operands."""
    if not words or not has_literal_text(words):
        return Code(unread="the code is not in the line")
    if count > MAX_TEXTS:
        return Code(unread=f"over {MAX_TEXTS} texts of code")
    code = "\n".join([text.as_code(word) for word in words])
    if given and _ARGUMENTS.search(code):
        # `-` or a file is the first operand, code is none.
        rest = [text.as_code(word) for word in given[0 if runs.code else 1 :]]
        code = _ARGUMENTS.sub(
            lambda found: _argument(found, rest, is_code=bool(runs.code)), code, count=_MOST_ARGUMENTS
        )
    return read_code(runs.language if runs.code else runs.stdin, code)


def _argument(found: re.Match[str], given: list[str], *, is_code: bool) -> str:
    """Return an argument of the program as a literal, or the list from it on."""
    if found[1] is None:
        return json.dumps(given, ensure_ascii=False)[1:-1]
    at = int(found[2]) - (0 if found[1] == "ARGV" else 2 if found[1] == "process.argv" and not is_code else 1)
    if found[3] and at >= 0:
        return json.dumps(given[at:], ensure_ascii=False)
    return json.dumps(given[at], ensure_ascii=False) if 0 <= at < len(given) else found[0]


def _is_data(runs: RunTargets, source: StdinSource | None) -> bool:
    """Return whether a program with optional commands (an editor) reads from outside the line, or nothing."""
    if runs.stdin == "ed":
        return source is None
    return runs.stdin == "dialogue" and not has_literal_text(code_of(runs, source))


def as_path(path: str) -> str:
    """Return a path of code in shell spelling."""
    return SOMEWHERE if path == UNKNOWN else model.as_written(path)


def categories(own: tuple[Category, ...], code: Code) -> tuple[Category, ...]:
    """Return the categories of a program with code, including those of its options (`perl -i`)."""
    found: list[Category] = [category for category in own if category not in {"unknown", "read-only"}]
    if any(not write.removes and not classify.harmless(write.path) for write in code.writes):
        found.append("file-write")
    if code.destroys or any(write.removes for write in code.writes):
        found.append("destructive")
    if code.network:
        found.append("network")
    if code.unread:
        found.append("unknown")
    if not found and not code.runs:
        found.append("read-only")
    return tuple(dict.fromkeys(found))


def word(text: str) -> Word:
    """Return a word of an argument list in code; unknown parts are expansions."""
    found = Word(model.as_written(text))
    if found.text != text:
        found.dynamic = True
        found.parts = [(piece, EXPANSION if variable else LITERAL) for piece, variable in model.split(text)]
    return found


def _language(use: classify.Invocation, text: list[Word]) -> str:
    if use.entry is None:
        first = text[0].text.partition("\n")[0] if text else ""
        found = _SHEBANG.match(first)
        name = "" if found is None else found[1]
        return "shell" if not name or name.endswith("sh") else _INTERPRETERS.get(name.rstrip("0123456789."), "")
    ending = use.words[0].text.lower().rpartition(".")[2]
    if ending in _WINDOWS:
        return _WINDOWS[ending]
    if use.name in {".", "source"} or any(way.stdin is True for way in use.runs):
        return "shell"
    return next((way.stdin for way in use.runs if isinstance(way.stdin, str)), "")
