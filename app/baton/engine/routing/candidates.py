"""An agent as routing sees it, and a candidate for a prompt."""

from typing import Literal

import msgspec

Tier = Literal["explicit", "node", "scorer", "model", "none"]
"""What decided: a mention or a trigger, the external node, the scorer, a model, or nothing."""


class Agent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent of a roster. `triggers` are words, or regular expressions between slashes; `body` is its prompt."""

    name: str
    description: str = ""
    body: str = ""
    triggers: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One of the scorer's five best. `score` is a probability from 0 to 1, `why` one line for people."""

    name: str
    score: float
    why: str
    description: str = ""
