"""State of a walk, passed down: current text, current folder, source of standard input."""

import posixpath
import re
from collections.abc import Iterable

from baton.lib.bash import misreadings
from baton.lib.bash.expansion.values import Values
from baton.lib.bash.expansion.words import EXPANSION, KIND, QUOTED, SUBSTITUTION, ProgramSpan, Word
from baton.lib.bash.misreadings import UnreadableError
from baton.lib.bash.model import Input
from baton.lib.code import model as code_model

_VARIABLE = re.compile(r"\s*\$\{?(\w+|[@*])")
_ONE_VARIABLE = re.compile(r"\s*\$(?:\{(\w+)(?:\[[@*]\])?\}|(\w+))")
_LONGEST_FOLDER = 4_096
"""Maximum length of a folder, Linux's longest path; otherwise a thousand `cd x` would make it grow each time."""
_MOST_FOLDERS = 4  # alternative folders kept after a `cd` that may have failed
_HOME = re.compile(r"\$(?:HOME|\{HOME\})((?:/[^$`]*)?)\Z")
_ALWAYS_THERE = frozenset(["/", "/tmp", "~", ".", "..", "../", "../.."])  # noqa: S108 (a name, not a file)
"""Folders for which `cd` does not fail."""


class StdinSource:
    """The source of standard input: the programs in `spans`, and their own sources (`parent`).

    `script` is its text if part of the line (`echo 'rm x' | sh`, a heredoc), otherwise None. `decoded`: a program like
    `base64 -d` made it from text in the line. `connection`: the shell opens a connection to another machine
    (`< /dev/tcp/host/port`). `origins` are the sources of the line's files in it.
    """

    __slots__ = ("connection", "decoded", "origins", "parent", "script", "spans")

    def __init__(
        self,
        spans: list[ProgramSpan],
        parent: "StdinSource | None" = None,
        script: list[Word] | None = None,
        origins: Iterable["StdinSource | None"] = (),
    ) -> None:
        self.spans = spans
        self.parent = parent
        self.origins = [origin for origin in origins if origin is not None]
        self.script = script
        self.connection = False
        self.decoded: bool = parent is not None and parent.decoded

    def sources(self) -> list["StdinSource"]:
        """Return its direct sources."""
        return self.origins if self.parent is None else [*self.origins, self.parent]

    def all_spans(self) -> list[ProgramSpan]:
        """Return the spans of all its source programs, nearest first."""
        found: list[ProgramSpan] = []
        waiting, seen = [self], {id(self)}
        while waiting:
            here = waiting.pop()
            found += here.spans
            for one in here.sources():
                if id(one) not in seen:
                    seen.add(id(one))
                    waiting.append(one)
        return found


def input_of(source: StdinSource | None) -> Input:
    """Return the kind of standard input: output of programs, text in the line, or a file."""
    if source is None:
        return ""
    if source.connection:
        return "connection"
    if source.spans or source.parent is not None:
        return "pipe"
    return "file" if source.script is None else "text"


class Folder:
    """The current folder: "" is the session's own, None is unknown.

    `others` are alternatives after a `cd` that may have failed.
    """

    __slots__ = ("base", "left", "others", "past", "sure")

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.others: tuple[str | None, ...] = ()
        self.past: list[str | None] = []
        self.left: str | None = None  # the folder before the last `cd`
        self.sure = True

    def copy(self) -> "Folder":
        """Return the folder of a shell started in this one."""
        copied = Folder(self.base)
        copied.others, copied.left = self.others, self.left
        return copied

    def may_be(self, others: Iterable[str | None]) -> None:
        """Add alternative folders: a `cd` may have failed."""
        found = dict.fromkeys([*self.others, *others])
        found.pop(self.base, None)
        # None means any folder, so it covers the rest of many.
        self.others = tuple(found) if len(found) <= _MOST_FOLDERS else (*tuple(found)[:_MOST_FOLDERS], None)

    def lose(self, before: str | None) -> None:
        """Note that the change from the folder `before` is uncertain."""
        after, self.base = self.base, None
        self.may_be([before, after])

    def bases(self, target: str) -> tuple[str | None, ...]:
        """Return the base folders of a path; for a path independent of `cd`, only the likely one."""
        return (self.base, *self.others) if self.others and target[:1] not in {"/", "~"} else (self.base,)

    def go(self, name: str, words: list[Word]) -> None:
        """Apply `cd`, `pushd` or `popd`."""
        self.sure = False
        left, self.left = self.left, self.base
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
        home = _HOME.match(target.text) if target.dynamic else None
        if home is not None:
            target = Word(f"~{home[1]}")
        self.sure = target.text in _ALWAYS_THERE
        if target.text == "-" and left is not None:
            self.base, self.others = left, ()
        elif target.dynamic or target.text in {"-", ""} or target.text[:1] == "+":
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
    """A string being read: the line itself, or a script inside it.

    In a nested script, variables are placeholders for the outer shell's substitutions (`outer`). `variables` are those
    set from a substitution. `owner` is the index of the program interpreting the text, -1 for the line itself.
    """

    __slots__ = ("outer", "owner", "pattern", "spans", "src", "variables")

    def __init__(self, src: bytes, owner: int = -1) -> None:
        self.src = src
        self.owner = owner
        self.spans: dict[int, ProgramSpan] = {}
        self.variables: dict[str, list[ProgramSpan]] = {}
        self.outer: dict[str, tuple[str, list[ProgramSpan]]] = {}
        self.pattern: re.Pattern[str] | None = None

    def stand_in(self, outer: dict[str, tuple[str, list[ProgramSpan]]]) -> None:
        """Set the placeholders: variable name → replaced text, and the programs producing its value."""
        self.outer = outer
        self.pattern = re.compile(r"\$(" + "|".join(outer) + r")(?!\w)") if outer else None

    def span(self, start: int) -> ProgramSpan:
        """Return the programs of the substitution at a byte offset."""
        return self.spans.setdefault(start, ProgramSpan())

    def bind(self, word: Word) -> Word:
        """Restore the original text of placeholders, and note the programs with output in the word."""
        word.spans = [self.span(node.start_byte) for node in word.subs]
        if self.variables:
            for text, kind in word.parts:
                name = _VARIABLE.match(text) if kind & KIND == EXPANSION else None
                word.spans += self.variables.get(name[1], ()) if name else ()
        if self.pattern is None or "$" not in word.text:
            return word
        parts: list[tuple[str, int]] = []
        # The script of `sh -c "$x"` was parsed with placeholders for the outer line's values. Each keeps its own text:
        # a literal value could contain quotes, and bash does not parse those again.
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

    def give(self, args: list[Word]) -> dict[str, list[ProgramSpan]]:
        """Note the programs with output in positional parameters; return their former spans."""
        spans = {str(at): word.spans for at, word in enumerate(args, 1) if word.spans}
        every = [span for found in spans.values() for span in found]
        before = {name: self.variables.pop(name) for name in list(self.variables) if name in "@*" or name.isdigit()}
        self.variables |= {**spans, "@": every, "*": every} if every else {}
        return before

    @staticmethod
    def as_code(word: Word) -> str:
        """Return a word as code in another language, with unknown parts marked."""
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
    """The walk's position in the line. `below` copies it for a part with its own folder, input or depth.

    `certain` is False for a command that may not run (after `&&`, in `if`). `forks` is True in a pipeline or subshell.
    `function` names the function being walked; `defines` is True at its definition, False at its call. `values` are the
    variables. `captured` is True if the output is read or redirected.
    """

    __slots__ = (
        "captured", "certain", "defines", "depth", "folder", "forks", "function", "input", "level", "text", "values",
    )  # fmt: skip

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
        """Return a copy for a part of this position. Raise UnreadableError."""
        if self.level >= misreadings.MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {misreadings.MAX_DEPTH} levels")
        # Not by `__init__`, which would create unused values: this runs several times for each command.
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
    """Return whether a script has literal text besides expansions."""
    return any(not word.parts or any(not k & KIND and text.strip() for text, k in word.parts) for word in script)
