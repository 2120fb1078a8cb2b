"""Read what goes on in sessions from SQL: their jobs, their sub-agents, and the tokens that these used."""

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, Table, case, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import ENDED_STATES
from baton.delegate.core.stores.tables import JOBS
from baton.delegate.runners.agent_tokens import AGENT, DELEGATING_AGENT
from baton.engine.call.record import LONGEST_ID
from baton.kernel.base.storable import storable
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import DECISIONS
from baton.sessions.activity import AgentCalls, AgentSpawn

MOST_AGENTS = 500
"""Agents of one session that are shown, the first ones."""
WAITING_STATES = ("pending_approval", "awaiting_permission")
SessionKey = tuple[str, str]
"""A session's id, and its user."""
_d = DECISIONS


class JobActivity(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one session and tier. `priced_…` are tokens of jobs whose agent did not say what it cost."""

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
    """Sum up the tokens of the agent calls of some sessions, without those of jobs' agents, which the job includes."""
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
    """Read the sub-agents of one session, and the calls that started agents, each the first ones."""
    query = select(
        _d.c.agent_id,
        _d.c.agent_type,
        func.count().label("calls"),
        _count(_d.c.decision == "block").label("blocked"),
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
    # By two lists, which the indexes of both tables serve; a pair of one's session and another's user is nobody's.
    return scope.limit(query, table).where(
        table.c.organisation == organisation,
        table.c.session_id.in_({storable(session)[:LONGEST_ID] for session, _ in sessions}),
        table.c.user.in_({storable(user) for _, user in sessions}),
    )


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(case((condition, 1), else_=0)), 0), BigInteger)


def _total(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)
