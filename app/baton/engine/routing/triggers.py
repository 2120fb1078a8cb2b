"""Triggers of agents: words that must stand in a prompt as they are, and regular expressions.

A word is compared by its stem, so `deploy` matches `deploying` and `test` never matches `rest`. Expressions run in linear
time, whatever a team writes.
"""

from collections.abc import Sequence

import numpy as np
import re2
from numpy.typing import NDArray

from baton.engine.routing.candidates import Agent
from baton.engine.routing.words.text import stems

LONGEST, MOST = 300, 200
"""Characters of one trigger, and triggers of one agent, that are read."""
LARGEST_ALL = 10_000
"""Size of all expressions of a roster, in instructions of RE2: at worst a prompt passes through each of them."""
_WORD, _PHRASE, _EXPRESSION = 0.2, 0.5, 1.0
"""How telling a match is: a single word, several words, an expression that somebody wrote for the purpose."""


class Triggers:
    """All triggers of a roster; one that several agents have tells less."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._size = len(agents)
        self._phrases: dict[str, dict[tuple[str, ...], set[int]]] = {}
        expressions: dict[str, set[int]] = {}
        for number, agent in enumerate(agents):
            for trigger in agent.triggers[:MOST]:
                text = trigger.strip()[:LONGEST]
                if is_expression(text):
                    expressions.setdefault(text[1:-1], set()).add(number)
                elif phrase := tuple(stems(text)):
                    self._phrases.setdefault(phrase[0], {}).setdefault(phrase, set()).add(number)
        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        self._expressions = [
            (compiled, owners) for text, owners in expressions.items() if (compiled := _compiled(text, options))
        ]

    def score(self, prompt: str, prompt_stems: Sequence[str]) -> NDArray[np.float32]:
        """Return each agent's most telling match, from 0 to 1."""
        found = np.zeros(self._size, dtype=np.float32)
        if not (self._phrases or self._expressions):
            return found
        for at, stem in enumerate(prompt_stems):
            for phrase, owners in self._phrases.get(stem, {}).items():
                if tuple(prompt_stems[at : at + len(phrase)]) == phrase:
                    _raise(found, owners, _WORD if len(phrase) == 1 else _PHRASE)
        for expression, owners in self._expressions:
            if expression.search(prompt):
                _raise(found, owners, _EXPRESSION)
        return found


def is_expression(trigger: str) -> bool:
    """Return whether a trigger is a regular expression: one between slashes."""
    return len(trigger) > 2 and trigger.startswith("/") and trigger.endswith("/")  # noqa: PLR2004


class TriggerError(ValueError):
    """A trigger that is no expression that can be used; the message says why."""


def size(trigger: str) -> int:
    """Return the size of a trigger's expression in instructions of RE2; 0 for words.

    Raises:
        TriggerError: If it is none, or too long.
    """
    text = trigger.strip()
    if not is_expression(text):
        return 0
    if len(text) > LONGEST:
        raise TriggerError(f"has {len(text)} characters; an expression may have {LONGEST}")
    options = re2.Options()
    options.log_errors = False
    try:
        return int(re2.compile(text[1:-1], options).programsize)
    except re2.error as error:
        raise TriggerError(f"is not a regular expression: {error.args[0].decode(errors='replace')}") from None


def problem(trigger: str) -> str:
    """Return what is wrong with a trigger; "" for nothing."""
    try:
        size(trigger)
    except TriggerError as error:
        return str(error)
    return ""


def _compiled(text: str, options: object) -> re2._Regexp | None:
    try:
        return re2.compile(text, options)
    except re2.error:
        return None


def _raise(found: NDArray[np.float32], owners: set[int], telling: float) -> None:
    for number in owners:
        found[number] = max(found[number], telling / len(owners))
