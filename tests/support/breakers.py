"""One of several servers with its own breaker, on real stores, and a service with scripted answers to probes."""

from baton.kernel.changes.announce import Changes
from baton.records.pipeline.recorder import Counters
from baton.route.feedback.quality_store import of_tier
from baton.route.llm.breaker_rules import Limits
from baton.route.llm.breakers import Breakers
from baton.rules.call.call import Principal

ADMIN = Principal(organisation="acme", user="ann", team="web", role="admin")


class Server:
    """One server's breaker, whose service answers probes as told: milliseconds, or None for a failure."""

    def __init__(self, database, redis):
        self.counters = Counters()
        self.probes = []
        self.answers = 10.0
        self.changes = Changes(redis, database, "acme")
        self.breakers = Breakers(database, redis, self.changes, self.counters, organisation="acme", agreement=of_tier)
        self.breaker = self.breakers.make("model", Limits(), self._probe)

    async def _probe(self):
        self.probes.append(self.breaker.status().state.passed)
        return self.answers

    async def calls(self, *took_ms, failed=False):
        for ms in took_ms:
            self.breaker.count(ms, "answered", failed=failed)
        await self.breaker.settle()

    @property
    def phase(self):
        return self.breaker.status().state.phase
