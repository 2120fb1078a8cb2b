"""What goes on in a session beside its calls: what waits for a person, its jobs and agents, and what they cost."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec

from baton.delegate.jobs.costs.prices import Price, price_of_call
from baton.kernel.base.uuid7 import moment_of

LIVE = timedelta(minutes=10)
"""A session counts as live for so long after its last call."""


class SessionActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The activity of one session.

    Attributes:
        waiting: Jobs that wait for a person: for an approval, or for the answer to their agent's question.
        jobs: Jobs that have not ended.
        agents: Sub-agents that made a call.
        usd: What its agents and its jobs cost, None where no cost is known.
    """

    waiting: int = 0
    jobs: int = 0
    agents: int = 0
    usd: float | None = None


class AgentCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one sub-agent in a session; `first` and `last` are ids of decisions, which begin with their moment."""

    agent_id: str
    agent_type: str
    calls: int
    blocked: int
    first: str
    last: str


class AgentSpawn(msgspec.Struct, frozen=True, kw_only=True):
    """A call that started an agent; `parent` is the id of the agent that made it, "" for the main thread.

    `model` and the tokens are those that the client reported when the agent had ended.
    """

    id: str
    parent: str
    agent_type: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    is_over: bool


class SessionAgent(msgspec.Struct, frozen=True, kw_only=True):
    """One sub-agent of a session. `parent` is the id of the agent that started it, `main` for the main thread.

    `id` is the agent's own; for an agent that has made no call, the id of the decision on its start.
    """

    id: str
    type: str
    parent: str
    first_at: datetime
    last_at: datetime
    calls: int = 0
    blocked: int = 0
    is_over: bool = False
    model: str = ""
    usd: float | None = None


def tree_of(
    calls: Sequence[AgentCalls],
    spawns: Sequence[AgentSpawn],
    prices: Mapping[str, Price],
) -> list[SessionAgent]:
    """Return a session's agents, in the order of their starts.

    Clients do not say which call started which agent. An agent belongs to the first call before its own first one that
    started an agent of its type and has none yet; without such a call it counts as the main thread's.
    """
    waiting: dict[str, list[AgentSpawn]] = {}
    for one in sorted(spawns, key=lambda one: one.id):
        waiting.setdefault(one.agent_type.casefold(), []).append(one)
    found = []
    for agent in sorted(calls, key=lambda one: one.first):
        before = waiting.get(agent.agent_type.casefold(), [])
        spawn = before.pop(0) if before and before[0].id < agent.first else None
        found.append(
            SessionAgent(
                id=agent.agent_id,
                type=agent.agent_type,
                parent=(spawn.parent if spawn else "") or "main",
                first_at=moment_of(spawn.id if spawn else agent.first),
                last_at=moment_of(agent.last),
                calls=agent.calls,
                blocked=agent.blocked,
                is_over=spawn is not None and spawn.is_over,
                model=spawn.model if spawn else "",
                usd=_price(spawn, prices) if spawn else None,
            )
        )
    # Agents that never called a tool are shown as well: they ran, and cost.
    for silent in chain.from_iterable(waiting.values()):
        at = moment_of(silent.id)
        found.append(
            SessionAgent(
                id=silent.id,
                type=silent.agent_type,
                parent=silent.parent or "main",
                first_at=at,
                last_at=at,
                is_over=silent.is_over,
                model=silent.model,
                usd=_price(silent, prices),
            )
        )
    return sorted(found, key=lambda one: (one.first_at, one.id))


def _price(spawn: AgentSpawn, prices: Mapping[str, Price]) -> float | None:
    if not spawn.model:
        return None
    return price_of_call(prices, spawn.model, spawn.input_tokens, spawn.cached_tokens, spawn.output_tokens)
