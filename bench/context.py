"""Measures what prompts are told beside their route: the built-in index of patterns at 10,000 and 100,000 of one team.

Compare the ratios, not the figures: machines differ. `python -m bench.context` ends by itself within a minute.
"""

import time

import numpy as np

from baton.context.patterns.index import IndexedPattern, TeamIndex
from baton.context.patterns.pattern import Check
from baton.kernel.base.word_table import DIMENSIONS

SIZES = (10_000, 100_000)
ROUNDS = 50


def filled(count: int) -> TeamIndex:
    """Make an index of patterns with random meanings, a tenth of them of one project."""
    numbers = np.random.default_rng(count)
    index = TeamIndex()
    for number in range(count):
        vector = numbers.standard_normal(DIMENSIONS).astype(np.float32)
        project = "acme/shop" if number % 10 == 0 else ""
        one = IndexedPattern(str(number), f"rule {number}", project, "", "", (), 0.7 + number % 30 / 100, Check())
        index.put(one, vector / np.linalg.norm(vector))
    return index


def main() -> None:
    """Print the median and the slowest time of a search, cold and warm."""
    for size in SIZES:
        index = filled(size)
        prompt = np.ones(DIMENSIONS, dtype=np.float32) / np.float32(DIMENSIONS**0.5)
        took = []
        for _ in range(ROUNDS + 1):
            started = time.perf_counter()
            index.best(prompt, "acme/shop", 5)
            took.append((time.perf_counter() - started) * 1000)
        cold, warm = took[0], sorted(took[1:])
        print(f"{size:>7} patterns: cold {cold:.2f} ms, warm p50 {warm[ROUNDS // 2]:.2f} ms, slowest {warm[-1]:.2f} ms")


if __name__ == "__main__":
    main()
