"""Locate the programs of a reading in the line, for people viewing it.

The reading stores no positions, because decisions need none. So the line is split again into words with positions, and
every program is searched by its words. A program absent from the text, such as one named by a variable's value, has no
span.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from baton.lib.bash.model import Program

MOST_DEPTH = 6
MOST_COMPARISONS = 50_000  # maximum word comparisons per line; later programs have no span
_BLANK = frozenset(" \t")
_ENDS = frozenset(";&|\n(){}")
_REDIRECTION = frozenset("<>&|-")
_OPENING = {"(": ")", "{": "}"}
_ESCAPED = frozenset('"\\$`\n')  # characters that a backslash escapes in double quotes; before others it is literal


class Span(NamedTuple):
    """A range of characters (Unicode code points), end exclusive."""

    start: int
    end: int


class _Word(NamedTuple):
    text: str
    span: Span


class _Text(NamedTuple):
    """A string and the position of each character in the line."""

    characters: str
    places: Sequence[int]


class WordPlaces:
    """The words of a line with their positions, including those of quoted scripts and substitutions."""

    def __init__(self, line: str) -> None:
        self._runs: list[list[_Word]] = []
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._taken: set[tuple[int, int]] = set()
        self._left = MOST_COMPARISONS
        waiting = [_Text(line, range(len(line)))]
        for _ in range(MOST_DEPTH):
            waiting = [inner for text in waiting for inner in self._cut(text)]
        for number, run in enumerate(self._runs):
            for at, word in enumerate(run):
                self._starts.setdefault(word.text, []).append((number, at))

    def _cut(self, text: _Text) -> list[_Text]:
        cutter = _Cutter(text)
        self._runs += cutter.runs()
        return cutter.scripts

    def word(self, text: str) -> Span | None:
        """Return the first position of a word, or None."""
        found = self._starts.get(text)
        return None if not found else self._runs[found[0][0]][found[0][1]].span

    def program(self, program: Program) -> Span | None:
        """Return a program's position, from its name to its last word. Call it in the order of the reading.

        The words are matched in sequence. If only the first ones match, as after `xargs`, those count.
        """
        argv = program.argv
        best, longest = None, 0
        for place in self._starts.get(argv[0], ()) if argv else ():
            if place in self._taken:
                continue
            length = self._alike(place, argv)
            if length > longest:
                best, longest = place, length
            if length == len(argv) or self._left <= 0:
                break
        if best is None:
            return None
        self._taken.add(best)
        run, at = best
        return Span(self._runs[run][at].span.start, self._runs[run][at + longest - 1].span.end)

    def _alike(self, place: tuple[int, int], argv: Sequence[str]) -> int:
        run, at = place
        count = 0
        for word, wanted in zip(self._runs[run][at : at + len(argv)], argv, strict=False):
            self._left -= 1
            if word.text != wanted or self._left < 0:
                break
            count += 1
        return count


class _Cutter:
    """Splits one text into runs of words; a run ends with its command. `scripts` are the texts to split next."""

    def __init__(self, text: _Text) -> None:
        self.scripts: list[_Text] = []
        self._characters, self._places = text.characters, text.places
        self._at = 0
        self._found: list[str] = []
        self._where: list[int] = []
        self._in_double_quotes = False

    def runs(self) -> Iterator[list[_Word]]:
        run: list[_Word] = []
        is_file = False
        while self._at < len(self._characters):
            one = self._characters[self._at]
            if one in "<>":
                is_file = self._redirection(run)
            elif one in _BLANK or self._is("\\\n"):
                self._at += 1 if one in _BLANK else 2
            elif one in _ENDS:
                self._at += 1
                is_file = False
                if run:
                    yield run
                run = []
            elif one == "#":
                self._at = self._find("\n", self._at)
            elif is_file:  # not a word of the program
                is_file = False
                yield [self._word()]
            else:
                run.append(self._word())
        if run:
            yield run

    def _is(self, text: str) -> bool:
        return self._characters.startswith(text, self._at)

    def _find(self, character: str, start: int) -> int:
        end = self._characters.find(character, start)
        return len(self._characters) if end < 0 else end

    def _redirection(self, run: list[_Word]) -> bool:
        """Skip `>`, `2>>`, `<<<` and the like; return whether a file name comes next, not a script in brackets."""
        if run and run[-1].text.isdigit() and run[-1].span.end == self._places[self._at]:
            run.pop()
        while self._characters[self._at : self._at + 1] in _REDIRECTION:
            self._at += 1
        return not self._is("(")

    def _word(self) -> _Word:
        """Read one word, without its quotes; its scripts are split later."""
        start = self._at
        self._found, self._where, self._in_double_quotes = [], [], False
        is_quoted = False
        while self._at < len(self._characters) and not self._ends():
            one = self._characters[self._at]
            if one == "\\":
                self._escape()
            elif one == "`" or (one == "$" and self._characters[self._at + 1 : self._at + 2] in _OPENING):
                self._substitution()
            elif one == '"':
                self._in_double_quotes, is_quoted = not self._in_double_quotes, True
                self._at += 1
            elif one == "'" and not self._in_double_quotes:
                is_quoted = True
                self._at += 1
                self._keep(self._find("'", self._at))
                self._at += 1
            else:
                self._keep(self._at + 1)
        text = "".join(self._found)
        if is_quoted:
            self.scripts.append(_Text(text, self._where))
        return _Word(text, Span(self._places[start], self._places[min(self._at, len(self._places)) - 1] + 1))

    def _ends(self) -> bool:
        one = self._characters[self._at]
        return not self._in_double_quotes and (one in _BLANK or one in "<>" or (one in _ENDS and one not in "{}"))

    def _keep(self, end: int) -> None:
        self._found.extend(self._characters[self._at : end])
        self._where.extend(self._places[self._at : end])
        self._at = end

    def _escape(self) -> None:
        following = self._characters[self._at + 1 : self._at + 2]
        if self._in_double_quotes and following not in _ESCAPED:
            self._keep(self._at + 1)
            return
        self._at += 1
        if following == "\n":
            self._at += 1
        elif following:
            self._keep(self._at + 1)

    def _substitution(self) -> None:
        """Keep `$(…)`, `${…}` or backticks as written; their code is split later."""
        if self._is("`"):
            inner, end = self._at + 1, self._find("`", self._at + 1)
        else:
            inner, end = self._at + 2, _closing(self._characters, self._at + 1) - 1
        self.scripts.append(_Text(self._characters[inner:end], self._places[inner:end]))
        self._keep(min(end + 1, len(self._characters)))


def _closing(characters: str, at: int) -> int:
    opening, closing = characters[at], _OPENING[characters[at]]
    depth, quote = 0, ""
    while at < len(characters):
        one = characters[at]
        if one == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if one == quote else quote
        elif one in "'\"":
            quote = one
        elif one == opening:
            depth += 1
        elif one == closing:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return len(characters)
