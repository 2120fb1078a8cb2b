"""Feedback on routes."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.kernel.redis.client import Redis
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.users import covers, require
from baton.route.feedback import store
from baton.route.feedback.store import Feedback
from baton.rules.call.call import Principal

# The selected agent of a prompt, in Redis while feedback is accepted. No prompt is in it.

KEPT_S = 2 * 86_400  # how long feedback may be given, in seconds


class StoredTrace(msgspec.Struct, frozen=True, array_like=True):
    """A prompt's owner and its selected agent."""

    user: str
    team: str
    selected: str


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredTrace).decode


class RouteTraces:
    """Traces by the route's id."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def keep(self, organisation: str, route_id: str, trace: StoredTrace) -> None:
        """Store a trace without waiting for it; while Redis is unavailable it is lost."""
        self._redis.send(b"SET", _key(organisation, route_id), _encode(trace), b"EX", KEPT_S)

    async def get(self, organisation: str, route_id: str) -> StoredTrace | None:
        """Read a trace, None if it has expired. Raise RedisUnavailable."""
        found = await self._redis.call(b"GET", _key(organisation, route_id))
        return None if found is None else _decode(found)


def _key(organisation: str, route_id: str) -> str:
    return f"{{baton}}:route:{organisation}:{route_id}"


_AWAY = "feedback on routes cannot be stored now; try again"


class RouteFeedback:
    """Takes feedback by route."""

    def __init__(self, database: Database, traces: RouteTraces) -> None:
        self._database = database
        self._traces = traces

    async def give(self, principal: Principal, route_id: str, agent: str) -> Feedback:
        """Store the right agent, or "" for none. Later feedback replaces the same person's earlier.

        Raises:
            Forbidden: If the role may not give feedback.
            NotFound: If the caller has no such route, or it is too old for feedback.
            StoreUnavailable: If Redis or the database is unavailable; nothing was stored.
        """
        require(principal, "routes.feedback")
        with StoreErrors(_AWAY):
            trace = await self._traces.get(principal.organisation, route_id)
        if trace is None or not covers(principal, "routes.feedback", user=trace.user, team=trace.team):
            raise NotFound(f"there is no route `{route_id}` of the last two days")
        feedback = Feedback(
            route_id=route_id,
            user=principal.user,
            team=trace.team,
            at=datetime.now(UTC),
            selected=trace.selected,
            right_agent=agent,
        )
        with StoreErrors(_AWAY):
            await store.put(self._database, principal.organisation, feedback)
        return feedback


# `POST /route/{id}/feedback`: people's feedback on a route.

router = APIRouter(tags=["routing"])
RouteFeedbackOf = Annotated[RouteFeedback, Depends(of(RouteFeedback))]

RouteId = Annotated[str, Path(min_length=1, max_length=100)]


class RouteFeedbackBody(BaseModel):
    """The right agent, or "" or null for none of them."""

    model_config = request_body({"agent": "test-fixer"})

    agent: str | None = Field(max_length=200)


class RouteFeedbackModel(BaseModel):
    """Feedback as it is kept; the prompt is no part of it."""

    route_id: str
    agent: str
    selected_agent: str
    at: datetime


@router.post("/route/{route_id}/feedback", dependencies=[ADMIN])
async def give_route_feedback(
    caller: CallerOf, feedback: RouteFeedbackOf, route_id: RouteId, body: RouteFeedbackBody
) -> RouteFeedbackModel:
    """Report the right agent for a prompt of the last two days. Newer feedback replaces your older."""
    given = await feedback.give(caller.principal, route_id, body.agent or "")
    return RouteFeedbackModel(
        route_id=given.route_id, agent=given.right_agent, selected_agent=given.selected, at=given.at
    )
