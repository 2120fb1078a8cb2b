"""The use case of each hook event of any client."""

import re
from collections.abc import Awaitable, Callable

import msgspec

from baton.clients.event import CONTEXT_LIMIT, EventName, HookAnswer, HookEvent
from baton.clients.registry import takes_context, words_of
from baton.context.advisories import HEADING as ADVISORIES
from baton.context.advisories import PromptAdvisories
from baton.context.compliance.service import Compliance
from baton.context.patterns.injection import PatternInjection
from baton.decide.approvals import Approvals
from baton.decide.prompt_texts import MOST_LINES, wanted
from baton.decide.service import PreToolUse
from baton.kernel.base.errors import BatonError
from baton.kernel.redis.client import RedisUnavailable
from baton.people.users import reach
from baton.route.pipeline.pipeline import Routing
from baton.route.prompt import Prompt
from baton.sessions.history import LateAdvice, Outcomes
from baton.sessions.service import Sessions, SessionStart
from baton.sessions.subagent_brackets import SubagentBrackets
from baton.shared.caller import Caller, as_call
from baton.shared.decided import Decision, answer_of

# The team's patterns for a starting session, besides the directives of the mode.

_BETWEEN = "\n\n"


class StartPatterns:
    """Adds patterns to the start of sessions."""

    def __init__(self, sessions: Sessions, injection: PatternInjection) -> None:
        self._sessions = sessions
        self._injection = injection

    async def add_to(self, started: SessionStart, caller: Caller, event: HookEvent) -> SessionStart:
        """Return a session's start with the team's patterns behind the directives, as far as the client passes them on."""
        principal = caller.principal
        if caller.disabled or not takes_context(event.client, "SessionStart"):
            return started
        call = await self._sessions.projects.placed(principal, as_call(caller, event))
        room = CONTEXT_LIMIT - len(started.context.encode("utf-8", "replace")) - len(_BETWEEN)
        patterns, missing = await self._injection.at_start(
            principal, event.session_id, call.project, source=event.source, room=room
        )
        return msgspec.structs.replace(
            started,
            context=_BETWEEN.join(filter(None, (started.context, patterns))),
            degraded=started.degraded + missing,
        )


_ON_BATON = "guardrails/baton-"
"""Rules that stop attempts on Baton itself."""
_UNASKED = " Nobody can be asked while a skill or a command is loaded: the person may run the line in a terminal."
LONGEST_WAIT_S = 540
_SHOWN = 200
"""Characters of a line that a reason shows."""


class HookOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an event, its decision if there is one, and the unavailable services."""

    answer: HookAnswer = HookAnswer()
    decision: Decision | None = None
    degraded: tuple[str, ...] = ()
    wants: str = ""
    """What the shim is to do besides: `agents`, `texts NAME ABOUT`, `wait SECONDS REQUEST` or `again`; "" for nothing."""


class Hooks:
    """Dispatches each event to its use case. An unknown event gets an answer without an opinion."""

    def __init__(
        self,
        *,
        pre_tool_use: PreToolUse,
        approvals: Approvals,
        sessions: Sessions,
        brackets: SubagentBrackets,
        advice: LateAdvice,
        outcomes: Outcomes,
        routing: Routing,
        route_prompts: bool,
        start_patterns: StartPatterns,
        advisories: PromptAdvisories,
        compliance: Compliance,
    ) -> None:
        self._compliance = compliance
        self._start_patterns = start_patterns
        self._advisories = advisories
        self._pre_tool_use = pre_tool_use
        self._approvals = approvals
        self._brackets = brackets
        self._advice = advice
        self._sessions = sessions
        self._outcomes = outcomes
        self._routing = routing
        self._route_prompts = route_prompts
        self._answers: dict[EventName, Callable[[Caller, HookEvent], Awaitable[HookOutcome]]] = {
            "PreSkillShellCommand": self._held_line,
            "UserPromptExpansion": self._expanded,
            "PermissionRequest": self._permission,
            "SessionStart": self._started,
            "SessionEnd": self._ended,
            "PostToolUse": self._finished,
            "PostToolUseFailure": self._finished,
            "PermissionDenied": self._finished,
            "UserPromptSubmit": self._told_with_prompt,
            "SubagentStart": self._subagent_started,
            "SubagentStop": self._stopped,
            "Stop": self._stopped,
        }

    async def wait(self, caller: Caller, about: str) -> HookOutcome:
        """Wait for a person's answer, as told by `wants`. With the answer, the shim asks about the call again."""
        seconds, _, request = about.partition(" ")
        limit = min(int(seconds), LONGEST_WAIT_S) if re.fullmatch("[0-9]{1,3}", seconds) else 0
        try:
            is_answered = await self._approvals.wait(caller.principal, request, limit)
        except BatonError:  # the shim keeps the refusal
            is_answered = False
        return HookOutcome(wants="again" if is_answered else "")

    async def handle(
        self, caller: Caller, event: HookEvent, *, again: bool = False, decision_id: str = ""
    ) -> HookOutcome:
        """Return the answer to one event; `again` and `decision_id` as in `PreToolUse.decide`."""
        unknown: tuple[str, ...] = ()
        if event.sign is not None:
            event, unknown = await self._brackets.place(caller.principal, event)
        if event.name == "PreToolUse":
            return await self._tool_call(caller, event, unknown, again=again, decision_id=decision_id)
        answer = self._answers.get(event.name)
        return HookOutcome() if answer is None else await answer(caller, event)

    async def _expanded(self, caller: Caller, event: HookEvent) -> HookOutcome:
        return HookOutcome(wants="" if caller.disabled else wanted(event))

    async def _ended(self, caller: Caller, event: HookEvent) -> HookOutcome:
        return HookOutcome(degraded=await self._sessions.end(caller, event))

    async def _told_with_prompt(self, caller: Caller, event: HookEvent) -> HookOutcome:
        self._outcomes.turn_ended(caller, event)
        notice = await self._outcomes.notice(caller.principal, event.session_id)
        return _with_notice(await self._prompted(caller, event), notice)

    async def _subagent_started(self, caller: Caller, event: HookEvent) -> HookOutcome:
        notice, degraded = await self._sessions.subagent_started(caller, event)
        return HookOutcome(answer=HookAnswer(system_message=notice), degraded=degraded)

    async def _started(self, caller: Caller, event: HookEvent) -> HookOutcome:
        started = await self._sessions.start(caller, event)
        await self._expect_prompts(caller, event)
        started = await self._start_patterns.add_to(started, caller, event)
        answer = HookAnswer(context=started.context, system_message=started.notice)
        return HookOutcome(answer=answer, degraded=started.degraded, wants="agents" if started.wants_agents else "")

    async def _tool_call(
        self, caller: Caller, event: HookEvent, unknown: tuple[str, ...], *, again: bool, decision_id: str
    ) -> HookOutcome:
        call = as_call(caller, event)
        decision = await self._pre_tool_use.decide(caller, call, degraded=unknown, again=again, decision_id=decision_id)
        answer = answer_of(decision.verdict)
        if event.sign is not None and answer.effect == "none":
            await self._brackets.started(caller.principal, event)
        elif event.sign is not None and decision.verdict.rule.startswith(_ON_BATON):
            await self._brackets.distrust(caller.principal, event)
        if answer.context and words_of(event.client).advice_after:
            self._advice.keep(caller.principal, call, answer.context)
        wants = decision.wants or ("" if caller.disabled or answer.effect == "deny" else wanted(event))
        return HookOutcome(answer=answer, decision=decision, degraded=decision.degraded, wants=wants)

    async def _held_line(self, caller: Caller, event: HookEvent) -> HookOutcome:
        """Decide a line of a skill or a command before the client runs it. It cannot ask."""
        call = await self._sessions.projects.placed(caller.principal, as_call(caller, event))
        decision = await self._pre_tool_use.decide(caller, call, is_held=True)
        verdict = decision.verdict
        answer = HookAnswer()
        if verdict.effect in ("deny", "ask"):
            answer = HookAnswer(effect="deny", reason=verdict.reason + (_UNASKED if verdict.effect == "ask" else ""))
        return HookOutcome(answer=answer, decision=decision, degraded=decision.degraded)

    async def texts(self, caller: Caller, event: HookEvent, name: str, lines: list[str]) -> HookOutcome:
        """Decide the lines of a skill or a command. The strictest verdict answers, and is recorded."""
        if caller.disabled:
            return HookOutcome()
        calls = [
            msgspec.structs.replace(
                as_call(caller, event), tool_input={"command": line}, tool_use_id=f"{event.tool_use_id}:text-{number}"
            )
            for number, line in enumerate(lines[:MOST_LINES])
        ]
        effects = [(await self._pre_tool_use.preview(caller, call, is_held=True)).effect for call in calls]
        worst = next((at for effect in ("deny", "ask") for at, found in enumerate(effects) if found == effect), None)
        if worst is None and len(lines) <= MOST_LINES:
            return HookOutcome()
        if worst is None:
            decision = None
            answer = HookAnswer(effect="ask", reason=f"✋ BATON: `{name}` has more shell lines than Baton reads.")
        else:
            call = await self._sessions.projects.placed(caller.principal, calls[worst])
            decision = await self._pre_tool_use.decide(caller, call, is_held=True)
            answer = answer_of(decision.verdict)
            shown = " ".join(lines[worst].split())[:_SHOWN]
            answer = HookAnswer(effect=answer.effect, reason=f"Loading `{name}` would run `{shown}`. {answer.reason}")
        if answer.effect == "ask" and event.name != "PreToolUse":
            answer = HookAnswer(effect="deny", reason=answer.reason + _UNASKED)
        return HookOutcome(answer=answer, decision=decision)

    async def _late_advice(self, caller: Caller, event: HookEvent) -> HookAnswer:
        if not words_of(event.client).advice_after or caller.disabled:
            return HookAnswer()
        return HookAnswer(context=await self._advice.take(caller.principal, as_call(caller, event)))

    async def _finished(self, caller: Caller, event: HookEvent) -> HookOutcome:
        outcome, missing = await self._outcomes.ended(caller, event)
        told = await self._changed(caller, event) if outcome == "changed_by_other" else ""
        if event.name != "PostToolUse":
            return HookOutcome(answer=HookAnswer(system_message=told), degraded=missing)
        missing = await self._sessions.tool_used(caller, event) + missing
        if not caller.disabled:
            self._compliance.submit(
                caller.principal, self._sessions.projects.place(caller.principal, as_call(caller, event))
            )
        answer = await self._late_advice(caller, event)
        if not caller.disabled and not event.agent_id and not takes_context(event.client, "UserPromptSubmit"):
            waiting, without = await self._waiting_advisories(caller, event)
            answer = HookAnswer(context="\n\n".join(filter(None, (answer.context, waiting))))
            missing += without
        return _with_notice(HookOutcome(answer=answer, degraded=tuple(dict.fromkeys(missing))), told)

    async def _changed(self, caller: Caller, event: HookEvent) -> str:
        """Judge the executed input again if it differs from the decided one. Return the notice to the person."""
        verdict = await self._pre_tool_use.preview(caller, as_call(caller, event))
        refused = verdict.effect in ("deny", "ask")
        self._outcomes.note_disobeyed(caller.principal, event, "changed_refused" if refused else "changed_by_other")
        judged = f" Baton would have stopped it: rule {verdict.rule}." if refused else ""
        return (
            f"Another hook or program changed a call of `{event.tool_name}` after Baton had decided it.{judged}"
            " `baton decisions --outcome changed_by_other` shows such calls."
        )

    async def _waiting_advisories(self, caller: Caller, event: HookEvent) -> tuple[str, tuple[str, ...]]:
        """Return the advisories for a client without prompt context, and the unavailable services."""
        try:
            text = await self._advisories.for_prompt(caller.principal, event.session_id)
        except RedisUnavailable:
            return "", ("advisories",)
        return (f"## {ADVISORIES}\n\n{text}" if text else ""), ()

    async def _stopped(self, caller: Caller, event: HookEvent) -> HookOutcome:
        self._outcomes.turn_ended(caller, event)
        if event.name == "SubagentStop":
            return HookOutcome(degraded=await self._sessions.subagent_stopped(caller, event))
        if not words_of(event.client).notice_at_end:  # it waits for the next prompt
            return HookOutcome()
        return _with_notice(HookOutcome(), await self._outcomes.notice(caller.principal, event.session_id))

    async def _expect_prompts(self, caller: Caller, event: HookEvent) -> None:
        if not caller.disabled and self._route_prompts and reach(caller.principal, "routes.make") is not None:
            call = await self._sessions.projects.placed(caller.principal, as_call(caller, event))
            self._routing.expect(caller.principal, call.project, event.session_id)

    async def _prompted(self, caller: Caller, event: HookEvent) -> HookOutcome:
        """Return the context for a prompt, or a local model's answer if the operator enables those."""
        if caller.disabled or reach(caller.principal, "routes.make") is None:
            self._sessions.prompted(caller, event)
            return HookOutcome()
        call = await self._sessions.projects.placed(caller.principal, as_call(caller, event))
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
        """Apply the rules' denials in a permission dialog. Leave everything else to the person."""
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
