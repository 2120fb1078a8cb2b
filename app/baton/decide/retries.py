"""The latest answers of this process, so that a retried call gets the answer of its first attempt.

What is not found here is decided again on the prior calls that Redis keeps for the call, under its first id.
"""

from collections import OrderedDict

from baton.engine.call.call import ToolCall
from baton.records.pipeline.decision import Decision

REMEMBERED = 2_048
"""Answers that a process keeps, so that retries are answered even while Redis is away."""
LONGEST = 8_000
"""Characters of a command, or of a rewritten input, whose answer is kept: a kept answer holds its reading, or it."""

CallKey = tuple[str, str, str, bytes]
"""Organisation, user, session, and the name of the call; b"" for a call that the client did not name."""


class RecentAnswers:
    """The latest answers by call."""

    def __init__(self) -> None:
        self._answers: OrderedDict[CallKey, Decision] = OrderedDict()

    def find(self, key: CallKey) -> Decision | None:
        """Return what a call was answered; None if it is not known here."""
        return self._answers.get(key)

    def keep(self, key: CallKey, call: ToolCall, decision: Decision) -> None:
        """Keep an answer, unless it may be large."""
        rewritten = decision.verdict.updated_input
        held = _length(call.tool_input.get("command")) if rewritten is None else sum(map(_length, rewritten.values()))
        if held > LONGEST:
            return
        self._answers[key] = decision
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)


def _length(value: object) -> int:
    """Return how long a value is; what is nested counts as too long."""
    if isinstance(value, str):
        return len(value)
    return LONGEST + 1 if isinstance(value, dict | list) else 0
