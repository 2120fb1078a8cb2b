"""Patterns for tests: made, stored and in force without a server."""

from datetime import UTC, datetime

from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import Meanings
from baton.context.patterns.pattern import NewPattern, Pattern, PatternCheck
from baton.context.patterns.service import Patterns
from baton.kernel.changes.announce import Changes
from baton.rules.call.call import Principal

LEAD = Principal(team="web", user="lea", role="lead")


class Store:
    """The services of one server: `patterns`, and what is `in_force`."""

    def __init__(self, database, redis):
        self.database = database
        self.meanings = Meanings()
        changes = Changes(redis, database, "default")
        self.in_force = PatternsInForce(database, changes, "default")
        self.patterns = Patterns(database, changes, self.in_force, self.meanings)

    async def add(self, signature, *, lead=LEAD, approve=True, **fields):
        """Propose a pattern, and approve it."""
        made = await self.patterns.propose(lead, NewPattern(signature=signature, **fields))
        if not approve:
            return made
        return await self.patterns.approve(lead, made.id, confidence=None, reason="", version="1")


def pattern(pattern_id="p1", **fields):
    """Make a validated pattern that is not stored."""
    given = {
        "team": "web",
        "signature": "Use pathlib",
        "text": "Not os.path.",
        "project": "",
        "domain": "",
        "language": "",
        "globs": (),
        "check": PatternCheck(),
        "status": "validated",
        "source": "person",
        "stated": 0.9,
        "confidence": 0.9,
        "created_at": datetime(2026, 5, 1, tzinfo=UTC),
        "created_by": "lea",
    }
    return Pattern(id=pattern_id, **(given | fields))
