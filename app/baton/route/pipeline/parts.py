"""Builds the parts of routing and puts the stages in their order. It holds none of them: the registry does."""

import asyncio

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.policies.in_force import Policies
from baton.records.pipeline.counters import Counters
from baton.route.feedback.service import RouteFeedback
from baton.route.feedback.traces import RouteTraces
from baton.route.pipeline.assemble import Assemble
from baton.route.pipeline.detect import Detect
from baton.route.pipeline.models import Models
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import Select
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.route.rosters.push import RosterPushes
from baton.sessions.service import Sessions

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
