"""Builds routing: its stages in order, and their dependencies."""

import asyncio
from functools import partial

import msgspec

from baton.context.feature import ContextFeature
from baton.events.emission import Emitter
from baton.kernel.base.pause import end_with
from baton.kernel.http.serving.hot_routes import HotRoute
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.machines.session_projects import ClientActivity
from baton.people.callers import CallerReader
from baton.policies.agent_tables import AgentTables
from baton.policies.in_force import Policies
from baton.records.pipeline.recorder import Counters
from baton.route.feedback.quality import RouteQuality
from baton.route.feedback.quality_store import of_tier, proposals
from baton.route.feedback.service import RouteFeedback, RouteTraces
from baton.route.llm.breakers import Breakers
from baton.route.pipeline.api import MAX_BODY, RouteEndpoint
from baton.route.pipeline.context import Assemble, Detect, LearnedPatterns, WaitingAdvisories
from baton.route.pipeline.enrich import Enrich
from baton.route.pipeline.models import Models
from baton.route.pipeline.pipeline import Routing
from baton.route.pipeline.select import Select
from baton.route.pipeline.stage import Stage
from baton.route.rosters.catalogue import Catalogue
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.route.rosters.service import PushedRosters
from baton.rules.call.call import Principal
from baton.sessions.service import Sessions

WARM_AFTER_S = 1.0
"""Seconds after the start when the word table and the first index are read: neither the start nor a prompt waits for it."""


class RouteFeature(msgspec.Struct, frozen=True, kw_only=True):
    """Routes prompts to agents."""

    breakers: Breakers
    models: Models
    threshold: float
    feedback: RouteFeedback
    quality: RouteQuality
    indexes: Indexes
    pipeline: Routing
    rosters: PushedRosters
    in_force: RoutingRosters
    catalogue: Catalogue


async def build(
    kernel: Kernel,
    *,
    policies: Policies,
    tables: AgentTables,
    sessions: Sessions,
    counters: Counters,
    context: ContextFeature,
    events: Emitter,
) -> RouteFeature:
    """Build the services, and read the breakers and rosters in force. Raise DatabaseUnavailable."""
    settings, organisation = kernel.settings, kernel.organisation
    breakers = Breakers(
        kernel.database, kernel.redis, kernel.changes, counters, organisation=organisation, agreement=of_tier
    )
    models = Models(settings, breakers)
    kernel.on_stop(models.close)
    if models.summary is not None:
        context.summarization.use_model(models.summary.shorten)
    await breakers.load()
    kernel.on_stop(breakers.settle)
    for breaker in breakers.each():
        kernel.every(PeriodicTask("breakers", 1, partial(end_with, breaker.refresh)))
    kernel.every(PeriodicTask("feedback on choices", 60, lambda _: breakers.count_agreements()))
    kernel.every(PeriodicTask("health of the model", 5, models.check))
    traces = RouteTraces(kernel.redis)
    threshold = settings.confidence_threshold
    context.learning.also_from(partial(proposals, kernel.database))
    indexes = Indexes()
    in_force = RoutingRosters(kernel.database, kernel.changes, policies, indexes, organisation)
    await in_force.load()
    own = Principal(organisation=organisation, team=settings.team)
    asyncio.get_running_loop().call_later(WARM_AFTER_S, in_force.warm, own)
    select = Select(in_force, indexes, threshold=threshold, node=models.node, model=models.model)
    enrich: tuple[Stage, ...] = (Enrich(context.enricher, events),) if settings.enrichment_on else ()
    enriched = (context.session_started,) if settings.enrichment_on else ()
    of_team: tuple[tuple[Stage, ...], ...] = (
        (LearnedPatterns(context.injection),),
        (WaitingAdvisories(context.advisories),),
    )
    pipeline = Routing(
        ((Detect(),), (*enrich, select), (models.local_answers,), *of_team, (Assemble(),)),
        unrouted=((Detect(),), enrich, *of_team, (Assemble(),)),
        sessions=sessions,
        traces=traces,
        counters=counters,
        expected=(lambda principal, project, _: in_force.warm(principal, project), *enriched),
        events=events,
    )
    return RouteFeature(
        breakers=breakers,
        models=models,
        threshold=threshold,
        feedback=RouteFeedback(kernel.database, traces),
        quality=RouteQuality(kernel.database),
        indexes=indexes,
        pipeline=pipeline,
        rosters=PushedRosters(kernel.changes, in_force),
        in_force=in_force,
        catalogue=Catalogue(in_force, tables),
    )


def hot_routes(
    feature: RouteFeature, *, callers: CallerReader, sessions: Sessions, seen: ClientActivity
) -> list[HotRoute]:
    """Return the endpoints dispatched ahead of FastAPI's router."""
    endpoint = RouteEndpoint(
        feature.pipeline, feature.in_force, feature.indexes, threshold=feature.threshold, sessions=sessions, seen=seen
    )
    return [
        HotRoute(path="/route", max_body=MAX_BODY, admit=callers.read_for_call, answer=endpoint.answer),
        HotRoute(path="/route/explain", max_body=MAX_BODY, admit=callers.read, answer=endpoint.explain),
    ]
