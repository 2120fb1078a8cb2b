"""Builds the parts of routing and puts the stages in their order. It holds none of them: the registry does."""

import asyncio

import msgspec

from app.engine.principal import Principal
from app.services.changes import Changes
from app.services.counters import Counters
from app.services.policies import Policies
from app.services.roster_pushes import RosterPushes
from app.services.route import Routing
from app.services.route_feedback import RouteFeedback
from app.services.routing.assemble import Assemble
from app.services.routing.detect import Detect
from app.services.routing.indexes import Indexes
from app.services.routing.models import Models
from app.services.routing.rosters import RoutingRosters
from app.services.routing.select import Select
from app.services.sessions import Sessions
from app.settings import Settings
from app.store.redis import Redis
from app.store.route_traces import RouteTraces
from app.store.sql import Database

WARM_AFTER_S = 1.0
"""When the word table and the first index are read, in seconds: no prompt should wait for it, nor should the start."""


class RoutingParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the API calls of routing."""

    feedback: RouteFeedback
    indexes: Indexes
    pipeline: Routing
    pushes: RosterPushes
    rosters: RoutingRosters


async def build(
    settings: Settings,
    *,
    redis: Redis,
    database: Database,
    changes: Changes,
    policies: Policies,
    sessions: Sessions,
    counters: Counters,
    models: Models,
) -> RoutingParts:
    """Build the parts, and read the rosters and the weights that are in force. Raises DatabaseUnavailable."""
    threshold, organisation = settings.confidence_threshold, settings.organisation
    traces = RouteTraces(redis)
    feedback = RouteFeedback(database, changes, traces, organisation=organisation, threshold=threshold)
    await feedback.load()
    indexes = Indexes()
    rosters = RoutingRosters(database, changes, policies, indexes, organisation)
    await rosters.load()
    own = Principal(organisation=organisation, team=settings.team)
    asyncio.get_running_loop().call_later(WARM_AFTER_S, rosters.warm, own)
    select = Select(
        rosters, indexes, threshold=threshold, weights=feedback.weights, node=models.node, model=models.model
    )
    return RoutingParts(
        feedback=feedback,
        indexes=indexes,
        pipeline=Routing(
            ((Detect(),), (select,), (models.delegation,), (Assemble(),)),
            sessions=sessions,
            traces=traces,
            counters=counters,
            warm=rosters.warm,
        ),
        pushes=RosterPushes(database, changes, rosters),
        rosters=rosters,
    )
