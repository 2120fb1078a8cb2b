"""How many tokens a text counts, and which texts stay where all of them are too many.

The figures and the rules are those of the enrichment stage of seed 004.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

CAP = 2_000
"""Tokens that all enrichments of a prompt may have together."""
TOKENS_PER_WORD = 1.3
PRIORITY = ("summarization", "code_analysis", "similarity")
"""The handlers whose texts stay first where all of them are too many; any other comes after them."""
_WORD = re.compile(r"\S+")  # what `str.split` takes for a word


class Candidate(NamedTuple):
    """A handler's text, and the tokens that it counts."""

    name: str
    text: str
    tokens: int


def tokens_of(text: str) -> int:
    """Return the number of tokens that a text counts: int(words x 1.3) + 1."""
    return int(len(text.split()) * TOKENS_PER_WORD) + 1


def capped(candidates: Sequence[Candidate], cap: int = CAP) -> list[Candidate]:
    """Return the texts that stay within the cap.

    While all of them fit, they come back in their order. Otherwise each is taken in the order of `PRIORITY` if it still
    fits, so a large one may be skipped and a smaller, later one stay. Where not one fits, the one of the highest priority
    stays, cut to the cap at a word's end.
    """
    if sum(one.tokens for one in candidates) <= cap:
        return list(candidates)
    taken, left = [], cap
    ordered = sorted(candidates, key=_rank)  # stable: handlers of one rank stay in their order
    for one in ordered:
        if one.tokens <= left:
            taken.append(one)
            left -= one.tokens
    return taken or [_cut(ordered[0], cap)]


def _rank(one: Candidate) -> int:
    return PRIORITY.index(one.name) if one.name in PRIORITY else len(PRIORITY)


def _cut(one: Candidate, cap: int) -> Candidate:
    """Cut a text to the longest beginning of whole words that counts no more than the cap."""
    most = int(cap / TOKENS_PER_WORD)
    while most and int(most * TOKENS_PER_WORD) + 1 > cap:
        most -= 1
    ends = [found.end() for found in islice(_WORD.finditer(one.text), most)]
    text = one.text[: ends[-1] if ends else 0]
    return Candidate(one.name, text, tokens_of(text))
