"""What a prompt asks to have done, and which agents do such things: `review …` is for a reviewer.

A prompt begins with what to do and goes on with what to do it to, and the latter is full of other agents' words: of
`document the API's tests` only the first word says whose work it is.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from baton.engine.routing.words.text import stems

LEADING = 8
"""Words of a prompt's beginning among which the first that asks for something leads."""
LONGEST = 200
"""Words of a prompt that are looked at."""
_BESIDE, _MOST_BESIDE = 0.5, 2.0
"""What an action counts that does not lead, and how many of them count in full."""
Floats = NDArray[np.float32]

_ACTIONS = {
    "developer coder builder engineer executor implementer creator pro programmer generator prototyper fullstack": "add"
    " create implement build write develop code program integrate generate make introduce scaffold extend support port"
    " prototype",
    "debugger troubleshooter troubleshooting resolver fixer bug detective cause incident diagnose resolution": "fix"
    " resolve repair solve debug troubleshoot diagnose crash error bug broken break fail wrong why hang exception"
    " traceback reproduce",
    "reviewer auditor critic validator validation verifier checker inspector": "review check evaluate assess inspect"
    " critique verify audit feedback validate look opinion",
    "tester testing qa automator": "test cover coverage unit e2e mock spec",
    "documenter writer docs": "document describe annotate readme docs comment guide tutorial manual changelog",
    "architect architecture designer": "design architect structure model propose schema diagram",
    "planner planning manager coordinator prioritizer producer product project pm strategist": "plan estimate focus"
    " prioritize prioritise schedule organize roadmap sprint milestone break breakdown deadline",
    "researcher explorer analyst scout investigator synthesizer": "research explore investigate compare find study"
    " analyze analyse survey discover understand learn search where alternatives",
    "refactorer refactoring simplifier cleaner cleanup modernizer legacy": "refactor rename extract split simplify"
    " clean consolidate move convert restructure modernize remove deduplicate decouple replace upgrade migrate",
    "optimizer performance profiler optimization benchmarker profiling": "optimize improve speed reduce cache tune"
    " profile accelerate minimize slow faster latency sluggish bottleneck",
    "devops deployment infrastructure deployer sre cloud operations": "deploy configure set provision scale automate"
    " release rollback install host containerize monitor setup pipeline",
    "security penetration vulnerability": "secure harden encrypt protect pentest vulnerability injection xss exploit"
    " attack",
}
"""The words of those who do something, and the words that ask for it."""


class Actions:
    """The agents of a roster by what they do."""

    def __init__(self, agents: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Take each agent as the stems of its name and of its description; an action that most do tells little."""
        count, done = len(agents), _tables()[1]
        self._done = np.zeros((count, len(_ACTIONS)), dtype=np.float32)
        for row, texts in zip(self._done, agents, strict=True):
            for text in texts:
                row[list({action for stem in text for action in done.get(stem, ())})] += 1
        common = np.count_nonzero(self._done, axis=0)
        self._done *= np.clip(np.log((count + 1) / (common + 0.5)) / math.log(count + 1), 0, 1) if count else 1

    def score(self, prompt_stems: Sequence[str]) -> Floats:
        """Return for each agent how well it does what a prompt asks for: 0 for not at all, rarely above 2."""
        scores: Floats = self._done @ asked(prompt_stems)
        return scores


def doing(text: Sequence[str]) -> Iterator[str]:
    """Return the stems of a text that say what somebody does, each once."""
    done = _tables()[1]
    return (stem for stem in dict.fromkeys(text) if stem in done)


def asked(prompt_stems: Sequence[str]) -> Floats:
    """Return for each action how much a prompt asks for it; the first action counts most."""
    leading, beside = np.zeros((2, len(_ACTIONS)), dtype=np.float32)
    for place, actions in _named(prompt_stems[:LONGEST]):
        if place < LEADING and not leading.any():
            leading[list(actions)] = 1 / len(actions)
        beside[list(actions)] = 1
    weighed: Floats = leading + beside * np.float32(_BESIDE * min(1.0, _MOST_BESIDE / max(1.0, float(beside.sum()))))
    return weighed


def _named(prompt_stems: Sequence[str]) -> Iterator[tuple[int, tuple[int, ...]]]:
    asking = _tables()[0]
    return ((place, asking[stem]) for place, stem in enumerate(prompt_stems) if stem in asking)


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Return two tables by stem: the actions that it asks for, and those that an agent so described does."""
    tables: tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]] = ({}, {})
    for action, (doing, asking) in enumerate(_ACTIONS.items()):
        for table, text in zip(tables, (asking, doing), strict=True):
            for stem in dict.fromkeys(stems(text)):
                table[stem] = (*table.get(stem, ()), action)
    return tables


def asks(stem: str) -> bool:
    """Return whether a word asks for something to be done."""
    return stem in _tables()[0]
