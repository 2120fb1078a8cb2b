"""The built-in evaluator: holds edited text to the checks of patterns. It is deterministic and asks no model."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from baton.context.compliance.languages import language_of
from baton.context.patterns.expressions import compiled
from baton.context.patterns.index import IndexedPattern
from baton.context.patterns.pattern import Check
from baton.engine.text.globs import Match, any_path

MOST_PATTERNS = 10
"""Patterns that one edit is held to, the surest of those that concern it. Seed 004."""


class Judgement(msgspec.Struct, frozen=True):
    """Whether an edit violated a pattern."""

    pattern: IndexedPattern
    violated: bool


def applicable(patterns: Iterable[IndexedPattern], path: str) -> list[IndexedPattern]:
    """Return the patterns that concern a file, the surest first; `path` is relative to the project."""
    language = language_of(path)
    found = [one for one in patterns if one.language in {"", language} and (not one.globs or _globs(one.globs)(path))]
    return sorted(found, key=lambda one: (-one.confidence, one.id))


def judge(patterns: Sequence[IndexedPattern], text: str, *, whole: bool) -> list[Judgement]:
    """Hold a text to the checks of patterns; one whose check has nothing to say of it is left out."""
    data = text.encode("utf-8", "replace")
    found = ((one, _violates(one.check, data, whole=whole)) for one in patterns)
    return [Judgement(one, violated) for one, violated in found if violated is not None]


def _violates(check: Check, data: bytes, *, whole: bool) -> bool | None:
    """Return whether a text violates a check, None if the check does not concern it."""
    if not check or (check.when and compiled(check.when).search(data) is None):
        return None
    if check.forbidden and compiled(check.forbidden).search(data) is not None:
        return True
    if check.wanted and (check.when or whole):
        return compiled(check.wanted).search(data) is None
    return False if check.forbidden else None


@lru_cache(maxsize=2_000)
def _globs(globs: tuple[str, ...]) -> Match:
    return any_path(globs)
