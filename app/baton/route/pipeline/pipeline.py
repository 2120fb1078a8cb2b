"""Routes a prompt: runs the stages in their order, each within its budget, and records the outcome.

A stage that is late or breaks is absent and named in `degraded`; the others never wait for it longer than its budget.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.context.utilization.injections import Injections
from baton.engine.call.principal import Principal
from baton.events.emitting.emission import NO_EVENTS, Emitter
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import BatonError
from baton.people.permissions import require
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.decision import RouteOutcome
from baton.route.feedback.traces import RouteTraces, StoredTrace
from baton.route.pipeline.route_events import emit_route
from baton.route.pipeline.stage import Route, Stage
from baton.route.prompt import Prompt
from baton.sessions.service import Sessions

log = logging.getLogger(__name__)

WHOLE_S = 12.0
"""Longest that a prompt's routing may take, in seconds: the hooks wait for 14."""


class Routing:
    """The pipeline: groups of stages one after the other, the stages of a group at the same time.

    `unrouted` are the groups for prompts that are not routed.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Stage]],
        *,
        sessions: Sessions,
        traces: RouteTraces,
        counters: Counters,
        unrouted: Sequence[Sequence[Stage]] = (),
        expected: Sequence[Callable[[Principal, str, str], None]] = (),
        events: Emitter = NO_EVENTS,
        injections: Injections | None = None,
        is_on: Callable[[Principal, str], bool] = lambda _principal, _source: True,
    ) -> None:
        self.is_on = is_on
        """Whether a source of context is on for a principal."""
        self._injections = injections
        self._groups = groups
        self._unrouted = unrouted
        self._sessions = sessions
        self._traces = traces
        self._counters = counters
        self._expected = expected
        self._events = events

    def expect(self, principal: Principal, project: str, session_id: str) -> None:
        """Prepare for a caller's prompts in the background: a session of theirs has started."""
        for prepare in self._expected:
            prepare(principal, project, session_id)

    async def route(self, caller: Caller, event: HookEvent, prompt: Prompt) -> Route:
        """Route a prompt and record the outcome; the prompt itself only if the team keeps prompts.

        Raises:
            BatonError: If the request is at fault: an unknown roster, or an inline one that is wrong.
            Forbidden: If the role may not have prompts routed.
        """
        require(caller.principal, "routes.make")
        started = time.perf_counter()
        route = await self.answer(prompt)
        elapsed_us = int((time.perf_counter() - started) * 1e6)
        self._keep(prompt, route)
        self._sessions.prompted(caller, event, None if route.passed else _outcome(route, elapsed_us))
        self._counters.routed(route.tier, route.degraded)
        if not caller.disabled:
            self._note_injected(prompt, route)
            emit_route(self._events, caller.principal, event.session_id, route, elapsed_us / 1000)
        return route

    async def beside_routing(self, prompt: Prompt) -> Route:
        """Return what a prompt is told where prompts are not routed: what its team knows, and no agent."""
        route = await self._run_all(self._unrouted, prompt)
        self._note_injected(prompt, route)
        return route

    async def answer(self, prompt: Prompt) -> Route:
        """Run the stages."""
        return await self._run_all(self._groups, prompt)

    async def _run_all(self, groups: Sequence[Sequence[Stage]], prompt: Prompt) -> Route:
        route = Route(id=str(uuid7()))
        until = time.monotonic() + WHOLE_S
        for stages in groups:
            # A person may have switched off a stage that is a source of context.
            group = [one for one in stages if self.is_on(prompt.principal, one.name)]
            if len(group) == 1:
                await _run(group[0], prompt, route, until)
            else:
                await asyncio.gather(*(_run(stage, prompt, route, until) for stage in group))
        return route

    def _note_injected(self, prompt: Prompt, route: Route) -> None:
        """Note what was put into a person's prompt, so that its use is measured."""
        if self._injections is not None and not prompt.agent_id:
            self._injections.injected(prompt.principal, prompt.session_id, route.id, route.injected, prompt=prompt.text)

    def _keep(self, prompt: Prompt, route: Route) -> None:
        if route.trace is None:
            return
        principal = prompt.principal
        trace = StoredTrace(
            principal.user, principal.team, route.selected_agent, route.trace.agents, route.trace.features
        )
        self._traces.keep(principal.organisation, route.id, trace)


def _outcome(route: Route, elapsed_us: int) -> RouteOutcome:
    sections = {one.source for one in route.sections}
    return RouteOutcome(
        id=route.id,
        agent=route.selected_agent,
        tier=route.tier,
        told="agent" if "selection" in sections else "shortlist" if "candidates" in sections else "none",
        confidence=route.confidence,
        elapsed_us=elapsed_us,
        degraded=tuple(route.degraded),
    )


async def _run(stage: Stage, prompt: Prompt, route: Route, until: float) -> None:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(max(0.0, min(stage.budget_s, until - time.monotonic()))):
            await stage.run(prompt, route)
    except TimeoutError:
        route.degraded.append(stage.name)
        log.warning("routing's stage `%s` took longer than %.3f s", stage.name, stage.budget_s)
    except BatonError:  # the request is at fault, not the stage: the caller must hear of it
        raise
    except Exception:
        route.degraded.append(stage.name)
        log.exception("routing's stage `%s` failed", stage.name)
    route.timings_ms[stage.name] = round((time.perf_counter() - started) * 1000, 3)
