"""What one of several servers has of routing's models, on real stores."""

from baton.engine.call.principal import Principal
from baton.kernel.changes.announce import Changes
from baton.records.pipeline.counters import Counters
from baton.route.feedback.agreement_store import of_tier
from baton.route.llm.breakers import Breakers
from baton.route.pipeline.models import Models

ADMIN = Principal(organisation="acme", user="ann", team="web", role="admin")
DEVELOPER = Principal(organisation="acme", user="dev", team="web", role="developer")
ON = {"use_llm_routing": True, "enable_local_inference_pipeline": True, "enable_local_delegation": True}


class Process:
    """What one of several servers has of routing's models."""

    def __init__(self, settings, redis, database):
        self.counters = Counters()
        self.changes = Changes(redis, database, "acme")
        self.breakers = Breakers(database, redis, self.changes, self.counters, organisation="acme", agreement=of_tier)
        self.models = Models(settings, self.breakers)

    def breaker(self, name="model"):
        return self.breakers._known[name]

    async def settle(self):
        for breaker in self.breakers._known.values():
            await breaker.settle()

    async def healthy(self):
        await self.models._health.check()
        return self
