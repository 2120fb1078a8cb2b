"""Builds what agents wait for: decisions on their calls, their hooks, their sessions' events."""

import msgspec

from baton.clients.client_processes import ClientProcesses
from baton.clients.last_heard import ClientActivity
from baton.context.feature import ContextFeature
from baton.decide import api, hooks_api
from baton.decide.dry_run import DryRun
from baton.decide.dry_run_api import EvaluateEndpoint
from baton.decide.explanation import Explanations
from baton.decide.hooks import Hooks
from baton.decide.installation import Installation
from baton.decide.service import PreToolUse
from baton.decide.session_events_api import SessionEventsEndpoint
from baton.decide.start_patterns import StartPatterns
from baton.kernel.http.serving.hot_routes import HotRoute
from baton.kernel.kernel import Kernel
from baton.modes.service import Modes
from baton.people.callers import CallerReader
from baton.people.rate_limits import Limits
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


def build(
    kernel: Kernel,
    *,
    users: Users,
    policies: Policies,
    records: RecordsFeature,
    modes: Modes,
    sessions: SessionsFeature,
    routing: Routing,
    context: ContextFeature,
    is_worker: bool,
) -> DecideFeature:
    """Build the services. A worker's supervisor is a process of the server as well."""
    installation = Installation(kernel.settings, is_worker=is_worker)
    kernel.run(installation.run)
    pre_tool_use = PreToolUse(
        rate=sessions.rate,
        policies=policies,
        modes=modes,
        sessions=sessions.sessions,
        history=sessions.history,
        recorder=records.recorder,
        counters=records.counters,
        overrides=sessions.overrides,
        users=users,
        installation=installation,
        outcomes=sessions.outcomes,
    )
    start_patterns = StartPatterns(sessions.sessions, context.injection, context.injections, routing.is_on)
    hooks = Hooks(
        pre_tool_use=pre_tool_use,
        sessions=sessions.sessions,
        brackets=sessions.brackets,
        advice=sessions.advice,
        outcomes=sessions.outcomes,
        routing=routing,
        route_prompts=kernel.settings.route_prompts,
        start_patterns=start_patterns,
        advisories=context.advisories,
        injections=context.injections,
        compliance=context.compliance,
    )
    return DecideFeature(
        pre_tool_use=pre_tool_use,
        hooks=hooks,
        start_patterns=start_patterns,
        dry_run=DryRun(pre_tool_use, policies, records.replay, users),
        explanations=Explanations(records.decisions, policies, modes),
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
    limits: Limits,
) -> list[HotRoute]:
    """Return the endpoints that are dispatched ahead of FastAPI's router."""
    hooks = hooks_api.HooksEndpoint(
        callers, feature.hooks, records.counters, seen, processes, failures=records.hook_failures
    )
    calls = api.PreToolUseEndpoint(feature.pre_tool_use, seen)
    evaluate = EvaluateEndpoint(feature.dry_run, limits)
    events = SessionEventsEndpoint(
        sessions.sessions, sessions.outcomes, feature.start_patterns, context.compliance, context.injections
    )
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
