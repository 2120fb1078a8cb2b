"""What a line gives to interpreters: shell scripts and code, in arguments, in an input, or in a file that the line wrote."""

import re
from collections.abc import Mapping

import msgspec

from baton.engine.code import model
from baton.engine.code.model import LANGUAGES, UNKNOWN, Code
from baton.engine.code.read import read as read_code
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource, has_literal_text
from baton.engine.shell.expansion.words import EXPANSION, LITERAL, Word
from baton.engine.shell.model import SOMEWHERE, Category
from baton.engine.shell.programs.listing import Listing
from baton.engine.shell.programs.texts import Texts
from baton.engine.shell.tables import classify
from baton.engine.shell.tables.unwrap import RunTargets

MAX_TEXTS = 100
"""Texts of code in one line that are read."""
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([\w.]+)")
_INTERPRETERS = {"python": "python", "node": "javascript", "perl": "perl", "ruby": "ruby", "php": "php"}
_WHEN = re.compile(r"^[ \t]*(?:@\w+|[\d*][^\s]*(?:[ \t]+[^\s]+){4})[ \t]+", re.MULTILINE)
"""The time at the beginning of a line of a crontab."""


class Interpreters:
    """Finds the scripts and the code that the programs of one line interpret."""

    def __init__(self, listing: Listing, texts: Texts) -> None:
        self.listing = listing
        self.texts = texts
        self.codes = 0

    def scripts(
        self, use: classify.Invocation, runs: RunTargets, index: int, place: Position, *, piped: bool
    ) -> tuple[list[list[Word]], bool]:
        """Return the scripts that a program interprets, and whether there are others whose text is not known."""
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
        """Add the text of a file that a program runs to its scripts, or to those whose text is not known."""
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
        piped: bool,
    ) -> bool:
        """Add the standard input of a program to its scripts; return whether it is one whose text is not known."""
        hidden = False
        if runs.stdin == "script" and source.script is not None and has_literal_text(source.script):
            scripts.append(self.texts.filled(source.script, place))
            if source.decoded:
                self.listing.sinks.append((index, source))
        elif runs.stdin in LANGUAGES and source.script is not None and has_literal_text(source.script):
            pass  # read by `code`
        elif runs.stdin == "crontab" and source.script is not None:
            scripts.append([Word(_WHEN.sub("", word.text)) for word in source.script])
        elif runs.stdin == "dialogue":
            pass  # what is not in the line is data, as far as anybody can tell: a dump that is loaded
        elif runs.stdin:
            hidden = runs.stdin == "script"
            self.listing.sinks.append((index, source))
            self.listing.feed_words(index, source.script or [])
        # `… | xargs sh -c`: the input becomes the script, or `{}` puts it into one.
        elif piped and any(way.script == "-c" for way in use.runs):
            replaced = any("{}" in word.text for script in runs.scripts for word in script)
            if replaced or not runs.scripts:
                self.listing.sinks.append((index, source))
        return hidden

    def task_file(
        self, use: classify.Invocation, files: Mapping[str, list[str]], place: Position
    ) -> tuple[list[Word] | None, str]:
        """Return the text of a file that a task runner looks for by itself and that the line has written; its language."""
        for language, names in files.items():
            given = [value for option, value in use.values if option in names]
            for name in given or [name for name in names if name[:1] != "-"]:
                text = self.texts.of_file(Word(name), place)
                if text is not None:
                    return text, language
        return None, ""

    def code(self, use: classify.Invocation, runs: RunTargets, index: int, place: Position) -> Code | None:
        """Read the code that a program runs: in its arguments, its input, or a file of the line; None if it runs none."""
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
        self.listing.feed_words(index, [] if has_literal_text(words) else words)
        code = read(runs, words, place.text, self.codes)
        if code.forks_without_end:
            self.listing.forks_without_end = True
        if code.runs_network:
            self.listing.run_downloads.append(index)
        if code.runs_input and place.input is not None and runs.code:
            self.listing.sinks.append((index, place.input))
        return code


def code_of(runs: RunTargets, source: StdinSource | None) -> list[Word]:
    """Return the words of the code that a program runs; none if it is not in the line."""
    if runs.code:
        return list(runs.code)
    return (source.script if source is not None else None) or []


def read(runs: RunTargets, words: list[Word], text: ScriptText, count: int) -> Code:
    """Read the code; `count` is how many texts of code the line had so far."""
    if not words or not has_literal_text(words):
        return Code(unread="the code is not in the line")
    if count > MAX_TEXTS:
        return Code(unread=f"over {MAX_TEXTS} texts of code")
    return read_code(runs.language if runs.code else runs.stdin, "\n".join([text.as_code(word) for word in words]))


def _is_data(runs: RunTargets, source: StdinSource | None) -> bool:
    """Return whether a program that can be told to run commands reads what is not in the line, or nothing (an editor)."""
    if runs.stdin == "ed":
        return source is None
    return runs.stdin == "dialogue" and not has_literal_text(code_of(runs, source))


def paths(code: Code) -> list[str]:
    """Return the paths that code writes, as a shell would write them."""
    return [as_path(write.path) for write in code.writes]


def as_path(path: str) -> str:
    """Return a path in code as a shell would write it."""
    return SOMEWHERE if path == UNKNOWN else model.as_written(path)


def categories(own: tuple[Category, ...], code: Code) -> tuple[Category, ...]:
    """Return the categories of a program that runs code, with those that its options give it (`perl -i`)."""
    found: list[Category] = [category for category in own if category not in {"unknown", "read-only"}]
    if any(not write.removes and not classify.harmless(write.path) for write in code.writes):
        found.append("file-write")
    if any(write.removes for write in code.writes):
        found.append("destructive")
    if code.network:
        found.append("network")
    if code.unread:
        found.append("unknown")
    if not found and not code.runs:
        found.append("read-only")
    return tuple(dict.fromkeys(found))


def word(text: str) -> Word:
    """Return a word of an argument list in code; parts that are not known are expansions."""
    found = Word(model.as_written(text))
    if found.text != text:
        found.dynamic = True
        found.parts = [(piece, EXPANSION if variable else LITERAL) for piece, variable in model.split(text)]
    return found


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
