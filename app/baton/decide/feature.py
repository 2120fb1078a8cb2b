"""Builds the decisions on agents' calls, their hooks, and their sessions' events."""

import msgspec

from baton.context.feature import ContextFeature
from baton.decide import api, hooks_api
from baton.decide.approvals import Approvals
from baton.decide.dry_run import DryRun, EvaluateEndpoint
from baton.decide.explanation import Explanations
from baton.decide.hooks import Hooks, StartPatterns
from baton.decide.service import Installation, PreToolUse
from baton.decide.session_events_api import SessionEventsEndpoint
from baton.decide.strangers import Strangers
from baton.events.feature import EventsFeature
from baton.kernel.http.features import Lifecycle
from baton.kernel.http.serving.hot_routes import HotRoute
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.machines.client_processes import ClientProcesses
from baton.machines.session_projects import ClientActivity
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.people.callers import CallerReader
from baton.people.rate_limits import RateLimits
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.feature import RecordsFeature
from baton.route.pipeline.pipeline import Routing
from baton.sessions.feature import SessionsFeature


class DecideFeature(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call in, a decision out."""

    pre_tool_use: PreToolUse
    hooks: Hooks
    start_patterns: StartPatterns
    dry_run: DryRun
    explanations: Explanations
    strangers: Strangers
    approvals: Approvals


def build(
    kernel: Kernel,
    lifecycle: Lifecycle,
    *,
    users: Users,
    policies: Policies,
    records: RecordsFeature,
    modes: Modes,
    freezes: Freezes,
    sessions: SessionsFeature,
    routing: Routing,
    context: ContextFeature,
    limits: RateLimits,
    events: EventsFeature,
    is_worker: bool,
) -> DecideFeature:
    """Build the services. A worker's supervisor is a process of the server as well."""
    installation = Installation(kernel.settings, is_worker=is_worker)
    kernel.run(installation.run)
    approvals = Approvals(kernel.database, kernel.changes, kernel.redis, events.emitter, events.webhooks.has)
    leave = PeriodicTask("waiting hooks", 1, lambda _: approvals.leave() if lifecycle.phase == "draining" else None)
    kernel.every(leave)
    pre_tool_use = PreToolUse(
        rate=sessions.rate,
        policies=policies,
        modes=modes,
        freezes=freezes,
        approvals=approvals,
        sessions=sessions.sessions,
        history=sessions.history,
        recorder=records.recorder,
        counters=records.counters,
        exceptions=sessions.exceptions,
        users=users,
        installation=installation,
        outcomes=sessions.outcomes,
    )
    start_patterns = StartPatterns(sessions.sessions, context.injection)
    hooks = Hooks(
        pre_tool_use=pre_tool_use,
        approvals=approvals,
        sessions=sessions.sessions,
        brackets=sessions.brackets,
        advice=sessions.advice,
        outcomes=sessions.outcomes,
        routing=routing,
        route_prompts=kernel.settings.route_prompts,
        start_patterns=start_patterns,
        advisories=context.advisories,
        compliance=context.compliance,
    )
    return DecideFeature(
        approvals=approvals,
        pre_tool_use=pre_tool_use,
        hooks=hooks,
        start_patterns=start_patterns,
        dry_run=DryRun(pre_tool_use, policies, records.replay, users),
        explanations=Explanations(records.decisions, policies, modes),
        strangers=Strangers(policies, modes, freezes, installation, limits),
    )


def hot_routes(
    feature: DecideFeature,
    *,
    callers: CallerReader,
    records: RecordsFeature,
    sessions: SessionsFeature,
    context: ContextFeature,
    seen: ClientActivity,
    processes: ClientProcesses,
    limits: RateLimits,
) -> list[HotRoute]:
    """Return the endpoints dispatched ahead of FastAPI's router."""
    hooks = hooks_api.HooksEndpoint(
        callers,
        feature.hooks,
        records.counters,
        seen,
        processes,
        failures=records.hook_failures,
        strangers=feature.strangers,
    )
    calls = api.PreToolUseEndpoint(feature.pre_tool_use, seen)
    evaluate = EvaluateEndpoint(feature.dry_run, limits)
    events = SessionEventsEndpoint(sessions.sessions, sessions.outcomes, feature.start_patterns, context.compliance)
    agents = callers.read_for_call
    return [
        HotRoute(
            path=hooks_api.PATH,
            max_body=hooks_api.MAX_BODY,
            admit=agents,
            answer=hooks.answer,
            failed=hooks.failed,
            with_result=True,
        ),
        HotRoute(path="/pre-tool-use", max_body=api.MAX_BODY, admit=agents, answer=calls.answer),
        HotRoute(path="/policies/evaluate", max_body=api.MAX_BODY, admit=callers.read, answer=evaluate.answer),
        HotRoute(path="/session-start", max_body=api.MAX_BODY, admit=agents, answer=events.start),
        HotRoute(path="/session-end", max_body=api.MAX_BODY, admit=agents, answer=events.end),
        HotRoute(path="/post-tool-use", max_body=api.MAX_BODY, admit=agents, answer=events.tool_used, with_result=True),
    ]
