"""Secrets in the options and arguments of programs, in any string with a command line.

The shell tables list the programs (`secrets:` in policies/shell/*.yaml). The string is split into words and not parsed
as a shell line: it may be a prompt or a log line with a quoted command.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Protocol

import msgspec
import re2

from baton.lib.text.secrets.names import DOUBLE, SINGLE, WORD, SecretSpan, is_prose, is_secret_value

NAME = "option"  # kind of secret in the mask


class SecretPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One place of a secret in a program's arguments; exactly one of the first four fields is set.

    Attributes:
        option: An option with a secret value: the next word, or the rest of the same word.
        operand: The number of an operand, counted from 1 after the subcommand.
        word: The end of the operand before the secret (`npm config set //host/:_authToken X`).
        stdin: Whether piped input is a secret (`echo X | docker login --password-stdin`).
        glued: Whether the value must be in the same word: `mysql -pX`. `mysql -p X` names a database.
        more: Whether all later operands are secrets as well.
        after: The secret starts after this string: the `:` of `user:password`.
        flags: Options, at least one of which is required.
    """

    option: str = ""
    operand: int = 0
    word: str = ""
    stdin: bool = False
    glued: bool = False
    more: bool = False
    after: str = ""
    flags: tuple[str, ...] = ()


class SecretProgram(Protocol):
    """An entry of the shell tables, as far as this module needs it."""

    @property
    def takes_value(self) -> frozenset[str]:
        """Options with their value in the next word."""

    @property
    def secrets(self) -> tuple[SecretPlace, ...]:
        """The places of secrets."""

    @property
    def subcommands(self) -> Mapping[str, "SecretProgram"]:
        """The entries of the subcommands."""


_WORD = re.compile(
    rb"""(?:[^\s"'\\;|&<>()`]|\\(?:.|$)|"(?:[^"\\\n]|\\.)*(?:"|\Z)|'[^'\n]*(?:'|\Z)|\$\([^()\n]*\)|\$\{[^{}\n]*\}"""
    rb"""|`[^`\n]*`)+""",
    re.DOTALL,
)
_WORD_IN_DOUBLE = re.compile(
    rb"""(?:[^\s"'\\;|&<>()`]|\\"(?:[^"\\\n]|\\[^"])*\\"|\\(?:[^"]|$)|'[^'\n"]*'|\$\([^()\n]*\))+""", re.DOTALL
)
_WORD_IN_SINGLE = re.compile(rb"""(?:[^\s"'\\;|&<>()`]|\\(?:.|$)|"(?:[^"\\\n']|\\.)*"|\$\([^()\n]*\))+""", re.DOTALL)
_QUOTES = re.compile(rb"\\.|[\"']", re.DOTALL)
_GAP = re.compile(rb"(?:[ \t]|\\+\r?\n)*(?:[0-9]?[<>]{1,3}[|&]?(?:[ \t]*))?")
_BEFORE_NAME = r"(?:^|[^A-Za-z0-9_.-])"
_AFTER_NAME = r"(?:\.exe)?[\"'\\]{0,4},?(?:[\s=]|\z)"
_LIST_GAP = re.compile(rb"""\\?["'],\s*\\?["']""")
_HERE_STRING = re.compile(rb"<<<[ \t]*$")
_PRINTS = re.compile(rb"[^\n]{0,64}?(?:^|[\s\"'`]|(?<![\w.-]))(?:echo|printf|print|Write-Output|Write-Host)[ \t]+")
_ENDS_COMMAND = re.compile(rb"[;\n]|&&")
_BEGINS = re.compile(
    rb"(?:^|[;&|({`'\"$>#]|\b(?:sudo|env|exec|time|nohup|then|do|else|xargs|doas|npx|--)|\w=\S*)[ \t]*[\w./~-]*$"
)
_BACK = 512  # bytes before a program that are searched for its piped input
_LONGEST_LINE = 4_096  # bytes after a program's name that are its arguments
_SHORT_LINE = 96
_MOST_NESTED = 8
_MOST_READ = 16  # maximum number of programs read in one command line; no useful line names more


class ProgramLines:
    """Finds the secrets of known programs in a string."""

    def __init__(self, programs: Mapping[str, SecretProgram]) -> None:
        self._programs = {name.encode(): (entry, _hint(entry)) for name, entry in programs.items()}
        self.trigger = rf"{_BEFORE_NAME}(?:{'|'.join(_triggers(programs))})"
        self._names = re2.compile(rf"{_BEFORE_NAME}({_alternatives(programs)}){_AFTER_NAME}".encode())

    def secrets(self, data: bytes) -> Iterator[SecretSpan]:
        """Find the secrets of all programs in a string."""
        at, size, line_end, nested = 0, len(data), 0, 0
        while at < size and (found := self._names.search(data, at)) is not None:
            at = found.end(1)
            entry, hint = self._programs[found[1]]
            # Most lines of `git` or `docker` contain no secret: this check is cheaper than splitting them into words.
            if not hint.search(data, at, at + _LONGEST_LINE):
                continue
            # Programs among the arguments are read too (`sudo mysql -p…`). After many of them, only a short part is
            # read, to keep the time linear.
            nested = nested + 1 if at < line_end else 0
            if nested > _MOST_READ:
                continue
            words = _words(data, found.start(1), at, _LONGEST_LINE if nested < _MOST_NESTED else _SHORT_LINE)
            line_end = max(line_end, words[-1][1] if words else at)
            yield from _Arguments(entry, data, words, found.start(1)).secrets()


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(re2.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def _triggers(programs: Mapping[str, SecretProgram]) -> Iterator[str]:
    """Yield the pre-filter's patterns: a program's name, with a nearby subcommand if only subcommands take secrets."""
    groups: dict[int, list[str]] = {}
    for name, entry in programs.items():
        groups.setdefault(id(entry.subcommands) if not entry.secrets else 0, []).append(name)
    for names in groups.values():
        entry = programs[names[0]]
        near = "" if entry.secrets else rf"(?:\S+\s+){{0,4}}(?:{_alternatives(entry.subcommands)})"
        yield rf"(?:{_alternatives(names)}){_AFTER_NAME}{near}"


def _hint(entry: SecretProgram) -> re.Pattern[bytes]:
    """Return a pattern present in every line of a program that may contain a secret."""
    found = [re.escape(word) for word in entry.subcommands]
    for place in entry.secrets:
        if place.option or place.word or place.flags:
            found += [_hint_of_option(word) for word in place.flags or (place.option or place.word,)]
        else:
            return re.compile(b"")
    return re.compile("|".join(found).encode())


def _hint_of_option(word: str) -> str:
    short = len(word) == 2 and word[0] == "-"  # noqa: PLR2004 - a dash and a letter, alone or behind others
    return rf"-\w*{re.escape(word[1])}" if short else re.escape(word)


def _words(data: bytes, start: int, after: int, most: int) -> list[tuple[int, int]]:
    """Return the words after a program's name as (start, end), up to the end of its command."""
    quote = _open_quote(data, start)
    pattern = _WORD_IN_DOUBLE if quote == DOUBLE else _WORD_IN_SINGLE if quote == SINGLE else _WORD
    words: list[tuple[int, int]] = []
    at = after
    # The words may be a list, as in JSON or Python: `["curl", "-u", "…"]`.
    listed = _LIST_GAP.match(data, at)
    if data[at : at + 1] in b"\"'" and listed is None and quote == "":
        at += 1
    end_of_line = after + most
    while at < end_of_line:
        if listed is not None:
            end = listed.end()
            close = re.compile(rb"""(?:[^"'\\\n]|\\(?!["'])[^\n])*""").match(data, end)
            stop = close.end() if close else end
            words.append((end, stop))
            listed = _LIST_GAP.match(data, stop)
            at = stop
            if listed is None:
                break
            continue
        gap = _GAP.match(data, at)
        at = gap.end() if gap else at
        found = pattern.match(data, at)
        if found is None or found.end() == at:
            break
        words.append(found.span())
        at = found.end()
        # Everything else ends the command: `;`, `|`, a quote.
        if data[at : at + 1] not in (b" ", b"\t", b"\\", b"<", b">"):
            break
    return words


def _open_quote(data: bytes, at: int) -> str:
    line = data[max(data.rfind(b"\n", 0, at) + 1, at - _BACK) : at]
    quote = ""
    for found in _QUOTES.finditer(line):
        one = found[0].decode("latin-1")
        if one[0] == "\\":
            if quote == SINGLE:  # a backslash is literal there, and the next quote ends the string
                quote = "" if one[1:] == SINGLE else quote
        elif not quote or one == quote:
            quote = "" if quote else one
    return quote


class _Arguments:
    """The arguments of one program, sorted into option values, flags and operands."""

    def __init__(self, entry: SecretProgram, data: bytes, words: list[tuple[int, int]], name_at: int) -> None:
        self.data = data
        self.words = words
        self.name_at = name_at
        self.texts = [_plain(data[start:end]) for start, end in words]
        self.places = list(entry.secrets)
        self.operands: list[int] = []
        self.values: list[tuple[str, int, int]] = []
        self.flags: set[str] = set()
        self._sort(entry)

    def _sort(self, entry: SecretProgram) -> None:
        takes = entry.takes_value
        index = 0
        while index < len(self.words):
            text = self.texts[index]
            read = _option(text, self.places, takes) if text[:1] in {"-", "+", "/"} and len(text) > 1 else None
            if read is not None:
                index = self._note_option(text, index, *read)
            elif not self.operands and (below := entry.subcommands.get(text)) is not None:
                entry = below
                self.places += [place for place in entry.secrets if place not in self.places]
                takes |= entry.takes_value
            else:
                self.operands.append(index)
            index += 1

    def _note_option(self, text: str, index: int, option: str, offset: int, takes_next: bool) -> int:  # noqa: FBT001
        self.flags |= {option, text}
        if text[1:2] != "-":
            self.flags.update("-" + letter for letter in text[1:])
        if offset >= 0:
            self.values.append((option, index, offset))
        elif takes_next and index + 1 < len(self.words):
            self.values.append((option, index + 1, 0))
            return index + 1
        return index

    def secrets(self) -> Iterator[SecretSpan]:
        for place in self.places:
            if place.flags and self.flags.isdisjoint(place.flags):
                continue
            for index, offset in self._at(place):
                yield from _span(self.data, self.words[index], self.texts[index], offset, place.after)
            if place.stdin:
                yield from self._piped(place)

    def _at(self, place: SecretPlace) -> list[tuple[int, int]]:
        """Return the words, and the offsets in them, of a place."""
        if place.option:
            return [(index, offset) for option, index, offset in self.values if option == place.option]
        if place.operand:
            last = None if place.more else place.operand
            chosen = self.operands[place.operand - 1 : last]
            if not _begins_command(self.data, self.name_at):  # a sentence: `fix the vault login page`
                chosen = [index for index in chosen if not is_prose(self.texts[index])]
            return [(index, 0) for index in chosen]
        if place.word:
            return [(after, 0) for index, after in pairwise(self.operands) if self.texts[index].endswith(place.word)]
        starts = [start for start, _ in self.words]
        return [(at, 0) for at, start in enumerate(starts) if _HERE_STRING.search(self.data, max(0, start - 8), start)]

    def _piped(self, place: SecretPlace) -> Iterator[SecretSpan]:
        """Find the output of `echo` or `printf` piped into the program."""
        data, start = self.data, max(0, self.name_at - _BACK)
        pipe = data.rfind(b"|", start, self.name_at)
        if pipe < 0 or _ENDS_COMMAND.search(data, pipe + 1, self.name_at):
            return
        before = max(data.rfind(mark, start, pipe) for mark in (b"\n", b"|", b";", b"&", b"("))
        printed = _PRINTS.match(data, max(before + 1, start), pipe)
        if printed is None:
            return
        for found in _WORD.finditer(data, printed.end(), pipe):
            text = _plain(found[0])
            if not text.startswith(("-", "%")):
                yield from _span(self.data, found.span(), text, 0, place.after)


def _begins_command(data: bytes, at: int) -> bool:
    """Return whether a program's name starts a command, rather than being part of a sentence."""
    before = data[max(data.rfind(b"\n", 0, at) + 1, at - _BACK) : at]
    return _BEGINS.search(before) is not None


def _option(text: str, places: list[SecretPlace], takes: frozenset[str]) -> tuple[str, int, bool] | None:
    """Read an option: its name, its value's offset in the word (-1: next word), whether it takes a value.

    Return None if the word is not an option.
    """
    secret = {place.option: place for place in places if place.option}
    if text in secret and not secret[text].glued:
        return text, -1, True
    glued = _glued(text, secret)
    if glued is not None or text[0] == "/":
        return glued
    name, equals, _ = text.partition("=")
    if text in takes:
        return text, -1, True
    if text.startswith("--") or equals:
        return name, -1, False
    return _short(text, secret, takes) or (text, -1, False)


def _glued(text: str, secret: Mapping[str, SecretPlace]) -> tuple[str, int, bool] | None:
    for option, place in secret.items():
        size = len(option)
        if text.startswith(option) and len(text) > size:
            if text[size] in "=:" and not option.endswith((":", "=")):
                return option, size + 1, False
            if place.glued or (size == 2 and option[0] == "-"):  # noqa: PLR2004 - a dash and a letter
                return option, size, False
    return None


def _short(text: str, secret: Mapping[str, SecretPlace], takes: frozenset[str]) -> tuple[str, int, bool] | None:
    """Read short options in one word: `-su ann:pw` is `-s -u ann:pw`."""
    for at in range(2, len(text)):
        if "-" + text[at - 1] in takes:
            return None
        place = secret.get("-" + text[at])
        if place is not None:
            last = at + 1 == len(text)
            return None if last and place.glued else (place.option, -1 if last else at + 1, last)
    return None


def _plain(word: bytes) -> str:
    return word.decode("latin-1").strip("\"'")


def _span(data: bytes, word: tuple[int, int], text: str, offset: int, after: str) -> Iterator[SecretSpan]:
    """Find the secret in a word: from an offset, or after a string, without the quotes."""
    start, end = word
    start += data[start:end].decode("latin-1").find(text) + offset
    if after:
        found = data.find(after.encode(), start, end)
        if found < 0:
            return
        start = found + len(after)
    value = data[start:end]
    stripped = value.lstrip(b"\\\"'$" if value[:2] == b"$'" else b"\\\"'=" if offset else b"\\\"'")
    start += len(value) - len(stripped)
    quoted = data[start - 1 : start]
    stripped = stripped.rstrip(b"\"'").rstrip(b"\\")
    if is_secret_value(stripped.decode("utf-8", "replace")[:300], "password", literal=True):
        yield SecretSpan(
            start, start + len(stripped), NAME, DOUBLE if quoted == b'"' else SINGLE if quoted == b"'" else WORD
        )
