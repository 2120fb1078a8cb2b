"""What people say of routes, and the weights that are fitted to it for each team."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from baton.engine.call.principal import Principal
from baton.engine.routing.features import DEFAULT, NAMES, Extent, Weights
from baton.engine.routing.fit import LEAST, Sample, refit
from baton.events.emitting.emission import NO_EVENTS, Emitter
from baton.events.payloads.routing import RoutingFeedback, RoutingFeedbackSkipped
from baton.kernel.base.errors import Conflict, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import RedisUnavailable
from baton.people.permissions import covers, require
from baton.route.feedback import fits_store, store
from baton.route.feedback.feedback import Feedback, Fit
from baton.route.feedback.traces import RouteTraces

T = TypeVar("T")
KIND = "routing_fits"
MOST_FEEDBACK = 5_000
"""The newest pieces of feedback, which a fit looks at."""
_AWAY = "feedback on routes cannot be read or changed now; nothing was changed, try again"


class RouteFeedback:
    """Feedback by route, fits by team; the active fit of each team is in memory."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        traces: RouteTraces,
        *,
        organisation: str,
        threshold: float,
        events: Emitter = NO_EVENTS,
    ) -> None:
        self._events = events
        self._database = database
        self._changes = changes
        self._traces = traces
        self._organisation = organisation
        self.threshold = threshold
        self._active: dict[str, Weights] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the active fits. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            fits = await fits_store.active(self._database, self._organisation)
            self._active = {fit.team: msgspec.convert(fit.weights, Weights) for fit in fits}

    def weights(self, principal: Principal) -> Weights:
        """Return the weights that a caller's prompts are scored with."""
        return self._active.get(principal.team, DEFAULT)

    async def give(self, principal: Principal, route_id: str, agent: str) -> Feedback:
        """Store what would have been right: an agent, or "" for none. Later feedback replaces the same person's earlier.

        Raises:
            Forbidden: If the role may not give feedback.
            NotFound: If there is no such route of the caller's, or it is longer ago than feedback is taken for.
            StoreUnavailable: If Redis or the database is away; nothing was stored.
        """
        require(principal, "routes.feedback")
        try:
            trace = await self._traces.get(principal.organisation, route_id)
        except RedisUnavailable:
            raise StoreUnavailable(_AWAY) from None
        if trace is None or not covers(principal, "routes.feedback", user=trace.user, team=trace.team):
            raise NotFound(f"there is no route `{route_id}` of the last two days")
        feedback = Feedback(
            route_id=route_id,
            user=principal.user,
            team=trace.team,
            at=datetime.now(UTC),
            selected=trace.selected,
            right_agent=agent,
            agents=trace.agents,
            features=trace.features,
        )
        await self._read(store.put(self._database, principal.organisation, feedback))
        self._emit(principal, feedback)
        return feedback

    def _emit(self, principal: Principal, feedback: Feedback) -> None:
        ids = {"correlation_id": feedback.route_id, "route_id": feedback.route_id}
        if feedback.right_agent and feedback.right_agent not in feedback.agents:
            # A fit knows only the agents that were ranked first.
            self._events.emit(principal, RoutingFeedbackSkipped(**ids, skip_reason="the agent was not ranked"))
            return
        agreed = feedback.selected == feedback.right_agent
        given = RoutingFeedback(
            **ids, selected_agent=feedback.selected, right_agent=feedback.right_agent, agreed=agreed
        )
        self._events.emit(principal, given)

    async def fits(self, principal: Principal, team: str) -> list[Fit]:
        """List a team's fits, the newest first.

        Raises:
            NotFound: If it is another team's.
        """
        team = self._team(principal, "routes.fits", team)
        return await self._read(fits_store.of_team(self._database, principal.organisation, team))

    async def fit(self, principal: Principal, team: str) -> Fit:
        """Fit a team's weights to its feedback, in a thread, and store them; they are not in force yet.

        Raises:
            Conflict: If there is too little feedback.
            NotFound: If it is another team's.
            StoreUnavailable: If the database is away; nothing was stored.
        """
        team = self._team(principal, "routes.fit", team)
        organisation = principal.organisation
        found = await self._read(store.of_team(self._database, organisation, team, MOST_FEEDBACK))
        if len(found) < LEAST:
            raise Conflict(f"team `{team}` has {len(found)} pieces of feedback; a fit needs at least {LEAST}")
        samples = [_sample(one) for one in found]
        done = await asyncio.to_thread(refit, samples, self._active.get(team, DEFAULT), self.threshold)
        report = {
            "samples": done.samples,
            "before": msgspec.structs.asdict(done.before),
            "after": msgspec.structs.asdict(done.after),
        }
        async with self._changes.write(KIND, principal, "routing.fit") as change:
            weights = msgspec.structs.asdict(done.weights)
            version = await fits_store.add(
                change.connection, organisation, team, weights=weights, report=report, by=principal.user
            )
            await change.audit(team, after={"version": version, "samples": done.samples})
        return next(one for one in await self.fits(principal, team) if one.version == version)

    async def activate(self, principal: Principal, team: str, version: int, reason: str = "") -> None:
        """Put a fit in force for its team, on all servers; 0 puts the defaults in force again.

        Raises:
            NotFound: If there is no such fit, or it is another team's.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        team = self._team(principal, "routes.fit", team)
        organisation = principal.organisation
        async with self._changes.write(KIND, principal, "routing.activate") as change:
            before, found = await fits_store.activate(change.connection, organisation, team, version)
            if not found:
                raise NotFound(f"team `{team}` has no fit {version}")
            await change.audit(team, before={"active": before}, after={"active": version}, reason=reason)

    def _team(self, principal: Principal, action: str, team: str) -> str:
        team = team or principal.team
        if require(principal, action) != "organisation" and team != principal.team:
            raise NotFound(f"there is no team `{team}`")
        return team

    async def _read(self, reading: Awaitable[T]) -> T:
        try:
            return await reading
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None


def _sample(feedback: Feedback) -> Sample:
    """Return feedback as a fit reads it."""
    agents = feedback.agents
    known = feedback.right_agent == "" or feedback.right_agent in agents
    right = agents.index(feedback.right_agent) if feedback.right_agent in agents else -1
    # Feedback that is older than a feature has fewer columns: the missing ones count 0.
    features = [[*row[: len(NAMES)], *[0.0] * (len(NAMES) - len(row))] for row in feedback.features]
    beside = feedback.features[0][len(NAMES) :] if feedback.features else []
    return Sample(features, right, known, Extent(*map(int, beside))) if beside else Sample(features, right, known)
