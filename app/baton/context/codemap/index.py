"""Finds the files and symbols of a code map that a prompt names or speaks of.

What a prompt names exactly, a path or a symbol, counts most; words that are parts of names count by how rare they are in the
map. The work is bounded by the prompt's words and by `MOST_POSTINGS` for each, whatever the size of the map.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from baton.engine.routing.words.text import bounded, is_stop_word
from baton.shared.code_map import Symbol

MOST_POSTINGS = 60
"""Files that a word may stand for: one that stands for more tells nothing."""
MOST_WORDS = 300
"""Words of a prompt that are looked up."""
MOST_FOUND = 8
"""Files of an answer."""
LEAST = 1.4
"""The score below which a file is not worth its line: two rare words, or one name."""
PATH, IDENTIFIER, NAME = 6.0, 4.0, 3.0
"""Scores of a path that the prompt writes, of an identifier that is a symbol or a file, and of a capitalised name."""
WORD = {"class": 1.5, "function": 1.2, "type": 1.2, "module": 1.2, "method": 0.6, "constant": 0.6}
"""Scores of a plain word that is the whole name of a symbol, by the symbol's kind."""
OF_TESTS = 0.6
"""What a test's score is multiplied with where the prompt does not speak of tests: their names are whole sentences."""

_TOKEN = re.compile(r"[A-Za-z_$@~.][\w$@~./\\-]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]_|_[A-Za-z]|[a-z][A-Z]|[A-Z]{2,}[a-z]|\w\.\w|::")
_SHORTEST_PART = 3
_COMMON = frozenset(
    [
        "add",
        "class",
        "code",
        "comment",
        "doc",
        "docs",
        "error",
        "errors",
        "file",
        "files",
        "fix",
        "function",
        "index",
        "init",
        "lib",
        "list",
        "main",
        "make",
        "method",
        "mod",
        "name",
        "names",
        "new",
        "object",
        "read",
        "run",
        "self",
        "set",
        "src",
        "test",
        "tests",
        "text",
        "type",
        "value",
        "write",
    ]
)
"""Words that are parts of names in every project, and say nothing of one of them."""
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)", re.IGNORECASE)


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a prompt is likely about: the symbols that speak for it, the best first, and files that use them."""

    path: str
    score: float
    symbols: tuple[Symbol, ...] = ()
    used_in: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True):
    path: str
    symbols: tuple[Symbol, ...]


class _Look:
    """What one prompt has found so far: the score of each file and each of its symbols, and the words that counted."""

    def __init__(self) -> None:
        self.scores: dict[int, float] = defaultdict(float)
        self.named: dict[int, dict[int, float]] = defaultdict(dict)
        self.words: dict[int, set[str]] = defaultdict(set)

    def add(self, number: int, place: int, worth: float) -> None:
        """Score a symbol, and its file once for all symbols that one name has there."""
        before = self.named[number].get(place, 0.0)
        self.named[number][place] = before + worth
        self.scores[number] += worth


class CodeIndex:
    """The index of one code map; building it takes about a second for the largest, in a thread."""

    def __init__(self, rows: Iterable[Mapping[Any, Any]]) -> None:
        self._files: list[_File] = []
        self.size = 0
        """Symbols in all."""
        self._names: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._endings: dict[str, list[int]] = defaultdict(list)
        self._parts: dict[str, dict[int, list[int]]] = defaultdict(dict)
        self._path_parts: list[set[str]] = []
        self._users: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            self._add(row)
        self._most = math.log(1 + len(self._files)) or 1.0

    def _add(self, row: Mapping[Any, Any]) -> None:
        number = len(self._files)
        file = _File(row["path"], msgspec.convert(row["symbols"], tuple[Symbol, ...]))
        self._files.append(file)
        self.size += len(file.symbols)
        path = PurePosixPath(file.path)
        self._endings[path.name.lower()].append(number)
        if path.stem.lower() != path.name.lower():
            self._endings[path.stem.lower()].append(number)
        self._path_parts.append({part for piece in path.parts for part in parts_of(piece)})
        for part in self._path_parts[number]:
            self._parts[part].setdefault(number, [])
        for place, symbol in enumerate(file.symbols):
            self._names[symbol.name.lower()].append((number, place))
            for part in parts_of(symbol.name):
                self._parts[part].setdefault(number, []).append(place)
        for name in row["mentions"]:
            users = self._users[name.lower()]
            if len(users) < MOST_POSTINGS:
                users.append(number)

    def find(self, prompt: str, most: int = MOST_FOUND) -> list[FoundFile]:
        """Return the files that a prompt is likely about, the likeliest first."""
        look = _Look()
        for token in _tokens(prompt):
            if not self._whole(token, look):
                self._parts_in(token, look)
        if "test" not in prompt.lower():
            for number in look.scores:
                if _TESTS.search(self._files[number].path):
                    look.scores[number] *= OF_TESTS
        ranked = sorted(look.scores, key=lambda number: (-look.scores[number], self._files[number].path))[:most]
        # Beside a file that the prompt names, one that shares a word with it is noise.
        least = max(LEAST, look.scores[ranked[0]] / 3) if ranked else LEAST
        return [self._found(number, look) for number in ranked if look.scores[number] >= least]

    def _whole(self, token: str, look: "_Look") -> bool:
        """Score what a token names as a whole, and return whether it is a path or an identifier that is known."""
        lower = token.lower().replace("\\", "/").removeprefix("./")
        is_identifier = bool(_IDENTIFIER.search(token))
        known = False
        if "/" in lower or is_identifier:
            fitting = self._paths(lower)
            # Shared out: a name that fits many files says little of each.
            for number in fitting:
                look.scores[number] += (PATH if "/" in lower or "." in lower else IDENTIFIER) / len(fitting)
            known = bool(fitting)
        name = lower if known else re.split(r"[/.]|::", lower)[-1]
        places = self._names.get(name, ())
        if len(name) < _SHORTEST_PART or not places or len(places) > MOST_POSTINGS:
            return known
        # `get` or `for` as plain words of a prompt name no symbol.
        if not is_identifier and (name in _COMMON or is_stop_word(name)):
            return known
        for number, place in places:
            symbol = self._files[number].symbols[place]
            same = symbol.name == token
            worth = IDENTIFIER if is_identifier else NAME if same and not token.islower() else WORD[symbol.kind]
            look.add(number, place, worth / math.sqrt(len(places)))
        return known or is_identifier

    def _paths(self, lower: str) -> list[int]:
        """Return the files that a token means: the same path, one that ends with it, or one that it ends with."""
        files = self._endings.get(lower.rpartition("/")[2], [])[:MOST_POSTINGS]
        paths = {number: "/" + self._files[number].path.lower() for number in files}
        same = [number for number, path in paths.items() if ("/" + lower).endswith(path)]
        return same or [
            number
            for number, path in paths.items()
            if path.endswith("/" + lower) or path.rpartition(".")[0].endswith("/" + lower)
        ]

    def _parts_in(self, token: str, look: "_Look") -> None:
        """Score the files and symbols that have parts of a token in their names, each part once for each file."""
        for part in parts_of(token):
            postings = self._parts.get(part)
            if not postings or len(postings) > MOST_POSTINGS or part in _COMMON or is_stop_word(part):
                continue
            rare = math.log(1 + len(self._files) / len(postings)) / self._most
            for number, places in postings.items():
                if part in look.words[number]:
                    continue
                look.words[number].add(part)
                shares = [
                    1 / math.sqrt(len(parts_of(self._files[number].symbols[place].name)))
                    for place in places[:MOST_FOUND]
                ]
                for place, share in zip(places, shares, strict=False):
                    look.named[number][place] = look.named[number].get(place, 0.0) + rare * share
                look.scores[number] += rare * (1.0 if part in self._path_parts[number] else max(shares))

    def _found(self, number: int, look: "_Look") -> FoundFile:
        file, named = self._files[number], look.named[number]
        best = sorted(named, key=lambda place: (-named[place], place))
        symbols = [file.symbols[place] for place in best] or [one for one in file.symbols if not one.within]
        users: list[str] = []
        for symbol in symbols[:3]:
            users += [self._files[one].path for one in self._users.get(symbol.name.lower(), ()) if one != number]
        return FoundFile(
            path=file.path,
            score=look.scores[number],
            symbols=tuple(symbols[:6]),
            used_in=tuple(dict.fromkeys(users))[:3],
        )


def parts_of(name: str) -> list[str]:
    """Return the words that a name is made of, in small letters: `parseHTTPHeader` has parse, http and header."""
    return [part for found in _PART.findall(name) if len(part := found.lower()) >= _SHORTEST_PART]


def _tokens(prompt: str) -> list[str]:
    found = dict.fromkeys(token.rstrip(".-/\\~") for token in _TOKEN.findall(bounded(prompt)))
    return [token for token in found if token][:MOST_WORDS]
