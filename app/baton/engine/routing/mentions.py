"""Find the agents that a prompt names: `@agent-x`, "use agent-x", "the x agent". A bare word does not count."""

import re
from collections.abc import Iterator, Sequence

_LOOK_BACK = 60
"""Characters before a mention that are looked at."""
_MOST_WORDS = 6
"""Words of a name that is written out."""
_AT = re.compile(r"(?<!\w)@([\w:.-]+)")
_AGENT = re.compile(r"[\"'`\u201d\u2019]?[\s-]+(?:sub-?)?agent\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:use|using|ask|call|invoke|run|spawn|start|launch|delegate\s+to|hand\s+(?:over\s+)?to|let|have)\s+"
    r"(?:the\s+|our\s+|my\s+)?(?:(?P<agent>(?:sub-?)?agent)[\s:]+)?[\"'`\u201c\u2018]?(?P<name>[\w:.-]+)",
    re.IGNORECASE,
)
_NOT_WANTED = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bwithout|\binstead\s+of|\bavoid|\bstop)(?:\s+\w+){0,2}\s*$", re.IGNORECASE
)
_WORKED_ON = re.compile(
    r"\b(?:add|change|configure|create|debug|delete|edit|extend|fix|improve|modify|refactor|remove|rename|rewrite"
    r"|update|write)\s+(?:(?:the|our|my|this|an?)\s+)?[\"'`\u201c\u2018]?$",
    re.IGNORECASE,
)
"""Before "the x agent": what is to be done to it, not by it."""
_AROUND = "\"'`\u201c\u201d\u2018\u2019.,:;!?()[]"
_WORD = re.compile(r"[^\s_.-]+")
_SEPARATORS = re.compile(r"[\s_.-]+")


class Mentions:
    """The names of a roster, as people write them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(_key(name), number)
        for number, name in enumerate(names):
            for key in _other_keys(name):
                self._numbers.setdefault(key, number)

    def find(self, prompt: str) -> int | None:
        """Return the number of the agent that is named first, None for none; one that is not wanted does not count."""
        named = (*self._at(prompt), *self._before_agent(prompt), *self._after_verb(prompt))
        wanted = (one for one in sorted(named) if not _NOT_WANTED.search(prompt[max(0, one[0] - _LOOK_BACK) : one[0]]))
        return next((number for _, number in wanted), None)

    def _at(self, prompt: str) -> Iterator[tuple[int, int]]:
        for match in _AT.finditer(prompt):
            key = _key(match[1])
            number = self._numbers.get(key, self._numbers.get(key.removeprefix("agent")))
            if number is not None:
                yield match.start(), number

    def _before_agent(self, prompt: str) -> Iterator[tuple[int, int]]:
        """Find "the x agent": the longest name that ends before the word; not one that is to be changed."""
        for match in _AGENT.finditer(prompt):
            start = max(0, match.start() - _LOOK_BACK)
            before = prompt[start : match.start()]
            for word in list(_WORD.finditer(before))[-_MOST_WORDS:]:
                number = self._numbers.get(_key(before[word.start() :]))
                if number is not None:
                    if not _WORKED_ON.search(before[: word.start()]):
                        yield start + word.start(), number
                    break

    def _after_verb(self, prompt: str) -> Iterator[tuple[int, int]]:
        """Find "use agent-x" and "use x-y": a single plain word is too common to be meant as a name."""
        for match in _VERB.finditer(prompt):
            name = match["name"].rstrip(".:-")
            number = self._numbers.get(_key(name))
            if number is not None and (match["agent"] or _SEPARATORS.search(name) or ":" in name):
                yield match.start(), number


def _other_keys(name: str) -> Iterator[str]:
    """Return the other ways a name may be written: without its namespace, without the word `agent` around it."""
    for one in (name, name.rpartition(":")[2]):
        key = _key(one)
        yield from (part for part in (key, key.removeprefix("agent"), key.removesuffix("agent")) if part)


def _key(name: str) -> str:
    return _SEPARATORS.sub("", name.strip(_AROUND)).lower().removeprefix("@")
