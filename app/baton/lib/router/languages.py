"""Translate a developer's words of eight languages into English before a prompt is scored.

Agents are described in English, and the table of word vectors knows little else, so a German or Japanese prompt would
match nobody. This is a glossary, no translation: unknown words stay as they are (most names of techniques are English
anyway), and words of no meaning are dropped. Latin words are prefixes without accents: the rest is inflection, or
another word of a German compound.
"""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

from baton.lib.router.text import WORDS

_COMMON = "the a an and is are to of for with my our this that in on it i we you from"
_ENGLISH = frozenset(_COMMON.split())
_SMALL_WORDS, _MARKED = frozenset(WORDS["small"].split()), frozenset(WORDS["marks"].split())
LONGEST = 1_500  # characters that are put into English; who writes more also writes English names
_SHORTEST_PREFIX = 3
_LONGEST_WORD = 40
_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W\d_]+")
_STROKES = str.maketrans("\u0142\u0141\u00f8\u00d8", "lLoO")


def in_english(text: str) -> str:
    """Return a prompt with its technical words in English. An English prompt is unchanged."""
    head = text[:LONGEST]
    asian = not head.isascii() and _ASIAN.search(head) is not None
    if not asian and not _is_foreign(head):
        return text
    if asian:
        head = _ASIAN.sub(lambda match: f" {_asian(match[0])} ", head)
    return _WORD.sub(lambda match: _latin(match[0]), head) + text[LONGEST:]


def _is_foreign(text: str) -> bool:
    """Return whether text in Latin letters is not English."""
    accents = not text.isascii()
    said = set(_WORD.findall(_without_accents(text).lower()) if accents else text.lower().split())
    signs = len(_MARKED & said) + accents
    return signs > 1 or (signs > 0 and _ENGLISH.isdisjoint(said))


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_STROKES))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _asian(text: str) -> str:
    """Return the English of the glossary's words in a run of characters, in their order."""
    return " ".join(_tables()[1][found] for found in _tables()[2].findall(text))


@lru_cache(maxsize=20_000)
def _latin(word: str) -> str:
    """Return a word's English, or the word; "" for a word of no meaning. A compound's parts are searched in turn."""
    plain = _without_accents(word).lower()
    if plain in _SMALL_WORDS:
        return ""
    if len(plain) > _LONGEST_WORD:
        return word
    found, rest, prefixes = [], plain, _tables()[0]
    while len(rest) >= _SHORTEST_PREFIX:
        size = next((size for size in range(len(rest), _SHORTEST_PREFIX - 1, -1) if rest[:size] in prefixes), 0)
        if not size:
            break
        found.append(prefixes[rest[:size]])
        rest = rest[size:].lstrip("sen")
    return " ".join(found) or word


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, str], dict[str, str], re.Pattern[str]]:
    """Return the glossary by Latin prefixes and by Asian words, and an expression finding the longest Asian ones."""
    latin: dict[str, str] = {}
    asian: dict[str, str] = {}
    for line in files("baton.lib.router").joinpath("glossary.txt").read_text("utf-8").splitlines():
        english, _, foreign = line.partition(": ")
        for word in foreign.split():
            (latin if word.isascii() else asian).setdefault(word, english)
    return latin, asian, re.compile("|".join(map(re.escape, sorted(asian, key=len, reverse=True))))
