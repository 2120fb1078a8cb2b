"""The texts that a line makes itself: what it writes into files, and what its commands and substitutions print."""

import posixpath
import re

from baton.engine.shell.expansion import outputs
from baton.engine.shell.expansion.scripts import Position
from baton.engine.shell.expansion.values import Filler
from baton.engine.shell.expansion.words import EXPANSION, QUOTED, Word
from baton.engine.shell.programs.arguments import FROM_FILE
from baton.engine.shell.programs.redirects import Redirects
from baton.engine.shell.tables import classify

_PROGRAM = re.compile(r"(?:/[\w.-]+)*/s?bin/([\w.+-]+)")
"""An installed program, by its path."""
_NAME = re.compile(r"[\w.+-]+")


class Texts:
    """The known texts of one line. `files` are those in files, by path; `filler` fills known values into words."""

    def __init__(self) -> None:
        self.filler = Filler()
        self.files: dict[str, list[Word]] = {}

    def filled(self, words: list[Word], place: Position) -> list[Word]:
        """Return words with known values filled in; of alternatives the first."""
        made = self.filler.variants(words, place.values) if any(word.dynamic for word in words) else []
        return made[0] if made else words

    def keep_text(self, found: Redirects, place: Position, printed: list[Word] | None, *, by: str) -> None:
        """Remember what a redirection writes into files; `by` is the name of the program that prints it."""
        for target in found.targets:
            path = self.path_of(Word(target), place)
            if printed is None:
                self.files.pop(path, None)
            else:
                before = self.files.get(path, []) if found.appends else []
                end = [] if by == "printf" else [Word("\n")]
                self.files[path] = [*before, *printed, *end]

    def keep_copies(self, use: classify.Invocation, place: Position) -> None:
        """Remember the text of files that `tee`, `cp`, `mv` and the like write, and which program a copy is one of."""
        words = self.filled([use.words[at] for at in use.operands], place)
        if use.name == "tee":
            text = place.input.script if place.input is not None else None
            targets = words
        elif use.name == "dd":
            text = place.input.script if place.input is not None else None
            targets = [Word(word.text[3:]) for word in words if word.text.startswith("of=")]
        elif len(words) > 1:
            made = use.words[use.operands[0]].dynamic
            text, targets = self.of_file(words[0], place) or _passed_on(words[0], made=made), words[1:2]
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

    def of_file(self, word: Word, place: Position) -> list[Word] | None:
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
        # `$(which rm)` is the program that it names.
        if name in {"command", "which", "type"} and use.operands:
            return [use.words[at] for at in use.operands]
        if name in outputs.SILENT:
            return []
        files = [use.words[at] for at in use.operands if use.words[at].text != "-"]
        if name == "cat" and files:
            texts = [self.of_file(word, place) for word in files]
            return None if None in texts else [word for text in texts for word in text or []]
        if place.input is None or place.input.script is None:
            return None
        text = self.input_text(place)
        # A part of one line is taken for the line; which of several lines a filter lets through is found out below.
        if name in outputs.PASSES and (name in outputs.WHOLE or text is None or "\n" not in text.strip("\n")):
            return place.input.script
        made_text = None if text is None else outputs.filtered(name, use.words, text)
        return None if made_text is None else [Word(made_text)]

    def arguments_text(self, use: classify.Invocation, place: Position) -> str | None:
        """Return the text that `xargs` takes arguments from, if it is known: its input, or the file of `-a`."""
        for option, value in use.values:
            if option in FROM_FILE:
                found = self.of_file(Word(value), place)
                return None if found is None else outputs.known_text(self.filled(found, place))
        return self.input_text(place)

    def input_text(self, place: Position) -> str | None:
        """Return the text of standard input, if it is known."""
        if place.input is None or place.input.script is None:
            return None
        return outputs.known_text(self.filled(place.input.script, place))


def _joined(base: str | None, path: str) -> str:
    return path if base is None else posixpath.normpath(posixpath.join(base, path))


def _passed_on(source: Word, *, made: bool) -> list[Word] | None:
    """Return a script that does what a copy of an installed program does; None where the source is no such program.

    `made` is True for a name that the line has made: of `$(which rm)` only `rm` is known.
    """
    found = _PROGRAM.fullmatch(source.text)
    name = found[1] if found else source.text if made and _NAME.fullmatch(source.text) else ""
    return [Word(f'{name} "$@"')] if name else None
