"""What a walk passes down: the text that is read, the folder that it runs in, and where its input comes from.

It does not decide what any of it means; `walk` does.
"""

import posixpath
import re

from baton.engine.shell import misreadings
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.words import EXPANSION, LITERAL, SUBSTITUTION, Span, Word

_VARIABLE = re.compile(r"\s*\$\{?(\w+)")
_ONE_VARIABLE = re.compile(r"\s*\$(?:\{(\w+)(?:\[[@*]\])?\}|(\w+))")
_ASKS_FOR_A_PROGRAM = re.compile(r"(?:\$\(|`)\s*(?:which|command -v|type -[pP]|echo)\s+([\w./-]+)\s*[)`]")


class StdinSource:
    """Where standard input comes from: programs (`spans`, and what feeds them), and its text where that is known."""

    __slots__ = ("parent", "script", "spans")

    def __init__(
        self, spans: list[Span], parent: "StdinSource | None" = None, script: list[Word] | None = None
    ) -> None:
        self.spans = spans
        self.parent = parent
        self.script = script

    def programs(self, cap: int) -> list[int]:
        """The programs that feed it, at most `cap` and one more."""
        found: list[int] = []
        here: StdinSource | None = self
        while here is not None and len(found) <= cap:
            for span in here.spans:
                found += range(span.first, min(span.last, span.first + cap + 1))
            here = here.parent
        return found


class Folder:
    """The current folder: "" is the session's own, None cannot be told."""

    __slots__ = ("base", "past")

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.past: list[str | None] = []

    def go(self, name: str, words: list[Word]) -> None:
        """Apply `cd`, `pushd` or `popd`."""
        if name == "popd":
            self.base = self.past.pop() if self.past else None
            return
        if name == "pushd":
            self.past.append(self.base)
        operands = [word for word in words[1:] if word.text[:1] != "-" or word.text == "-"]
        if not operands:
            self.base = "~" if name == "cd" else None
            return
        target = operands[0]
        if target.dynamic or target.globs or target.text in {"-", ""} or target.text[:1] == "+":
            self.base = None
        elif target.text[:1] in {"/", "~"}:
            self.base = target.text
        elif self.base is not None:
            self.base = posixpath.join(self.base, target.text)


class ScriptText:
    """A text that is being read, with the stand-ins for what the shell around it puts in.

    `variables` are those whose value a substitution made, `literals` those whose value stands there. `owner` is the index of the program that interprets it, -1 for the line itself.
    """

    __slots__ = ("functions", "literals", "outer", "owner", "pattern", "spans", "src", "variables")

    def __init__(self, src: bytes, owner: int = -1) -> None:
        self.src = src
        self.owner = owner
        self.functions: set[str] = set()
        self.spans: dict[int, Span] = {}
        self.variables: dict[str, list[Span]] = {}
        self.literals: dict[str, str | list[Word]] = {}
        self.outer: dict[str, tuple[str, list[Span]]] = {}
        self.pattern: re.Pattern[str] | None = None

    def stand_in(self, outer: dict[str, tuple[str, list[Span]]]) -> None:
        """Set the stand-ins: variable name → what is written there, and the programs that make it."""
        self.outer = outer
        self.pattern = re.compile(r"\$(" + "|".join(outer) + r")(?!\w)") if outer else None

    def span(self, start: int) -> Span:
        """The programs of the substitution that starts at a byte."""
        return self.spans.setdefault(start, Span())

    def bind(self, word: Word) -> Word:
        """Put back into a word what its stand-ins stand for, and tell it which programs' output is in it."""
        word.spans = [self.span(node.start_byte) for node in word.subs]
        if self.variables:
            for text, kind in word.parts:
                name = _VARIABLE.match(text) if kind == EXPANSION else None
                word.spans += self.variables.get(name[1], ()) if name else ()
        if self.pattern is None or "$" not in word.text:
            return word
        parts: list[tuple[str, int]] = []
        for text, kind in word.parts:
            at = 0
            for found in self.pattern.finditer(text):
                parts.append((text[at : found.start()], kind))
                parts.append((self.outer[found[1]][0], SUBSTITUTION))
                word.outer = True
                word.spans += self.outer[found[1]][1]
                at = found.end()
            parts.append((text[at:], kind))
        word.parts = [part for part in parts if part[0]]
        word.text = "".join([text for text, _ in word.parts])
        return word

    def meant(self, words: list[Word]) -> list[Word] | None:
        """Put in what is known of variables and of `$(which x)`; None where the first word is neither."""
        first = self._value(words[0])
        if not first:
            return None
        return first + [known for word in words[1:] for known in (self._value(word) or [word])]

    def _value(self, word: Word) -> list[Word] | None:
        if len(word.parts) != 1:
            return None
        text, kind = word.parts[0]
        if kind == SUBSTITUTION:
            asked = _ASKS_FOR_A_PROGRAM.fullmatch(text)
            return [Word(asked[1])] if asked else None
        name = _ONE_VARIABLE.fullmatch(text) if kind == EXPANSION else None
        known = self.literals.get(name[1] or name[2]) if name else None
        return [Word(part) for part in known.split()] if isinstance(known, str) else known


class Position:
    """Where in the line the walk stands; passed down, copied where a part of the line has its own."""

    __slots__ = ("certain", "depth", "folder", "forks", "function", "input", "level", "text")

    def __init__(self, text: ScriptText, folder: Folder) -> None:
        self.text = text
        self.folder = folder
        self.input: StdinSource | None = None
        self.depth = 0
        self.level = 0
        self.function = ""
        self.forks = False
        self.certain = True

    def below(self, *, deeper: int = 0, subshell: bool = False) -> "Position":
        """Copy for a part of this place; raises UnreadableError when that is too deep."""
        if self.level >= misreadings.MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {misreadings.MAX_DEPTH} levels")
        place = Position(self.text, Folder(self.folder.base) if subshell else self.folder)
        place.input = self.input
        place.depth = self.depth + deeper
        place.level = self.level + 1
        place.function = self.function
        place.forks = self.forks or subshell
        place.certain = self.certain
        return place


def told(script: list[Word]) -> bool:
    """Tell whether a script has any text of its own, not only expansions."""
    return any(not word.parts or any(k == LITERAL and text.strip() for text, k in word.parts) for word in script)
