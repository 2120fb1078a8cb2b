"""The interface of enrichment handlers: request and answer."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec

from baton.rules.call.call import Principal


class EnrichmentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt to enrich. `text` is as the client sent it: any length, any characters, secrets included."""

    text: str
    principal: Principal
    project: str = ""
    session_id: str = ""
    client: str = ""


class Enrichment(msgspec.Struct, frozen=True, kw_only=True):
    """A handler's addition to a prompt; nothing while `text` is "".

    `relevance` is from 0 to 1. `fallback_used`: the handler could not use its preferred source, such as a model.
    `tokens_saved` is the reduction from the source text, in tokens.
    """

    text: str = ""
    relevance: float = 0.0
    model_used: str = ""
    fallback_used: bool = False
    tokens_saved: int = 0
    prompt_version: str = ""


class Handler(Protocol):
    """Adds one kind of knowledge to a prompt."""

    name: str
    heading: str
    """The heading of its section, in plain text."""

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return the knowledge about a prompt. Any exception counts as nothing."""


# Token counts of texts, and the selection if all together are too many.

CAP = 2_000
"""Maximum tokens of a prompt's enrichments together."""
TOKENS_PER_WORD = 1.3
PRIORITY = ("summarization", "code_analysis", "similarity")
"""The handlers preferred if the texts exceed the cap; all others come after them."""
_WORD = re.compile(r"\S+")  # the word definition of `str.split`


class Handled(NamedTuple):
    """A handler's text, and its number of tokens."""

    name: str
    text: str
    tokens: int


def tokens_of(text: str) -> int:
    """Return the number of tokens of a string: int(words x 1.3) + 1."""
    return int(len(text.split()) * TOKENS_PER_WORD) + 1


def capped(candidates: Sequence[Handled], cap: int = CAP) -> list[Handled]:
    """Return the texts within the cap.

    If all fit, they are returned in order. Otherwise each is added in the order of `PRIORITY` if it still fits, so a
    large one may be skipped in favour of a smaller, later one. If none fits, the one of the highest priority is cut to
    the cap at a word's end.
    """
    if sum(one.tokens for one in candidates) <= cap:
        return list(candidates)
    taken, left = [], cap
    ranks = {name: rank for rank, name in enumerate(PRIORITY)}
    # stable: handlers of one rank stay in order
    ordered = sorted(candidates, key=lambda one: ranks.get(one.name, len(ranks)))
    for one in ordered:
        if one.tokens <= left:
            taken.append(one)
            left -= one.tokens
    return taken or [_cut(ordered[0], cap)]


def _cut(one: Handled, cap: int) -> Handled:
    """Cut a string to the longest prefix of whole words within the cap."""
    most = int(cap / TOKENS_PER_WORD)
    while most and int(most * TOKENS_PER_WORD) + 1 > cap:
        most -= 1
    ends = [found.end() for found in islice(_WORD.finditer(one.text), most)]
    text = one.text[: ends[-1] if ends else 0]
    return Handled(one.name, text, tokens_of(text))
