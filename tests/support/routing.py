"""Routing in tests: a pipeline over a fixed roster, and one server's share of routing's models."""

from baton.kernel.base.word_table import shared
from baton.kernel.changes.announce import Changes
from baton.lib.router.agents import Agent
from baton.lib.router.index import Index
from baton.records.pipeline.recorder import Counters
from baton.route.feedback.quality_store import of_tier
from baton.route.llm.breakers import Breakers
from baton.route.pipeline.context import Assemble, Detect
from baton.route.pipeline.models import Models
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import Select
from baton.route.prompt import Prompt
from baton.route.rosters.in_force import RoutingIndex
from baton.rules.call.call import Principal

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


AGENTS = [
    Agent(name="db-tuner", description="Makes slow SQL queries fast with indexes."),
    Agent(name="test-writer", description="Writes unit tests and repairs flaky ones."),
    Agent(name="copy-editor", description="Edits texts, headlines and newsletters."),
]
SURE = "this slow sql query needs indexes"


class FixedRoster:
    """A roster that is always the same."""

    degraded = False

    def __init__(self, agents=AGENTS):
        self.index = Index(agents, shared())

    async def index_for(self, prompt):
        return RoutingIndex(self.index, {agent.name: "ours" for agent in AGENTS})


class FixedChooser:
    """A node or a model that always says the same."""

    def __init__(self, choice):
        self.choice, self.asked = choice, []

    async def choose(self, prompt, candidates):
        self.asked.append([one.name for one in candidates])
        return self.choice


def pipeline(*stages):
    return Routing([(stage,) for stage in stages], sessions=None, traces=None, counters=Counters())


async def routed(roster, text, *, client="claude-code", agent_id="", **more):
    """Route a prompt over a fixed roster; `more` is handed to `Select`."""
    select = Select(roster, roster, threshold=more.pop("threshold", 0.3), **more)
    prompt = Prompt(text=text, principal=Principal(), client=client, agent_id=agent_id)
    return await pipeline(Detect(), select, Assemble()).answer(prompt)
