"""The use case of each hook event, whatever client it comes from."""

import msgspec

from baton.clients.event import HookAnswer, HookEvent
from baton.context.advisories.advisory import HEADING as ADVISORIES
from baton.context.advisories.service import PromptAdvisories
from baton.context.compliance.service import Compliance
from baton.context.utilization.injections import Injections
from baton.decide.service import PreToolUse
from baton.decide.start_patterns import StartPatterns
from baton.engine.call.client_words import words_of
from baton.engine.call.verdict import Verdict
from baton.kernel.base.caller import Caller
from baton.kernel.redis.client import RedisUnavailable
from baton.people.permissions import reach
from baton.records.pipeline.decision import Decision
from baton.route.pipeline.pipeline import Routing
from baton.route.prompt import Prompt
from baton.sessions.late_advice import LateAdvice
from baton.sessions.outcomes import Outcomes
from baton.sessions.service import Sessions, as_call
from baton.sessions.subagent_brackets import SubagentBrackets
from baton.shared.client_abilities import takes_context


class HookOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an event, the decision behind it if there is one, and what was unavailable."""

    answer: HookAnswer = HookAnswer()
    decision: Decision | None = None
    degraded: tuple[str, ...] = ()
    wants_agents: bool = False
    """Whether the shim is to send which agents the client has."""


class Hooks:
    """Dispatch each event to its use case. An event that Baton does not know gets an answer without an opinion."""

    def __init__(
        self,
        *,
        pre_tool_use: PreToolUse,
        sessions: Sessions,
        brackets: SubagentBrackets,
        advice: LateAdvice,
        outcomes: Outcomes,
        routing: Routing,
        route_prompts: bool,
        start_patterns: StartPatterns,
        advisories: PromptAdvisories,
        injections: Injections,
        compliance: Compliance,
    ) -> None:
        self._compliance = compliance
        self._start_patterns = start_patterns
        self._advisories = advisories
        self._injections = injections
        self._pre_tool_use = pre_tool_use
        self._brackets = brackets
        self._advice = advice
        self._sessions = sessions
        self._outcomes = outcomes
        self._routing = routing
        self._route_prompts = route_prompts

    async def handle(self, caller: Caller, event: HookEvent) -> HookOutcome:
        """Return the answer to one event."""
        unknown: tuple[str, ...] = ()
        if event.sign is not None:
            event, unknown = await self._brackets.place(caller.principal, event)
        match event.name:
            case "PreToolUse":
                return await self._tool_call(caller, event, unknown)
            case "PermissionRequest":
                return await self._permission(caller, event)
            case "SessionStart":
                return await self._started(caller, event)
            case "SessionEnd":
                self._injections.turn_ended(caller.principal, event.session_id)
                return HookOutcome(degraded=await self._sessions.end(caller, event))
            case "PostToolUse" | "PostToolUseFailure" | "PermissionDenied":
                return await self._finished(caller, event)
            case "UserPromptSubmit":
                notice = await self._outcomes.notice(caller.principal, event.session_id)
                return _with_notice(await self._prompted(caller, event), notice)
            case "SubagentStart":
                notice, degraded = await self._sessions.subagent_started(caller, event)
                return HookOutcome(answer=HookAnswer(system_message=notice), degraded=degraded)
            case "SubagentStop" | "Stop":
                return HookOutcome(degraded=await self._stopped(caller, event))
            case _:
                return HookOutcome()

    async def _started(self, caller: Caller, event: HookEvent) -> HookOutcome:
        started = await self._sessions.start(caller, event)
        await self._expect_prompts(caller, event)
        started = await self._start_patterns.add_to(started, caller, event)
        answer = HookAnswer(context=started.context, system_message=started.notice)
        return HookOutcome(answer=answer, degraded=started.degraded, wants_agents=started.wants_agents)

    async def _tool_call(self, caller: Caller, event: HookEvent, unknown: tuple[str, ...]) -> HookOutcome:
        call = as_call(caller, event)
        decision = await self._pre_tool_use.decide(caller, call, degraded=unknown)
        answer = answer_of(decision.verdict)
        if event.sign is not None and answer.effect == "none":
            await self._brackets.started(caller.principal, event)
        if answer.context and words_of(event.client).advice_after:
            self._advice.keep(caller.principal, call, answer.context)
        return HookOutcome(answer=answer, decision=decision, degraded=decision.degraded)

    async def _late_advice(self, caller: Caller, event: HookEvent) -> HookAnswer:
        if not words_of(event.client).advice_after or caller.disabled:
            return HookAnswer()
        return HookAnswer(context=await self._advice.take(caller.principal, as_call(caller, event)))

    async def _finished(self, caller: Caller, event: HookEvent) -> HookOutcome:
        missing = await self._outcomes.ended(caller, event)
        if not caller.disabled:
            self._injections.used(caller.principal, event.session_id, event.tool_input)
        if event.name != "PostToolUse":
            return HookOutcome(degraded=missing)
        missing = await self._sessions.tool_used(caller, event) + missing
        if not caller.disabled:
            self._compliance.submit(caller.principal, self._sessions.place(caller.principal, as_call(caller, event)))
        answer = await self._late_advice(caller, event)
        if not caller.disabled and not event.agent_id and not takes_context(event.client, "UserPromptSubmit"):
            waiting, without = await self._waiting_advisories(caller, event)
            answer = HookAnswer(context="\n\n".join(filter(None, (answer.context, waiting))))
            missing += without
        return HookOutcome(answer=answer, degraded=tuple(dict.fromkeys(missing)))

    async def _waiting_advisories(self, caller: Caller, event: HookEvent) -> tuple[str, tuple[str, ...]]:
        """Return the advisories for a client that takes no context with a prompt; and what was unavailable."""
        try:
            text = await self._advisories.for_prompt(caller.principal, event.session_id)
        except RedisUnavailable:
            return "", ("advisories",)
        return (f"## {ADVISORIES}\n\n{text}" if text else ""), ()

    async def _stopped(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        self._outcomes.turn_ended(caller, event)
        if event.name == "Stop":
            self._injections.turn_ended(caller.principal, event.session_id)
        return await self._sessions.subagent_stopped(caller, event) if event.name == "SubagentStop" else ()

    async def _expect_prompts(self, caller: Caller, event: HookEvent) -> None:
        if not caller.disabled and self._route_prompts and reach(caller.principal, "routes.make") is not None:
            call = await self._sessions.placed(caller.principal, as_call(caller, event))
            self._routing.expect(caller.principal, call.project, event.session_id)

    async def _prompted(self, caller: Caller, event: HookEvent) -> HookOutcome:
        """Return the context for a prompt, or a local model's answer in the agent's place where the operator wants that."""
        if caller.disabled or reach(caller.principal, "routes.make") is None:
            self._sessions.prompted(caller, event)
            return HookOutcome()
        call = await self._sessions.placed(caller.principal, as_call(caller, event))
        prompt = Prompt(
            text=event.prompt,
            principal=caller.principal,
            client=event.client,
            session_id=event.session_id,
            agent_id=event.agent_id
            or self._sessions.delegation_reason(caller.principal, call.project, event.session_id),
            project=call.project,
        )
        if not self._route_prompts:
            self._sessions.prompted(caller, event)
            known = await self._routing.beside_routing(prompt)
            return HookOutcome(answer=HookAnswer(context=known.additional_context), degraded=tuple(known.degraded))
        agents, agents_missing = await self._sessions.inventory_for_prompt(
            caller.principal, event.session_id, event.client, call.project
        )
        prompt = msgspec.structs.replace(prompt, agents=agents, agents_missing=agents_missing)
        route = await self._routing.route(caller, event, prompt)
        degraded = tuple(route.degraded)
        if route.local_answer is not None and route.local_answer.bypass:
            return HookOutcome(answer=HookAnswer(effect="deny", reason=route.local_answer.text), degraded=degraded)
        return HookOutcome(answer=HookAnswer(context=route.additional_context), degraded=degraded)

    async def _permission(self, caller: Caller, event: HookEvent) -> HookOutcome:
        """Deny in a permission dialog what the rules deny; leave everything else to the person."""
        if caller.disabled:
            return HookOutcome()
        verdict = await self._pre_tool_use.preview(caller, as_call(caller, event))
        if verdict.effect == "deny":
            return HookOutcome(answer=answer_of(verdict))
        self._sessions.waits(caller, event)
        return HookOutcome()


def _with_notice(outcome: HookOutcome, notice: str) -> HookOutcome:
    if not notice:
        return outcome
    answer = msgspec.structs.replace(
        outcome.answer, system_message=" ".join(filter(None, (outcome.answer.system_message, notice)))
    )
    return msgspec.structs.replace(outcome, answer=answer)


def answer_of(verdict: Verdict) -> HookAnswer:
    """Return a verdict as a hook's answer. An allow becomes no opinion: it must not skip the client's own prompt."""
    softened = any(hit.effect == "guidance" for hit in verdict.hits)
    context = "\n".join(filter(None, (verdict.guidance, verdict.suggestion))) if softened else ""
    return HookAnswer(
        effect=verdict.effect if verdict.effect in ("deny", "ask") else "none",
        reason=verdict.reason,
        updated_input=verdict.updated_input,
        context=context,
        system_message=verdict.notice,
    )
