"""The handler `similarity`: the team's patterns that are most like the prompt, beyond those that the session was given."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from baton.context.enrichment.handler import Enrichment, EnrichmentPrompt
from baton.context.patterns.service import Match
from baton.engine.call.principal import Principal
from baton.engine.text.quoting import one_line

MOST = 3
"""Patterns of one prompt: the session's start, or its first prompt, has given the best ones already."""
CANDIDATES = 8
LEAST = 0.35
"""The fit, from 0 to 1, below which a pattern is not worth its line."""
LONGEST_SIGNATURE, LONGEST_TEXT = 120, 280
VERSION = "lines-1"
"""The version of the wording."""

Given = Callable[[Principal, str], Awaitable[frozenset[str]]]
"""Returns the ids of the patterns that a session was given."""


class PatternSearch(Protocol):
    """Finds the patterns of a principal's team that fit a text, the best first."""

    async def __call__(self, principal: Principal, text: str, *, project: str, limit: int) -> list[Match]:
        """Search."""
        ...


class Similarity:
    """Tells of patterns."""

    name = "similarity"
    heading = "Similar Patterns"

    def __init__(self, search: PatternSearch, given: Given, gives: Callable[[Principal], bool]) -> None:
        self._search = search
        self._given = given
        self._gives = gives
        """Whether a principal's sessions are given patterns by themselves."""

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return the patterns that fit. Raise what the search raises."""
        principal = prompt.principal
        if not principal.team:
            return Enrichment()
        given = (await self._given(principal, prompt.session_id) if prompt.session_id else frozenset[str]()) - {""}
        if prompt.session_id and not given and self._gives(principal):
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
