"""Find the agents that a prompt asks for by name: `@agent-x`, "use agent-x", "the x agent". A bare word does not count.

An agent that is not wanted, that somebody reports on, or that is itself to be worked on is not asked for.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from baton.engine.routing.words.mention_words import (
    AGENT,
    ARTICLES,
    ASKED_AFTER,
    ASKED_BEFORE,
    NOT_WANTED,
    NOT_WANTED_AFTER,
    REQUEST,
    SPOKEN_OF_AFTER,
    SPOKEN_OF_BEFORE,
)

_LOOK_BACK, _LOOK_AHEAD = 60, 40
"""Characters before and behind a mention that are looked at."""
_MOST_WORDS = 6
"""Words of a name that is written out."""
_OPEN, _CLOSE = "[\"'`\u201c\u2018]?", "[\"'`\u201d\u2019]?"
_AT = re.compile(r"(?<!\w)@([\w:.-]+)")
_BEFORE_AGENT = re.compile(rf"{_CLOSE}[\s-]+{AGENT}\b", re.IGNORECASE)
_AFTER_AGENT = re.compile(rf"\b{AGENT}[\s:]+{_OPEN}(?P<name>[\w:.-]+)", re.IGNORECASE)
# Names that are put together, which few words of a prompt are: `x-y`, `plugin:x`, `ReviewAgent`.
_COMPOSED = re.compile(r"\w+[_.:-][\w:.-]*\w|[a-z0-9]+[A-Z]\w*|[A-Z]\w*[a-z0-9][A-Z]\w*")
_REQUESTED = re.compile(rf"\b{REQUEST}\s+(?:{ARTICLES}\s+|l['\u2019])?{_OPEN}$", re.IGNORECASE)
# A name in the middle of Chinese, Japanese or Korean, which `\w` would run together with it.
_FOREIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_AROUND = "\"'`\u201c\u201d\u2018\u2019.,:;!?()[]"
_WORD = re.compile(r"[A-Za-z0-9:]+|[^\sA-Za-z0-9:_.-]+")
_SEPARATORS = re.compile(r"[\s_.-]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]")


class Mentioned(msgspec.Struct, frozen=True):
    """The agents that a prompt names, by their numbers: the first that is asked for, and those that are not to be used.

    The latter are named on purpose, too: to be left out, to be reported on, or to be worked on.
    """

    asked: int | None = None
    unwanted: frozenset[int] = frozenset()


NOBODY = Mentioned()


class Mentions:
    """The names of a roster, as people write them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._exact = {name: number for number, name in reversed(list(enumerate(names)))}
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(_key(name), number)
        for number, name in enumerate(names):
            for key in _other_keys(name):
                self._numbers.setdefault(key, number)

    def find(self, prompt: str) -> Mentioned:
        """Return which agents a prompt names, and whether it asks for them."""
        found = (*self._at(prompt), *self._beside_agent(prompt), *self._after_verb(prompt), *self._foreign(prompt))
        asked: int | None = None
        others: set[int] = set()
        for start, end, number, spoken_of in sorted(found):
            if spoken_of or _is_refused(prompt, start, end):
                others.add(number)
            elif asked is None:
                asked = number
        return Mentioned(asked, frozenset(others - {asked})) if found else NOBODY

    def _number(self, name: str, *, code: bool = True) -> int | None:
        """Return the number of a name as it is written.

        Where a name of code may stand as well (`code`), a spelling like `DatabaseExpert` is a class, unless an agent is
        called exactly so.
        """
        name = name.rstrip(".:-")
        if code and _CAMEL.search(name):
            return self._exact.get(name)
        key = _key(name)
        return self._numbers.get(key, self._numbers.get(key.removeprefix("agent")))

    def _at(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        for match in _AT.finditer(prompt):
            number = self._number(match[1])
            if number is not None:
                yield match.start(), match.end(), number, False

    def _beside_agent(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find "the x agent" and "the agent x", by the longest name."""
        if "agent" not in prompt.lower():
            return
        for match in _BEFORE_AGENT.finditer(prompt):
            start = max(0, match.start() - _LOOK_BACK)
            before = prompt[start : match.start()]
            for word in list(_WORD.finditer(before))[-_MOST_WORDS:]:
                number = self._number(before[word.start() :], code=False)
                if number is not None:
                    at = start + word.start()
                    yield at, match.end(), number, _is_spoken_of(prompt, at, match.end())
                    break
        for match in _AFTER_AGENT.finditer(prompt):
            number = self._number(match["name"])
            # "an agent planner" may be anything; a name that is put together, or quoted, is a name.
            quoted = match[0][match.start("name") - match.start() - 1] in _AROUND
            named = quoted or _SEPARATORS.search(match["name"]) or _is_requested(prompt, match.start())
            if number is not None and named:
                yield match.start(), match.end(), number, _is_spoken_of(prompt, match.start(), match.end())

    def _after_verb(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find "use agent-x" and "use x-y": a single plain word is too common to be meant as a name."""
        for match in _COMPOSED.finditer(prompt):
            number = self._number(match[0])
            if number is not None and _is_requested(prompt, match.start()):
                yield match.start(), match.end(), number, False

    def _foreign(self, prompt: str) -> Iterator[tuple[int, int, int, bool]]:
        """Find names in Chinese, Japanese and Korean sentences, with the words of asking before or behind them."""
        if prompt.isascii() or not _FOREIGN.search(prompt):
            return
        for match in _NAME.finditer(prompt):
            number = self._number(match[0])
            if number is None:
                continue
            before = prompt[max(0, match.start() - _LOOK_BACK) : match.start()]
            behind = ASKED_AFTER.match(prompt, match.end())
            if behind or (ASKED_BEFORE.search(before) and _SEPARATORS.search(match[0])):
                yield match.start(), match.end(), number, False


def _is_refused(prompt: str, start: int, end: int) -> bool:
    return bool(
        NOT_WANTED.search(prompt[max(0, start - _LOOK_BACK) : start])
        or NOT_WANTED_AFTER.match(prompt[end : end + _LOOK_AHEAD])
    )


def _is_requested(prompt: str, start: int) -> bool:
    return bool(_REQUESTED.search(prompt[max(0, start - _LOOK_BACK) : start]))


def _is_spoken_of(prompt: str, start: int, end: int) -> bool:
    """Return whether an agent is spoken of, and not to: it is to be changed, or has done something."""
    if SPOKEN_OF_BEFORE.search(prompt[max(0, start - _LOOK_BACK) : start]):
        return True
    return bool(SPOKEN_OF_AFTER.match(prompt[end : end + _LOOK_AHEAD])) and not _is_requested(prompt, start)


def _other_keys(name: str) -> Iterator[str]:
    """Return the other ways a name may be written: without its namespace, without the word `agent` around it."""
    for one in (name, name.rpartition(":")[2]):
        key = _key(one)
        yield from (part for part in (key, key.removeprefix("agent"), key.removesuffix("agent")) if part)


def _key(name: str) -> str:
    return _SEPARATORS.sub("", name.strip(_AROUND)).lower().removeprefix("@")
