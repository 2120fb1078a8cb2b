"""Texts made by a line itself: content written into files, and output of its commands and substitutions."""

import posixpath
import re

from baton.lib.bash.expansion import outputs
from baton.lib.bash.expansion.scripts import Position
from baton.lib.bash.expansion.values import Filler
from baton.lib.bash.expansion.words import EXPANSION, QUOTED, Word
from baton.lib.bash.programs.arguments import FILE_LISTS, FROM_FILE
from baton.lib.bash.programs.redirects import Redirects
from baton.lib.bash.tables import classify

_PROGRAM = re.compile(r"(?:/[\w.-]+)*/s?bin/([\w.+-]+)")  # an installed program, by its path
_NAME = re.compile(r"[\w.+-]+")


class Texts:
    """The known texts of one line. `files` are those in files, by path; `filler` fills known values into words.

    `open_line`: the last output had no newline (`printf x`, `echo -n x`).
    """

    def __init__(self) -> None:
        self.filler = Filler()
        self.files: dict[str, list[Word]] = {}
        self.open_line = False

    def filled(self, words: list[Word], place: Position) -> list[Word]:
        """Return words with known values filled in; of alternatives the first."""
        made = self.filler.variants(words, place.values) if any(word.dynamic for word in words) else []
        return made[0] if made else words

    def keep_text(self, found: Redirects, place: Position, printed: list[Word] | None) -> None:
        """Remember the text written into files by a redirection."""
        for target in found.targets:
            path = self.path_of(Word(target), place)
            if printed is None:
                self.files.pop(path, None)
            else:
                before = self.files.get(path, []) if found.appends else []
                ended = not before or before[-1].text == "\n"
                self.files[path] = before + printed if ended else outputs.joined(before, printed)
                self.files[path] += [] if self.open_line else [Word("\n")]

    def keep_copies(self, use: classify.Invocation, place: Position) -> None:
        """Remember the text of files written by `tee`, `cp`, `mv` and the like, and the program behind a copy."""
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
        """Return the key of a file's text."""
        text = word.text
        if "$" in text and not word.dynamic:
            word = Word(text)
            word.parts, word.dynamic = [(text, EXPANSION | QUOTED)], True
        text = str(self.filler.text(word, place.values)[0]) if word.dynamic else text
        base = place.folder.base
        return text if base is None else posixpath.normpath(posixpath.join(base, text))

    def of_file(self, word: Word, place: Position) -> list[Word] | None:
        """Return the text of a file written by the line, or of `<(…)`, as the words of a script."""
        return self.files.get(self.path_of(word, place)) if self.files else None

    def text_of_file(self, path: Word, place: Position) -> str | None:
        """Return the known text of a file written by the line."""
        found = self.of_file(path, place)
        return None if found is None else outputs.known_text(self.filled(found, place))

    def keep_output(self, text: str, printed: list[Word] | None, place: Position) -> None:
        """Remember the output of a substitution."""
        known = None
        if printed is not None:
            known = outputs.known_text(self.filled(printed, place))
        if known is None:
            self.filler.outputs.pop(text, None)
        elif text[:2] == "<(":
            path = f"/dev/fd/{len(self.files)}-of-the-line"
            self.files[path] = [Word(known)]
            self.filler.outputs[text] = path
        else:
            self.filler.outputs[text] = known.replace(" \n ", "\n").removesuffix(" \n").rstrip("\n")

    def printed(self, use: classify.Invocation, place: Position) -> list[Word] | None:
        """Return a command's output, if it follows from the line: `echo`, `printf`, or a `cat` of known input."""
        name = use.name
        self.open_line = name == "printf" or (name == "echo" and "-n" in use.flags)
        if name in {"echo", "print", "printf"}:
            dynamic = any(word.dynamic for word in use.words)
            made = (self.filler.variants(use.words, place.values) if dynamic else []) or [use.words]
            read = outputs.formatted if name == "printf" else outputs.echoed
            found = [read(words) for words in made]
            if self.open_line:
                line: list[Word] = []
                for one in found:
                    line = outputs.joined(line, one or [])
                return line
            return [
                word for one in found if one is not None for word in (*one, *([Word("\n")] if len(found) > 1 else []))
            ]
        # `$(which rm)` is the program named by it, and so is `$(pyenv which rm)`.
        which = use.subcommand == "which" and use.categories == ("read-only",)
        if use.operands and (which or name in {"command", "which", "type"}):
            return [use.words[at] for at in use.operands]
        if (name, use.subcommand) == ("uv", "python find"):
            return [Word("python")]
        if name in outputs.SILENT:
            return []
        files = [use.words[at] for at in use.operands if use.words[at].text != "-"]
        if name == "cat" and files:
            texts = [self.of_file(word, place) for word in files]
            return None if None in texts else [word for text in texts for word in text or []]
        if place.input is None or place.input.script is None:
            return None
        text = self.input_text(place)
        # A part of one line is taken for the whole line; a filter's selection among several lines is computed below.
        if name in outputs.PASSES and (name in outputs.WHOLE or text is None or "\n" not in text.strip("\n")):
            return place.input.script
        made_text = None if text is None else outputs.filtered(name, use.words, text)
        return None if made_text is None else [Word(made_text)]

    def patches(self, use: classify.Invocation, place: Position) -> list[str]:
        """Return a program's possible patch texts: its arguments, files written by the line, its input."""
        words = [use.words[at] for at in use.operands] + [Word(value) for _, value in use.values]
        texts = [word.text for word in self.filled(words, place)]
        for word in words:
            found = self.of_file(word, place)
            texts.append("" if found is None else outputs.known_text(self.filled(found, place)) or "")
        return [text for text in (*texts, self.input_text(place)) if text and "\n" in text]

    def arguments_text(self, use: classify.Invocation, place: Position) -> str | None:
        """Return the text of the arguments of `xargs`, if known: its input, or the file of `-a`."""
        for option, value in use.values:
            if option in FROM_FILE:
                return self.text_of_file(Word(value), place)
        listed = next((at for at, word in enumerate(use.words[:-1]) if word.text in FILE_LISTS), 0)
        if listed:
            return self.text_of_file(use.words[listed + 1], place)
        return self.input_text(place)

    def input_text(self, place: Position) -> str | None:
        """Return the text of standard input, if known."""
        if place.input is None or place.input.script is None:
            return None
        return outputs.known_text(self.filled(place.input.script, place))


def _passed_on(source: Word, *, made: bool) -> list[Word] | None:
    """Return a script equivalent to the copy of an installed program; None for any other source.

    `made`: the line computed the name, and of `$(which rm)` only `rm` is known.
    """
    found = _PROGRAM.fullmatch(source.text)
    name = found[1] if found else source.text if made and _NAME.fullmatch(source.text) else ""
    return [Word(f'{name} "$@"')] if name else None
