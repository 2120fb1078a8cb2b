"""Reads a session's activity apart from its calls: waiting jobs, agents, and costs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, Table, case, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import ENDED_STATES
from baton.delegate.core.stores.tables import JOBS
from baton.delegate.jobs.costs import Price, price_of_call
from baton.delegate.runners.agent_tokens import AGENT, DELEGATING_AGENT
from baton.people.users import RowScope
from baton.records.tables import DECISIONS
from baton.rules.call.kept import LONGEST_ID
from baton.shared.record_ids import moment_of
from baton.shared.storable import storable

LIVE = timedelta(minutes=10)
"""A session counts as live for so long after its last call."""


class SessionActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The activity of one session.

    Attributes:
        waiting: Jobs waiting for a person's approval or answer.
        jobs: Unfinished jobs.
        agents: Sub-agents with a call.
        usd: Cost of its agents and jobs, None if unknown.
    """

    waiting: int = 0
    jobs: int = 0
    agents: int = 0
    usd: float | None = None


class AgentCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one sub-agent in a session. `first` and `last` are decision ids, which begin with a timestamp."""

    agent_id: str
    agent_type: str
    calls: int
    blocked: int
    first: str
    last: str


class AgentSpawn(msgspec.Struct, frozen=True, kw_only=True):
    """A call that started an agent. `parent` is the id of the calling agent, "" for the main thread.

    The client reports `model` and the tokens at the agent's end.
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
    """A sub-agent of a session. `parent` is the id of its starter, `main` for the main thread.

    An agent without calls has the id of the decision on its start. `model` and `usd` are known after its end, if its
    client reports them.
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
    calls: Sequence[AgentCalls], spawns: Sequence[AgentSpawn], prices: Mapping[str, Price]
) -> list[SessionAgent]:
    """Return a session's agents, in the order of their starts.

    Clients do not report which call started an agent. An agent is assigned to the earliest unassigned start of its type
    before its own first call, else to the main thread.
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
    # Agents without a tool call are shown as well: they ran, and cost.
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


# Reads sessions' activity from SQL: their jobs, their sub-agents, and the tokens used.

MOST_AGENTS = 500
"""Agents of one session that are shown, the first ones."""
WAITING_STATES = ("pending_approval", "awaiting_permission")
SessionKey = tuple[str, str]
"""A session's id, and its user."""
_d = DECISIONS


class JobActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one session and tier. `priced_…` are tokens of jobs without a reported cost."""

    session_id: str
    user: str
    tier: str
    waiting: int
    active: int
    usd: float
    costed: int
    priced_input: int
    priced_cached: int
    priced_output: int


class CallTokens(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one session's agent calls on one model."""

    session_id: str
    user: str
    model: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int


async def jobs(
    connection: AsyncConnection, organisation: str, scope: RowScope, sessions: Collection[SessionKey]
) -> list[JobActivity]:
    """Sum up the jobs of some sessions, by session and tier."""
    unpriced = JOBS.c.cost_usd.is_(None)
    tokens = {"priced_input": "input_tokens", "priced_cached": "cached_tokens", "priced_output": "output_tokens"}
    query = select(
        JOBS.c.session_id,
        JOBS.c.user,
        JOBS.c.tier,
        _count(JOBS.c.state.in_(WAITING_STATES)).label("waiting"),
        _count(JOBS.c.state.not_in(ENDED_STATES)).label("active"),
        func.coalesce(func.sum(JOBS.c.cost_usd), 0.0).label("usd"),
        _count(JOBS.c.cost_usd.is_not(None)).label("costed"),
        *(_total(case((unpriced, JOBS.c[column]), else_=0)).label(name) for name, column in tokens.items()),
    )
    query = _of(query, JOBS, organisation, scope, sessions).group_by(JOBS.c.session_id, JOBS.c.user, JOBS.c.tier)
    return [msgspec.convert(row._asdict(), JobActivity, strict=False) for row in await connection.execute(query)]


async def agent_counts(
    connection: AsyncConnection, organisation: str, scope: RowScope, sessions: Collection[SessionKey]
) -> dict[SessionKey, int]:
    """Count the sub-agents of some sessions."""
    query = select(_d.c.session_id, _d.c.user, func.count(_d.c.agent_id.distinct())).where(
        _d.c.agent_id != "", _d.c.event == "PreToolUse"
    )
    query = _of(query, _d, organisation, scope, sessions).group_by(_d.c.session_id, _d.c.user)
    return {(row[0], row[1]): row[2] for row in await connection.execute(query)}


async def call_tokens(
    connection: AsyncConnection, organisation: str, scope: RowScope, sessions: Collection[SessionKey]
) -> list[CallTokens]:
    """Sum the tokens of the agent calls of some sessions. A job's tokens already include its own agents'."""
    query = select(
        _d.c.session_id,
        _d.c.user,
        _d.c.model_used.label("model"),
        *(_total(_d.c[name]).label(name) for name in ("input_tokens", "cached_tokens", "output_tokens")),
    ).where(_d.c.model_used != "", _d.c.role.not_in((AGENT, DELEGATING_AGENT)))
    query = _of(query, _d, organisation, scope, sessions).group_by(_d.c.session_id, _d.c.user, _d.c.model_used)
    return [msgspec.convert(row._asdict(), CallTokens, strict=False) for row in await connection.execute(query)]


async def agents(
    connection: AsyncConnection, organisation: str, scope: RowScope, session: SessionKey
) -> tuple[list[AgentCalls], list[AgentSpawn]]:
    """Read the first sub-agents of one session, and the first calls starting agents."""
    query = select(
        _d.c.agent_id,
        _d.c.agent_type,
        _total(_d.c.repeats + 1).label("calls"),
        _total(case((_d.c.decision == "block", _d.c.repeats + 1), else_=0)).label("blocked"),
        func.min(_d.c.id).label("first"),
        func.max(_d.c.id).label("last"),
    ).where(_d.c.agent_id != "", _d.c.event == "PreToolUse")
    query = _of(query, _d, organisation, scope, [session]).group_by(_d.c.agent_id, _d.c.agent_type)
    rows = await connection.execute(query.order_by(func.min(_d.c.id)).limit(MOST_AGENTS))
    calls = [msgspec.convert(row._asdict(), AgentCalls, strict=False) for row in rows]
    query = select(
        _d.c.id,
        _d.c.agent_id.label("parent"),
        _d.c.started_agent.label("agent_type"),
        _d.c.model_used.label("model"),
        *(_d.c[name] for name in ("input_tokens", "cached_tokens", "output_tokens")),
        (_d.c.outcome != "").label("is_over"),
    ).where(_d.c.event == "PreToolUse", _d.c.started_agent != "", _d.c.decision != "block")
    query = _of(query, _d, organisation, scope, [session]).order_by(_d.c.id).limit(MOST_AGENTS)
    rows = await connection.execute(query)
    return calls, [msgspec.convert(row._asdict(), AgentSpawn, strict=False) for row in rows]


def _of(
    query: Select[Any], table: Table, organisation: str, scope: RowScope, sessions: Collection[SessionKey]
) -> Select[Any]:
    # By two lists, for the indexes of both tables. A pair of one's session and another's user matches nothing.
    return scope.limit(query, table).where(
        table.c.organisation == organisation,
        table.c.session_id.in_({storable(session)[:LONGEST_ID] for session, _ in sessions}),
        table.c.user.in_({storable(user) for _, user in sessions}),
    )


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(case((condition, 1), else_=0)), 0), BigInteger)


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
