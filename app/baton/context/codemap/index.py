"""Finds the files and symbols of a code map that match a prompt.

An exactly named path or symbol counts most; words that are parts of names count by their rarity in the map. The work is
bounded by the prompt's words and by `MOST_POSTINGS` for each, whatever the size of the map.
"""

import asyncio
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from baton.context.codemap import store
from baton.kernel.base.sql import Database
from baton.lib.router.text import bounded, is_stop_word
from baton.rules.call.call import Principal
from baton.shared.code_map import Symbol

MOST_POSTINGS = 60
"""Maximum files of a significant word."""
MOST_WORDS = 300
"""Maximum searched words of a prompt."""
MOST_FOUND = 8
"""Maximum files of an answer."""
LEAST = 1.4
"""Minimum score of a shown file: two rare words, or one name."""
PATH, IDENTIFIER, NAME = 6.0, 4.0, 3.0
"""Scores of a path in the prompt, of an identifier of a symbol or a file, and of a capitalised name."""
WORD = {"class": 1.5, "function": 1.2, "type": 1.2, "module": 1.2, "method": 0.6, "constant": 0.6}
"""Scores of a plain word equal to the name of a symbol, by the symbol's kind."""
OF_TESTS = 0.6
"""Factor for a test's score unless the prompt mentions tests: their names are whole sentences."""

_TOKEN = re.compile(r"[A-Za-z_$@~.][\w$@~./\\-]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]_|_[A-Za-z]|[a-z][A-Z]|[A-Z]{2,}[a-z]|\w\.\w|::")
_SHORTEST_PART = 3
_COMMON = frozenset(
    [
        "add", "class", "code", "comment", "doc", "docs", "error", "errors", "file", "files", "fix", "function",
        "index", "init", "lib", "list", "main", "make", "method", "mod", "name", "names", "new", "object", "read",
        "run", "self", "set", "src", "test", "tests", "text", "type", "value", "write",
    ]
)  # fmt: skip
"""Insignificant words: parts of names in every project."""
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__)(?:[/_.-]|$)", re.IGNORECASE)


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file probably relevant to a prompt: its matching symbols, the best first, and files using them."""

    path: str
    score: float
    symbols: tuple[Symbol, ...] = ()
    used_in: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True):
    path: str
    symbols: tuple[Symbol, ...]


class _Look:
    """Findings of one prompt so far: the score of each file and each of its symbols, and the counted words."""

    def __init__(self) -> None:
        self.scores: dict[int, float] = defaultdict(float)
        self.named: dict[int, dict[int, float]] = defaultdict(dict)
        self.words: dict[int, set[str]] = defaultdict(set)

    def add(self, number: int, place: int, worth: float) -> None:
        """Score a symbol, and its file once for all symbols with one name there."""
        self.named[number][place] = self.named[number].get(place, 0.0) + worth
        self.scores[number] += worth


class CodeIndex:
    """The index of one code map; building it takes about a second for the largest, in a thread."""

    def __init__(self, rows: Iterable[Mapping[Any, Any]]) -> None:
        self._files: list[_File] = []
        self.size = 0
        """Total number of symbols."""
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

    def search(self, prompt: str, most: int = MOST_FOUND) -> list[FoundFile]:
        """Return the files probably relevant to a prompt, the most relevant first."""
        look = _Look()
        for token in _tokens(prompt):
            if not self._whole(token, look):
                self._parts_in(token, look)
        if "test" not in prompt.lower():
            for number in look.scores:
                if _TESTS.search(self._files[number].path):
                    look.scores[number] *= OF_TESTS
        ranked = sorted(look.scores, key=lambda number: (-look.scores[number], self._files[number].path))[:most]
        # Next to a file named in the prompt, a file that merely shares a word with it is noise.
        least = max(LEAST, look.scores[ranked[0]] / 3) if ranked else LEAST
        return [self._found(number, look) for number in ranked if look.scores[number] >= least]

    def _whole(self, token: str, look: "_Look") -> bool:
        """Score a token as a whole, and return whether it is a known path or an identifier."""
        lower = token.lower().replace("\\", "/").removeprefix("./")
        is_identifier = bool(_IDENTIFIER.search(token))
        known = False
        if "/" in lower or is_identifier:
            fitting = self._paths(lower)
            # Shared out: a name of many files says little about each.
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
        """Return the files meant by a token: the same path, one ending with it, or one it ends with."""
        files = self._endings.get(lower.rpartition("/")[2], [])[:MOST_POSTINGS]
        paths = {number: "/" + self._files[number].path.lower() for number in files}
        same = [number for number, path in paths.items() if ("/" + lower).endswith(path)]
        return same or [
            number
            for number, path in paths.items()
            if path.endswith("/" + lower) or path.rpartition(".")[0].endswith("/" + lower)
        ]

    def _parts_in(self, token: str, look: "_Look") -> None:
        """Score the files and symbols with parts of a token in their names, each part once per file."""
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
    """Return the words of a name, in lower case: `parseHTTPHeader` has parse, http and header."""
    return [part for found in _PART.findall(name) if len(part := found.lower()) >= _SHORTEST_PART]


def _tokens(prompt: str) -> list[str]:
    found = dict.fromkeys(token.rstrip(".-/\\~") for token in _TOKEN.findall(bounded(prompt)))
    return [token for token in found if token][:MOST_WORDS]


# Keeps the indexes of used code maps in memory; each is read again when its map has another version.

MOST_KEPT = 150_000
"""Maximum symbols of a process's indexes: about 100 MB."""

_Key = tuple[str, str, str]


class _Kept(msgspec.Struct, frozen=True):
    version: int
    index: CodeIndex


class CodeIndexes:
    """The index of each developer's map of a project."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._reading: dict[_Key, asyncio.Task[CodeIndex | None]] = {}

    def warm(self, principal: Principal, project: str) -> None:
        """Read a map in the background, so the first prompt does not wait for it."""
        self._begin(principal, project).add_done_callback(_seen)

    async def get(self, principal: Principal, project: str) -> CodeIndex | None:
        """Return the index of the newest version of a map, None if there is no map. Raise DatabaseUnavailable.

        A cancelled caller does not end the reading: the next one finds the index ready.
        """
        return await asyncio.shield(self._begin(principal, project))

    def _begin(self, principal: Principal, project: str) -> "asyncio.Task[CodeIndex | None]":
        key = (principal.organisation, principal.user, project)
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(key, principal, project))
            task.add_done_callback(lambda _: self._reading.pop(key, None))
            task.add_done_callback(_seen)
        return task

    async def _read(self, key: _Key, principal: Principal, project: str) -> CodeIndex | None:
        version = await store.version(self._database, principal, project)
        kept = self._kept.get(key)
        if kept is not None and kept.version == version:
            self._kept.move_to_end(key)
            return kept.index
        if not version:
            self._kept.pop(key, None)
            return None
        rows = await store.outlines(self._database, principal, project)
        index = await asyncio.to_thread(CodeIndex, rows)
        # The version was read first: outlines stored between the two are read again next time.
        self._kept[key] = _Kept(version, index)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(one.index.size for one in self._kept.values()) > MOST_KEPT:
            self._kept.popitem(last=False)
        return index


def _seen(task: "asyncio.Task[CodeIndex | None]") -> None:
    """Retrieve a possible failure without a waiting caller."""
    if not task.cancelled():
        task.exception()
