"""The handler `similarity`: the team's patterns most similar to the prompt, except those the session already has."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt
from baton.context.patterns.service import Match
from baton.lib.text.quoting import one_line
from baton.rules.call.call import Principal

MOST = 3
"""Maximum patterns of one prompt: the session's start, or its first prompt, has given the best ones already."""
CANDIDATES = 8
LEAST = 0.35
"""Minimum score of a shown pattern, from 0 to 1."""
LONGEST_SIGNATURE, LONGEST_TEXT = 120, 280
VERSION = "lines-1"

Given = Callable[[Principal, str], Awaitable[frozenset[str]]]
"""Returns the ids of the patterns given to a session."""


class PatternFinder(Protocol):
    """Finds the patterns of a principal's team that match a string, the best first."""

    async def __call__(self, principal: Principal, text: str, *, project: str, limit: int) -> list[Match]:
        """Search."""


class Similarity:
    """Names similar patterns."""

    name = "similarity"
    heading = "Similar Patterns"

    def __init__(self, search: PatternFinder, given: Given) -> None:
        self._search = search
        self._given = given

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return the matching patterns. Raises like the search."""
        principal = prompt.principal
        if not principal.team:
            return Enrichment()
        given = (await self._given(principal, prompt.session_id) if prompt.session_id else frozenset[str]()) - {""}
        if prompt.session_id and not given:
            return Enrichment()  # the stage `patterns` gives this very prompt the best ones
        found = await self._search(principal, prompt.text, project=prompt.project, limit=CANDIDATES)
        fitting = [one for one in found if one.score >= LEAST and one.pattern.id not in given][:MOST]
        if not fitting:
            return Enrichment()
        return Enrichment(
            text="\n".join(map(worded, fitting)), relevance=min(1.0, fitting[0].score), prompt_version=VERSION
        )


def worded(match: Match) -> str:
    """Return a pattern as a line of markdown."""
    pattern = match.pattern
    line = f"- **{one_line(pattern.signature, LONGEST_SIGNATURE)}** ({pattern.confidence:.0%} confidence)"
    text = one_line(pattern.text, LONGEST_TEXT)
    return f"{line}: {text}" if text else line
