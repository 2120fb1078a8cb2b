"""Prompts that an agent is known to be right for, and how near a prompt is to them.

They are a feature of their own: as words of the description they would lengthen it and bring everybody's words into it,
and as its vector they would win against descriptions merely for being short.
"""

from collections.abc import Sequence

import numpy as np

from baton.engine.routing.features import Floats

ALIKE = 0.6
"""The cosine above which a prompt says nearly what an example says."""
_SURE = 4.0
"""How many times more each step of nearness counts from there on."""


class Examples:
    """The examples of a roster's agents, as vectors."""

    def __init__(self, examples: Sequence[Sequence[Floats]]) -> None:
        """Take each agent's examples."""
        self._size = len(examples)
        rows = [(number, vector) for number, vectors in enumerate(examples) for vector in vectors]
        self._agents = np.array([number for number, _ in rows], dtype=np.intp)
        self._vectors = np.stack([vector for _, vector in rows]) if rows else None

    def score(self, prompt: Floats) -> Floats:
        """Return how near a prompt is to each agent's nearest example, relative to agents without one, which get 0.

        An agent without an example counts as one whose example is as near as the others' on average: to have none is no
        disadvantage, and to have one no merit by itself.
        """
        found = np.zeros(self._size, dtype=np.float32)
        if self._vectors is None:
            return found
        nearest = np.full(self._size, -np.inf, dtype=np.float32)
        np.maximum.at(nearest, self._agents, np.vecdot(self._vectors, prompt))
        has = np.isfinite(nearest)
        near = nearest[has]
        found[has] = near - near.mean() + _SURE * np.maximum(0, near - ALIKE)
        return found
