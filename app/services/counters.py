"""Counts what people must be able to see: fail-opens and degraded answers, since the server started."""

from collections import Counter


class Counters:
    """In-process counts."""

    def __init__(self) -> None:
        self.degraded: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()

    def answered(self, degraded: tuple[str, ...]) -> None:
        """Count what an answer had to do without."""
        if degraded:
            self.degraded.update(degraded)

    def failed(self, client: str, answer: str, code: str) -> None:
        """Count a hook call that got its client's failure answer instead of a decision."""
        self.failures[f"{client} {answer} {code}"] += 1
