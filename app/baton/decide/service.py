"""The decision on one tool call, in five steps: place, retry, history, judge, record."""

from time import perf_counter_ns

import msgspec
from uuid_utils import uuid7

from baton.decide.installation import Installation
from baton.decide.retries import CallKey, RecentAnswers
from baton.engine.agents.rosters import agent_name
from baton.engine.call.agent_model import OwnAgent
from baton.engine.call.call import ToolCall
from baton.engine.call.modes import Mode
from baton.engine.call.verdict import Facts, Level, RuleHit, Verdict
from baton.engine.policy.evaluate import evaluate
from baton.kernel.base import logs, trace
from baton.kernel.base.call_rate import UNLIMITED, CallRate
from baton.kernel.base.caller import Caller
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import InForce, Policies
from baton.records.pipeline.building import DecidedCall
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.decision import Decision, ModeInForce
from baton.records.pipeline.recorder import Recorder
from baton.sessions.history import History, Prior, name_of_call
from baton.sessions.outcomes import Outcomes
from baton.sessions.overrides.service import Overrides
from baton.sessions.service import Sessions

RATE_RULE = "limits/rate"
"""The rule that a refusal for too many calls names."""


class Case(msgspec.Struct, kw_only=True):
    """One call on its way through the steps.

    `named` is the project that the client named, "" for none: the session may be pinned to another one.
    `key` names the call for retries; its last part is empty for a call without a `tool_use_id`, which has none.
    `prior` is None while the history is not read, or cannot be.
    """

    caller: Caller
    call: ToolCall
    named: str
    key: CallKey
    in_force: InForce
    decision_id: str
    started_ns: int
    prior: Prior | None = None
    own_agent: OwnAgent | None = None
    degraded: tuple[str, ...] = ()

    @property
    def can_be_retried(self) -> bool:
        """Whether the client named the call, so that a second request can be told from a second call."""
        return self.key[-1] != b""


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
        installation: Installation,
        outcomes: Outcomes,
        rate: CallRate = UNLIMITED,
    ) -> None:
        self._policies = policies
        self._modes = modes
        self._sessions = sessions
        self._history = history
        self._recorder = recorder
        self._counters = counters
        self._installation = installation
        self._outcomes = outcomes
        self._overrides = overrides
        self._users = users
        self._rate = rate
        self._answers = RecentAnswers()

    async def decide(self, caller: Caller, call: ToolCall, degraded: tuple[str, ...] = ()) -> Decision:
        """Decide a call and record the decision. A retry gets the answer of the first attempt and is not counted.

        `degraded` is what was unavailable when the call was read.
        """
        case = await self._place(caller, call)
        case.degraded = degraded
        answered = self._retry(case) or await self._read_history(case)
        if answered is not None:
            return answered
        if case.call.tool_name in case.in_force.policies.agent_tools:
            await self._read_agent(case)
        decision = self._judge(case)
        self._record(case, decision)
        return decision

    async def preview(self, caller: Caller, call: ToolCall) -> Verdict:
        """Judge a call without reading its history and without a record."""
        facts = await self.facts_without_history(caller, call)
        return evaluate((await self._policies.prepare(caller.principal, facts.call.project)).policies, facts)

    async def facts_without_history(self, caller: Caller, call: ToolCall) -> Facts:
        """Return the facts about a call as if it were its session's first. Nothing is written to Redis."""
        call = await self._sessions.placed(caller.principal, call)
        mode = self._modes.effective(caller.principal, call.project, call.session_id)
        name = agent_name(call.tool_input)
        agents, _ = (
            await self._sessions.inventory(caller.principal, call.session_id, call.client, call.project)
            if name
            else (None, False)
        )
        return Facts(
            call=call,
            own_agent=agents.find(name) if agents and name else None,
            level=mode.level if mode.enabled and not caller.mode_off else "off",
            principal=caller.principal,
            installed=self._installation.of(caller.installed),
            accepts_rewrites=caller.accepts_rewrites,
        )

    async def _place(self, caller: Caller, call: ToolCall) -> Case:
        """Step 1: find the project that the call's session is pinned to, and the policies in force there."""
        started = perf_counter_ns()
        principal = caller.principal
        named = call.project
        call = self._sessions.place(principal, call)
        return Case(
            caller=caller,
            call=call,
            named=named,
            key=(
                principal.organisation,
                principal.user,
                call.session_id,
                name_of_call(call) if call.tool_use_id else b"",
            ),
            in_force=await self._policies_for(caller, call.project),
            decision_id=str(uuid7()),
            started_ns=started,
        )

    def _retry(self, case: Case) -> Decision | None:
        """Step 2: return the answer that this process has given to the same call, if it has."""
        return self._answers.find(case.key) if case.can_be_retried else None

    async def _read_history(self, case: Case) -> Decision | None:
        """Step 3: read what the session did before, and append the call to it, in one Redis trip.

        Return the answer of an earlier attempt that was given during that trip. Without Redis the call is decided
        without a history, and `degraded` says so.
        """
        principal = case.caller.principal
        before = case.call.project
        if case.call.session_id:
            try:
                case.prior = await self._history.begin(
                    principal,
                    case.call,
                    case.decision_id,
                    case.key[-1],
                    entry=case.in_force.policies.history_name(case.call),
                    other=case.named,
                    editors=case.in_force.policies.needs_editors,
                )
            except RedisUnavailable:
                case.degraded = (*case.degraded, "history")
        prior = case.prior
        if prior is not None:
            if prior.retry and (known := self._answers.find(case.key)) is not None:
                return known
            case.decision_id = prior.decision_id
            case.call = self._sessions.learn(principal, case.call, prior.place)
        logs.decision_id.set(case.decision_id)
        if case.call.project != before:  # the session started on another server, and Redis knew its project
            case.in_force = await self._policies_for(case.caller, case.call.project)
        if case.named and case.named != case.call.project:
            case.degraded = (*case.degraded, "project")
        return None

    async def _read_agent(self, case: Case) -> None:
        """Read what the file of the agent says that the call starts; only such calls look it up, mostly in memory."""
        case.own_agent, missing = await self._sessions.own_agent(case.caller.principal, case.call, case.prior)
        if missing:
            case.degraded = (*case.degraded, "agents")

    def _judge(self, case: Case) -> Decision:
        """Step 4: ask the rules, under the mode and the overrides that hold now."""
        caller, call, prior = case.caller, case.call, case.prior
        principal = caller.principal
        mode = self._modes.effective(principal, call.project, call.session_id)
        switched_off = caller.mode_off and mode.enabled
        if switched_off:
            mode = Mode()
        elif mode.auto_activated:
            self._sessions.note_mode(principal, call.project, call.session_id, mode)
        lifted = self._overrides.lifted(principal, call.session_id)
        wait_ms = self._rate.take(principal) if prior is None else prior.wait_ms
        if caller.disabled:
            verdict = Verdict()
        elif wait_ms:
            verdict = _too_many(wait_ms)
        else:
            verdict = evaluate(
                case.in_force.policies,
                _facts(case, mode.level if mode.enabled else "off", lifted, self._installation.of(caller.installed)),
            )
        return Decision(
            id=case.decision_id,
            verdict=verdict,
            mode=ModeInForce(enabled=mode.enabled, level=mode.level, scope=mode.scope),
            revision=case.in_force.policies.revision,
            degraded=case.degraded + case.in_force.degraded + verdict.errors,
            elapsed_us=(perf_counter_ns() - case.started_ns) // 1000,
            overridden=caller.disabled
            or switched_off
            or (bool(lifted) and any(hit.effect == "lifted" for hit in verdict.hits)),
        )

    def _record(self, case: Case, decision: Decision) -> None:
        """Step 5: count the decision and queue it to be recorded; the answer is kept for retries."""
        started = _started_agent(case, decision.verdict)
        # A call that came too fast gets no kept answer: it is decided when it comes again.
        if case.can_be_retried and decision.verdict.rule != RATE_RULE:
            self._answers.keep(case.key, case.call, decision)
        # Whoever answered the first attempt has counted it; they may have been killed before they recorded it, and a
        # record with the same id is stored once.
        if case.prior is None or not case.prior.retry:
            self._counters.decided(decision)
            if started and decision.verdict.effect != "deny" and case.call.session_id:
                # An agent that starts without this was started behind Baton's back.
                self._sessions.announced(case.caller.principal, case.call.session_id, started)
        self._outcomes.watch(case.caller.principal, case.call, decision.verdict)
        self._recorder.put(
            DecidedCall(
                caller=case.caller,
                call=case.call,
                decision=decision,
                prompt=self._kept_prompt(case),
                started=started,
                traceparent=trace.parent.get(),
            )
        )

    async def _policies_for(self, caller: Caller, project: str) -> InForce:
        # `find` answers from memory; only the first call of a combination of layers waits for `prepare`.
        return self._policies.find(caller.principal, project) or await self._policies.prepare(caller.principal, project)

    def _kept_prompt(self, case: Case) -> str:
        """Return what a sub-agent is asked to do if the caller's team keeps prompts, else ""."""
        if case.caller.disabled or not self._users.keeps_prompts(case.caller.principal.team):
            return ""
        call = case.call
        prompt = call.tool_input.get("prompt") if call.tool_name in case.in_force.policies.config.agent_tools else ""
        return prompt if isinstance(prompt, str) else ""


def _started_agent(case: Case, verdict: Verdict) -> str:
    """Return the agent that a call starts, "" for none."""
    if case.call.tool_name not in case.in_force.policies.agent_tools:
        return ""
    return agent_name(verdict.updated_input or case.call.tool_input) or ""


def _facts(case: Case, level: Level, lifted: frozenset[str], installed: str) -> Facts:
    """Return what the rules may ask about. Without Redis, history is unknown (None), which is not the same as empty."""
    prior = case.prior
    known = "history" not in case.degraded
    return Facts(
        call=case.call,
        level=level,
        history=prior.prior if prior is not None else () if known else None,
        background_running=prior.background_running if prior is not None else 0 if known else None,
        other_editor=prior.other_editor if prior is not None else "" if known else None,
        principal=case.caller.principal,
        lifted=lifted,
        installed=installed,
        accepts_rewrites=case.caller.accepts_rewrites,
        own_agent=case.own_agent,
    )


def _too_many(wait_ms: int) -> Verdict:
    """Refuse a call of a user who makes too many."""
    return Verdict(
        effect="deny",
        rule=RATE_RULE,
        hits=(RuleHit(RATE_RULE, "deny"),),
        reason=(
            f"Too many tool calls; you may be in a loop. Wait {-(-wait_ms // 1000)} s, and look at the last results"
            " before the next call."
        ),
    )
