"""The state that a walk passes down: the text being read, the current folder, and the source of standard input."""

import posixpath
import re
from collections.abc import Iterable

from baton.engine.code import model as code_model
from baton.engine.shell import misreadings
from baton.engine.shell.expansion.values import Values
from baton.engine.shell.expansion.words import EXPANSION, KIND, QUOTED, SUBSTITUTION, Span, Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.model import Input

_VARIABLE = re.compile(r"\s*\$\{?(\w+)")
_ONE_VARIABLE = re.compile(r"\s*\$(?:\{(\w+)(?:\[[@*]\])?\}|(\w+))")
_LONGEST_FOLDER = 4_096
"""Characters of a folder that is followed, Linux's longest path; a thousand `cd x` would make one that grows each time."""
_MOST_FOLDERS = 4
"""Folders besides the likely one that are kept where a `cd` may have failed."""
_ALWAYS_THERE = frozenset(["/", "/tmp", "~", ".", "..", "../", "../.."])  # noqa: S108 (a name, not a file)
"""Folders into which `cd` does not fail."""


class StdinSource:
    """Where standard input comes from: the programs in `spans`, and those that feed them (`parent`).

    `script` is its text if that stands in the line (`echo 'rm x' | sh`, a heredoc), None if it is not known. It is
    `decoded` if a program like `base64 -d` made it of the text in the line. `connection` is True for a connection to
    another machine that the shell opens (`< /dev/tcp/host/port`).
    """

    __slots__ = ("connection", "decoded", "parent", "script", "spans")

    def __init__(
        self, spans: list[Span], parent: "StdinSource | None" = None, script: list[Word] | None = None
    ) -> None:
        self.spans = spans
        self.parent = parent
        self.script = script
        self.connection = False
        self.decoded: bool = parent is not None and parent.decoded

    def programs(self, cap: int) -> list[int]:
        """Return the programs that feed it; at most one more than `cap`, so that the caller sees it was exceeded."""
        found: list[int] = []
        here: StdinSource | None = self
        while here is not None and len(found) <= cap:
            for span in here.spans:
                found += range(span.first, min(span.last, span.first + cap + 1))
            here = here.parent
        return found


def input_of(source: StdinSource | None) -> Input:
    """Return what standard input is: programs that feed it, a text in the line, or a file."""
    if source is None:
        return ""
    if source.connection:
        return "connection"
    if source.spans or source.parent is not None:
        return "pipe"
    return "file" if source.script is None else "text"


class Folder:
    """The current folder: "" is the session's own, None is unknown.

    `others` are the folders that it may be instead, where a `cd` may have failed.
    """

    __slots__ = ("base", "others", "past", "sure")

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.others: tuple[str | None, ...] = ()
        self.past: list[str | None] = []
        self.sure = True

    def copy(self) -> "Folder":
        """Return the folder of a shell that starts in this one."""
        copied = Folder(self.base)
        copied.others = self.others
        return copied

    def may_be(self, others: Iterable[str | None]) -> None:
        """Note other folders that this may be: a `cd` may have failed."""
        found = dict.fromkeys([*self.others, *others])
        found.pop(self.base, None)
        # A program in a folder that is not known may be anywhere, so the rest of many folders says nothing more.
        self.others = tuple(found) if len(found) <= _MOST_FOLDERS else (*tuple(found)[:_MOST_FOLDERS], None)

    def lose(self, before: str | None) -> None:
        """Note that it is unknown whether the folder has been left for another; it was `before`."""
        after, self.base = self.base, None
        self.may_be([before, after])

    def bases(self, target: str) -> tuple[str | None, ...]:
        """Return the folders that a path may start from; for one that no `cd` changes, only the likely one."""
        return (self.base, *self.others) if self.others and target[:1] not in {"/", "~"} else (self.base,)

    def go(self, name: str, words: list[Word]) -> None:
        """Apply `cd`, `pushd` or `popd`."""
        self.sure = False
        if name == "popd":
            self.base = self.past.pop() if self.past else None
            self.others = ()
            return
        if name == "pushd":
            self.past.append(self.base)
        operands = [word for word in words[1:] if word.text[:1] != "-" or word.text == "-"]
        if not operands:
            self.base = "~" if name == "cd" else None
            self.others, self.sure = (), True
            return
        target = operands[0]
        self.sure = target.text in _ALWAYS_THERE
        if target.dynamic or target.text in {"-", ""} or target.text[:1] == "+":
            self.base, self.others = None, ()
        elif target.text[:1] in {"/", "~"}:
            self.base, self.others = target.text, ()
        else:
            self.base = _joined(self.base, target.text)
            if self.others:
                self.others = tuple(dict.fromkeys([_joined(base, target.text) for base in self.others]))


def _joined(base: str | None, target: str) -> str | None:
    path = None if base is None else posixpath.join(base, target)
    return path if path is None or len(path) <= _LONGEST_FOLDER else None


class ScriptText:
    """A text that is being read: the line itself, or a script inside it.

    In a nested script, what the outer shell substitutes is replaced by stand-in variables (`outer`). `variables` are
    those set from a substitution. `owner` is the index of the program that
    interprets the text, -1 for the line itself.
    """

    __slots__ = ("outer", "owner", "pattern", "spans", "src", "variables")

    def __init__(self, src: bytes, owner: int = -1) -> None:
        self.src = src
        self.owner = owner
        self.spans: dict[int, Span] = {}
        self.variables: dict[str, list[Span]] = {}
        self.outer: dict[str, tuple[str, list[Span]]] = {}
        self.pattern: re.Pattern[str] | None = None

    def stand_in(self, outer: dict[str, tuple[str, list[Span]]]) -> None:
        """Set the stand-ins: variable name → the text that it replaces, and the programs that produce its value."""
        self.outer = outer
        self.pattern = re.compile(r"\$(" + "|".join(outer) + r")(?!\w)") if outer else None

    def span(self, start: int) -> Span:
        """Return the programs of the substitution that starts at a byte."""
        return self.spans.setdefault(start, Span())

    def bind(self, word: Word) -> Word:
        """Put the original text back in place of stand-ins, and note in the word which programs' output it contains."""
        word.spans = [self.span(node.start_byte) for node in word.subs]
        if self.variables:
            for text, kind in word.parts:
                name = _VARIABLE.match(text) if kind & KIND == EXPANSION else None
                word.spans += self.variables.get(name[1], ()) if name else ()
        if self.pattern is None or "$" not in word.text:
            return word
        parts: list[tuple[str, int]] = []
        # The script of `sh -c "$x"` was read with names in the place of the values that the outer line filled in. Each
        # keeps its own text, because a literal value could hold quotes that bash never reads again.
        for text, kind in word.parts:
            at = 0
            for found in self.pattern.finditer(text):
                parts.append((text[at : found.start()], kind))
                parts.append((self.outer[found[1]][0], SUBSTITUTION | kind & QUOTED))
                word.outer = True
                word.spans += self.outer[found[1]][1]
                at = found.end()
            parts.append((text[at:], kind))
        word.parts = [part for part in parts if part[0]]
        word.text = "".join([text for text, _ in word.parts])
        return word

    @staticmethod
    def as_code(word: Word) -> str:
        """Return a word as code in another language, with what is not known marked so."""
        if not word.parts:
            return word.text
        pieces: list[str] = []
        for text, kind in word.parts:
            name = _ONE_VARIABLE.fullmatch(text) if kind & KIND == EXPANSION else None
            if not kind & KIND:
                pieces.append(text)
            else:
                pieces.append(code_model.variable(name[1] or name[2]) if name else code_model.UNKNOWN)
        return "".join(pieces)


class Position:
    """Where in the line the walk is. `below` copies it for a part of the line that has its own folder, input or depth.

    `certain` is False where a command may not run (after `&&`, in `if`); `forks` is True in a pipeline or subshell;
    `function` is the name of the function whose body is walked; `defines` is True while that is done where the function
    is defined, and not where it is called. `values` are the variables, `captured` is True if the output goes elsewhere.
    """

    __slots__ = (
        "captured",
        "certain",
        "defines",
        "depth",
        "folder",
        "forks",
        "function",
        "input",
        "level",
        "text",
        "values",
    )

    def __init__(self, text: ScriptText, folder: Folder) -> None:
        self.text = text
        self.folder = folder
        self.input: StdinSource | None = None
        self.depth = 0
        self.level = 0
        self.function = ""
        self.forks = False
        self.certain = True
        self.defines = False
        self.captured = False
        self.values = Values()

    def below(self, *, deeper: int = 0, subshell: bool = False) -> "Position":
        """Return a copy for a part of this position.

        Raises:
            UnreadableError: If it is nested too deeply.
        """
        if self.level >= misreadings.MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {misreadings.MAX_DEPTH} levels")
        # Not by __init__, which would make values of its own: this runs several times for each command.
        place = Position.__new__(Position)
        place.text = self.text
        place.folder = self.folder.copy() if subshell else self.folder
        place.input = self.input
        place.depth = self.depth + deeper
        place.level = self.level + 1
        place.function = self.function
        place.forks = self.forks or subshell
        place.certain = self.certain
        place.defines = self.defines
        place.captured = self.captured
        place.values = Values(self.values) if subshell else self.values
        return place


def has_literal_text(script: list[Word]) -> bool:
    """Return whether a script has literal text, not only expansions."""
    return any(not word.parts or any(not k & KIND and text.strip() for text, k in word.parts) for word in script)
