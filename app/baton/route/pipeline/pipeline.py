"""Routes a prompt: runs the stages in their order, each within its budget, and records the outcome.

A late or failed stage is left out and named in `degraded`; the others never wait for it longer than its budget.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.events.emission import NO_EVENTS, Emitter
from baton.events.payloads import RoutingCandidate, RoutingDecision
from baton.kernel.base.errors import BatonError
from baton.people.users import require
from baton.records.pipeline.recorder import Counters, RouteOutcome
from baton.route.feedback.service import RouteTraces, StoredTrace
from baton.route.pipeline.stage import Route, Stage
from baton.route.prompt import Prompt
from baton.rules.call.call import Principal
from baton.sessions.service import Sessions
from baton.shared.caller import Caller

# The event of a routed prompt.


def emit_route(events: Emitter, principal: Principal, session_id: str, route: Route) -> None:
    """Emit how a prompt was routed."""
    if route.passed:
        return
    decided = RoutingDecision(
        session_id=session_id,
        correlation_id=route.id,
        route_id=route.id,
        selected_agent=route.selected_agent,
        confidence=route.confidence,
        method=route.tier,
        candidates=tuple(RoutingCandidate(agent=one.name, score=one.score) for one in route.candidates),
        latency_ms=route.timings_ms.get("select", 0.0),
        degraded=tuple(route.degraded),
    )
    events.emit(principal, decided)


log = logging.getLogger(__name__)

WHOLE_S = 12.0  # longest that a prompt's routing may take, in seconds: the hooks wait for 14


class Routing:
    """The pipeline: groups of stages one after the other, the stages of a group at the same time.

    `unrouted` are the groups for prompts without routing.
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
    ) -> None:
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
        """Route a prompt and record the outcome. The prompt itself is recorded only if the team keeps prompts.

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
            emit_route(self._events, caller.principal, event.session_id, route)
        return route

    async def beside_routing(self, prompt: Prompt) -> Route:
        """Return the context of an unrouted prompt: its team's knowledge, and no agent."""
        return await self._run_all(self._unrouted, prompt)

    async def answer(self, prompt: Prompt) -> Route:
        """Run the stages."""
        return await self._run_all(self._groups, prompt)

    async def _run_all(self, groups: Sequence[Sequence[Stage]], prompt: Prompt) -> Route:
        route = Route(id=str(uuid7()))
        until = time.monotonic() + WHOLE_S
        for group in groups:
            if len(group) == 1:
                await _run(group[0], prompt, route, until)
            else:
                await asyncio.gather(*(_run(stage, prompt, route, until) for stage in group))
        return route

    def _keep(self, prompt: Prompt, route: Route) -> None:
        principal = prompt.principal
        if not route.passed:
            trace = StoredTrace(principal.user, principal.team, route.selected_agent)
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
