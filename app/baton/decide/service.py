"""Decides one tool call: mode, history, rules, record. It renders nothing and never touches SQL."""

from time import perf_counter_ns

import msgspec
from uuid_utils import uuid7

from baton.decide.retries import Answers, unpack
from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts, RuleHit, Verdict
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.rules.context import Context
from baton.kernel.base import logs
from baton.kernel.base.call_rate import UNLIMITED, CallRate
from baton.kernel.base.caller import Caller
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import InForce, Policies
from baton.records.pipeline.building import decision_record
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.decision import Decision, ModeInForce
from baton.records.pipeline.recorder import Recorder
from baton.sessions.history import History, Prior, answer_key, name_of_call
from baton.sessions.overrides.service import Overrides
from baton.sessions.service import Sessions

RATE_RULE = "limits/rate"
"""The rule that a refusal for too many calls names."""


class PreToolUse:
    """The use case behind `/pre-tool-use` and each client's own PreToolUse event."""

    def __init__(
        self,
        *,
        policies: Policies,
        modes: Modes,
        sessions: Sessions,
        history: History,
        recorder: Recorder,
        counters: Counters,
        overrides: Overrides,
        users: Users,
        rate: CallRate = UNLIMITED,
    ) -> None:
        self._rate = rate
        self._counters = counters
        self._overrides = overrides
        self._users = users
        self._policies = policies
        self._modes = modes
        self._sessions = sessions
        self._history = history
        self._recorder = recorder
        self._answers = Answers()

    async def decide(self, caller: Caller, call: ToolCall) -> Decision:
        """Decide a call and record it; a retry (same `tool_use_id`) gets the answer that the first one got."""
        started = perf_counter_ns()
        principal = caller.principal
        name = name_of_call(call) if call.tool_use_id else b""
        key = (principal.organisation, principal.user, call.session_id, name)
        degraded: tuple[str, ...] = ()
        prior: Prior | None = None
        decision_id = str(uuid7())
        call = self._sessions.place(principal, call)
        project = call.project or call.project_root or call.cwd
        in_force = self._policies.find(principal, project) or await self._policies.prepare(principal, project)
        known = self._answers.find(key) if name else None
        if known is not None:
            return _again(known, caller, call, in_force)
        if call.session_id:
            try:
                prior = await self._history.begin(
                    principal, call, decision_id, name, editors=in_force.policies.needs_editors
                )
            except RedisUnavailable:
                degraded = ("history",)
        if prior is not None:
            if prior.retry:  # of a call that this process may have answered just now, or another one
                known = self._answers.find(key) if prior.answer is None else unpack(prior.answer)
                if known is not None:
                    return _again(known, caller, call, in_force)
            decision_id = prior.decision_id
            call = self._sessions.learn(principal, call, prior.place)
        logs.decision_id.set(decision_id)
        call = self._sessions.settle(call)
        if call.project != project:
            in_force = self._policies.find(principal, call.project) or await self._policies.prepare(
                principal, call.project
            )
        wait_ms = self._rate.take(principal) if prior is None else prior.wait_ms
        decision = self._judge(caller, call, in_force, decision_id, prior, degraded, started, wait_ms)
        answer = None
        if name and not wait_ms:  # a call that came too fast is decided when it comes again
            packed = self._answers.keep(key, decision)
            if packed is not None and prior is not None:
                answer = (answer_key(principal, call, name), packed)
        self._counters.decided(decision)
        prompt = self._kept_prompt(caller, call, in_force)
        self._recorder.put(decision_record(caller, call, decision, prompt=prompt), answer)
        return decision

    def _kept_prompt(self, caller: Caller, call: ToolCall, in_force: InForce) -> str:
        """Give what an agent is asked to do, if the caller's team keeps prompts."""
        if caller.disabled or not self._users.keeps_prompts(caller.principal.team):
            return ""
        prompt = call.tool_input.get("prompt") if call.tool_name in in_force.policies.config.agent_tools else ""
        return prompt if isinstance(prompt, str) else ""

    def _judge(
        self,
        caller: Caller,
        call: ToolCall,
        in_force: InForce,
        decision_id: str,
        prior: Prior | None,
        degraded: tuple[str, ...],
        started: int,
        wait_ms: int,
    ) -> Decision:
        mode = self._modes.effective(caller.principal, call.project, call.session_id)
        lifted = self._overrides.lifted(caller.principal, call.session_id)
        if caller.disabled:
            verdict = Verdict()
        elif wait_ms:
            verdict = _too_many(wait_ms)
        else:
            known = not degraded
            facts = Facts(
                call=call,
                level=mode.level if mode.enabled else "off",
                history=prior.prior if prior is not None else () if known else None,
                background_running=prior.background_running if prior is not None else 0 if known else None,
                other_editor=prior.other_editor if prior is not None else "" if known else None,
                principal=caller.principal,
                lifted=lifted,
            )
            verdict = evaluate(in_force.policies, facts)
        return Decision(
            id=decision_id,
            verdict=verdict,
            mode=ModeInForce(enabled=mode.enabled, level=mode.level, scope=mode.scope),
            revision=in_force.policies.revision,
            degraded=degraded + in_force.degraded + verdict.errors,
            elapsed_us=(perf_counter_ns() - started) // 1000,
            overridden=caller.disabled or (bool(lifted) and any(hit.effect == "lifted" for hit in verdict.hits)),
        )

    def facts_without_history(self, caller: Caller, call: ToolCall) -> Facts:
        """Gather the facts about a call as if it were the session's first; Redis is neither read nor written."""
        call = self._sessions.settle(self._sessions.place(caller.principal, call))
        mode = self._modes.effective(caller.principal, call.project, call.session_id)
        return Facts(call=call, level=mode.level if mode.enabled else "off", principal=caller.principal)

    async def preview(self, caller: Caller, call: ToolCall) -> Verdict:
        """Judge a call without recording it."""
        facts = self.facts_without_history(caller, call)
        return evaluate((await self._policies.prepare(caller.principal, facts.call.project)).policies, facts)


def _again(decision: Decision, caller: Caller, call: ToolCall, in_force: InForce) -> Decision:
    """Give an answer once more, with the reading of the command, which is not kept with it."""
    if caller.disabled:
        return decision
    shell = Context(in_force.policies, Facts(call=call)).shell
    return msgspec.structs.replace(decision, verdict=msgspec.structs.replace(decision.verdict, shell=shell))


def _too_many(wait_ms: int) -> Verdict:
    """Refuse a call of a user who makes too many; in words, as an agent that loops reads them."""
    return Verdict(
        effect="deny",
        rule=RATE_RULE,
        hits=(RuleHit(RATE_RULE, "deny"),),
        reason=(
            "Too many calls in a short time, as of an agent that goes round in circles. Stop and think about what the"
            f" last calls have shown; the next call is answered in {-(-wait_ms // 1000)} s."
        ),
    )
