"""The decision on one tool call, in five steps: place, retry, history, judge, record."""

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec
import psutil
from uuid_utils import uuid7

from baton.decide.approvals import Approvals
from baton.kernel.base import logs, trace
from baton.kernel.base.call_rate import UNLIMITED, CallRate
from baton.kernel.base.pause import pause
from baton.kernel.base.settings import Settings
from baton.kernel.redis.client import RedisUnavailable
from baton.machines.session_projects import SessionProject, settled
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import InForce, Policies
from baton.records.pipeline.recorder import Counters, Recorder
from baton.rules.agents.rosters import agent_name
from baton.rules.call.call import OwnAgent, ToolCall
from baton.rules.call.modes import Mode
from baton.rules.call.verdict import Facts, RuleHit, Verdict
from baton.rules.policy.evaluate import evaluate, is_refused, refused_within, started_agent, with_id
from baton.rules.policy.matching.context import Context
from baton.sessions.exceptions.service import Exceptions
from baton.sessions.history import History, Outcomes, Prior, name_of_call
from baton.sessions.service import Sessions
from baton.shared import packaged
from baton.shared.caller import Caller
from baton.shared.decided import DecidedCall, Decision, ModeInForce
from baton.shared.person_socket import person_socket

# The installed paths: this server's own, and a caller's as reported by its shim. Both only add to the paths in
# config.yaml.

FIRST_S = 0.1
REFRESH_S = 15.0
"""Seconds between looks at the server's own processes: Valkey, the drain and workers are started anew when they die."""
_MOST_CALLERS = 1_024


class Installation:
    """The installed paths as in `verdict.Facts`, for each set of paths of a machine."""

    def __init__(self, settings: Settings, *, is_worker: bool) -> None:
        self._paths = _own_paths(settings)
        self._is_worker = is_worker
        self._known: dict[tuple[str, ...], str] = {}
        self._own = ""
        self._ports: frozenset[int] = frozenset()
        self._is_settled = False
        """Whether all ports are bound: finding them takes longer the more connections there are."""
        self.refresh()

    async def run(self, stop: asyncio.Event) -> None:
        """Look at the server's processes now and then. The port is bound once the server listens, right after the start."""
        wait = FIRST_S  # it grows, so this is no periodic task
        while not stop.is_set():
            await pause(stop, wait)
            await asyncio.to_thread(self.refresh)
            wait = min(wait * 2, REFRESH_S)
            self._is_settled = wait == REFRESH_S and self._ports != frozenset()

    def refresh(self) -> None:
        """Look at the server's processes again."""
        own = "\n".join([*self._paths, *(f"process\t{number}" for number in self._numbers())])
        if own != self._own:
            self._own = own
            self._known.clear()

    def with_paths(self, elsewhere: tuple[str, ...]) -> str:
        """Return the installation, with the caller's own paths."""
        known = self._known.get(elsewhere)
        if known is None:
            known = "\n".join([self._own, *(f"hook_settings\t{path}" for path in elsewhere)])
            if len(self._known) >= _MOST_CALLERS:
                self._known.clear()
            self._known[elsewhere] = known
        return known

    def _numbers(self) -> list[int]:
        """Return the port and the processes of this server, sorted, so that equal ones give the same text."""
        own = psutil.Process()
        found = {own.pid}
        with contextlib.suppress(psutil.Error):  # one of them has just ended
            if not self._is_settled:
                listening = (one for one in own.net_connections("tcp") if one.status == psutil.CONN_LISTEN)
                self._ports = frozenset(one.laddr.port for one in listening)
            found |= self._ports
            top = psutil.Process(os.getppid()) if self._is_worker else own
            found |= {top.pid, *(child.pid for child in top.children(recursive=True))}
        return sorted(found)


def _own_paths(settings: Settings) -> list[str]:
    package = Path(__file__).resolve().parents[1]
    hooks = packaged.folder("hooks")
    # Run from a checkout, its top is passed: a developer of Baton itself has asked to change these files.
    checkout = "" if hooks.is_relative_to(package) else str(hooks.parent)
    home, policies = settings.home.resolve(), settings.policies.resolve()
    found = [("baton_home", home, ""), ("hook_settings", package, checkout), ("hook_settings", hooks, checkout)]
    found.append(("hook_settings", packaged.folder("policies"), checkout))
    found.append(("hook_settings", person_socket(settings.port).parent, ""))
    if not policies.is_relative_to(home):
        found.append(("hook_settings", policies, checkout))
    if sys.prefix != sys.base_prefix:
        found.append(("hook_settings", Path(sys.prefix), checkout))
    return ["\t".join(filter(None, (place, str(path), top))) for place, path, top in found if "\n" not in str(path)]


# The latest answers of this process, for retries.
#
# A retry unknown here is decided again on its prior calls in Redis, under its first id.

REMEMBERED = 2_048
"""Answers that a process keeps, so that retries are answered even while Redis is unavailable."""
LONGEST = 8_000
"""Characters of a command, or of a rewritten input, whose answer is kept: a kept answer holds its reading, or it."""

CallKey = tuple[str, str, str, bytes]
"""Organisation, user, session, and the name of the call; b"" for a call that the client did not name."""


class RecentAnswers:
    """The latest answers by call."""

    def __init__(self) -> None:
        self._answers: OrderedDict[CallKey, Decision] = OrderedDict()

    def find(self, key: CallKey) -> Decision | None:
        """Return the answer to an earlier call; None if it is unknown here."""
        return self._answers.get(key)

    def keep(self, key: CallKey, call: ToolCall, decision: Decision) -> None:
        """Keep an answer, unless it may be large."""
        rewritten = decision.verdict.updated_input
        held = _length(call.tool_input.get("command")) if rewritten is None else sum(map(_length, rewritten.values()))
        if held > LONGEST:
            return
        self._answers[key] = decision
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)


def _length(value: object) -> int:
    """Return a value's length. A nested value counts as too long."""
    if isinstance(value, str):
        return len(value)
    return LONGEST + 1 if isinstance(value, dict | list) else 0


RATE_RULE = "limits/rate"
"""The rule that a refusal for too many calls names."""


class CallCase(msgspec.Struct, kw_only=True):
    """One call on its way through the steps.

    `named` is the client's project, "" for none: the session may be pinned to another one. `pin` is what this process
    knows of that. `entry` is the call's name in the session's history.
    `key` names the call for retries; its last part is empty for a call without a `tool_use_id`, which has none.
    `prior` is None if the history is unread or unavailable. `is_held` marks a line of a skill or a command, run by the
    client: no mode applies to it, and it is no part of the agent's history. `once` are the exceptions for once by rule,
    `spent` the rules whose exception was used up before. `facts` and `context` are those without the history.
    """

    caller: Caller
    call: ToolCall
    named: str
    pin: SessionProject | None
    key: CallKey
    in_force: InForce
    decision_id: str
    started_ns: int
    entry: str = ""
    prior: Prior | None = None
    own_agent: OwnAgent | None = None
    degraded: tuple[str, ...] = ()
    is_held: bool = False
    once: Mapping[str, str] = {}
    spent: frozenset[str] = frozenset()
    mode: Mode = Mode()
    is_switched_off: bool = False
    facts: Facts | None = None
    context: Context | None = None


class PreToolUse:
    """The use case behind `/pre-tool-use` and each client's own PreToolUse event."""

    def __init__(
        self,
        *,
        policies: Policies,
        modes: Modes,
        freezes: Freezes,
        approvals: Approvals,
        sessions: Sessions,
        history: History,
        recorder: Recorder,
        counters: Counters,
        exceptions: Exceptions,
        users: Users,
        installation: Installation,
        outcomes: Outcomes,
        rate: CallRate = UNLIMITED,
    ) -> None:
        self._policies = policies
        self._modes = modes
        self._freezes = freezes
        self._approvals = approvals
        self._sessions = sessions
        self._history = history
        self._recorder = recorder
        self._counters = counters
        self._installation = installation
        self._outcomes = outcomes
        self._exceptions = exceptions
        self._users = users
        self._rate = rate
        self._answers = RecentAnswers()

    async def decide(
        self,
        caller: Caller,
        call: ToolCall,
        degraded: tuple[str, ...] = (),
        *,
        is_held: bool = False,
        again: bool = False,
        decision_id: str = "",
    ) -> Decision:
        """Decide a call and record the decision. A retry gets the first attempt's answer and is not counted.

        `degraded` lists the services unavailable while the call was read. `again`: a person has answered about the call
        meanwhile, so it is no retry. `decision_id` is the id that the caller's relay would give its own decision.
        """
        case = await self._place(caller, call)
        case.decision_id = decision_id or case.decision_id
        if again:
            case.key = (*case.key[:3], case.key[3] and case.key[3] + b" again")
        case.degraded = degraded
        case.is_held = is_held
        answered = self._answers.find(case.key) or (None if is_held else await self._read_history(case))
        if answered is not None:
            return answered
        if case.call.tool_name in case.in_force.policies.agent_tools:
            await self._read_agent(case)
        decision = await self._spend(case, self._judge(case))
        if decision.verdict.effect == "ask" and not is_held:
            decision = await self._weigh_request(case, decision)
        prior = case.prior
        noted = prior.is_kept_out if prior is not None and not (prior.retry or prior.wait_ms) else None
        refused = is_refused(call.client, decision.verdict.effect)
        if noted is not None and noted is not refused:
            # A refused call did not run: in the history it would lead to further refusals. One with an approval may run.
            self._history.correct(caller.principal, case.call, case.entry, refused=refused)
            noted = noted or refused
        self._record(case, decision, noted=noted)
        return decision

    async def _spend(self, case: CallCase, decision: Decision) -> Decision:
        """Use up the exceptions for once that let the call pass; without one that another call has used, judge again."""
        hits = decision.verdict.hits if case.once and decision.verdict.effect != "deny" else ()
        used = {hit.id: case.once[hit.id] for hit in hits if hit.effect == "lifted" and hit.id in case.once}
        if not used:
            return decision
        case.spent = await self._exceptions.spend(case.caller.principal, case.decision_id, used)
        return self._judge(case) if case.spent else decision

    async def _weigh_request(self, case: CallCase, decision: Decision) -> Decision:
        """Turn a question into an approval request, if the client cannot show it or it is for another person."""
        weighed, wants = await self._approvals.weigh(
            case.caller.principal, case.call, decision.verdict, case.in_force.policies
        )
        passes = weighed.effect == "abstain"
        return msgspec.structs.replace(decision, verdict=weighed, overridden=decision.overridden or passes, wants=wants)

    async def preview(self, caller: Caller, call: ToolCall, *, is_held: bool = False) -> Verdict:
        """Judge a call under the exceptions in force, without reading its history and without a record."""
        facts = await self.facts_without_history(caller, call)
        policies = (await self._policies.prepare(caller.principal, facts.call.project)).policies
        lifted = self._exceptions.lifted(caller.principal, facts.call, policies, used=True)
        level = "off" if is_held else facts.level
        return evaluate(policies, msgspec.structs.replace(facts, lifted=frozenset(lifted), level=level))

    async def facts_without_history(self, caller: Caller, call: ToolCall) -> Facts:
        """Return the facts about a call as if it were its session's first. Nothing is written to Redis."""
        call = await self._sessions.projects.placed(caller.principal, call)
        mode = self._modes.effective(caller.principal, call.project, call.session_id)
        name = agent_name(call.tool_input, call.client)
        agents, _ = (
            await self._sessions.inventory(caller.principal, call.session_id, call.client, call.project)
            if name
            else (None, False)
        )
        return Facts(
            call=call,
            own_agent=agents.agent(name) if agents and name else None,
            level=mode.level if mode.enabled and not caller.mode_off else "off",
            principal=caller.principal,
            freeze=self._freezes.in_force(caller.principal, call.project, call.session_id),
            installed=self._installation.with_paths(caller.installed),
            accepts_rewrites=caller.accepts_rewrites,
        )

    async def _place(self, caller: Caller, call: ToolCall) -> CallCase:
        """Step 1: find the session's pinned project, and the policies in force there."""
        started = perf_counter_ns()
        principal = caller.principal
        named = call.project
        pin = self._sessions.projects.known(principal, call.session_id)
        call = settled(call, pin)
        return CallCase(
            caller=caller,
            call=call,
            named=named,
            pin=pin,
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

    async def _read_history(self, case: CallCase) -> Decision | None:
        """Step 2: read the session's history, and append the call to it, in one Redis trip.

        Return the answer of an earlier attempt given during that trip. Without Redis the call is decided without a
        history, and `degraded` says so.
        """
        principal = case.caller.principal
        before = case.call.project
        if case.call.session_id:
            policies, case.facts = case.in_force.policies, self._facts(case)
            case.context = Context(policies, case.facts)
            case.entry = policies.history_name(case.context)
            is_placed = case.pin is not None
            can_keep = (is_placed or case.call.project_root) and not case.caller.disabled
            within = refused_within(case.context) if can_keep else None
            try:
                case.prior = await self._history.begin(
                    principal,
                    case.call,
                    case.decision_id,
                    case.key[-1],
                    entry=case.entry,
                    other=case.named,
                    editors=policies.needs_editors,
                    refused_within=within,
                    like=policies.lookups.like(case.context) if within else "",
                    is_placed=is_placed,
                )
            except RedisUnavailable:
                case.degraded = (*case.degraded, "history")
        prior = case.prior
        if prior is not None:
            if prior.retry and (known := self._answers.find(case.key)) is not None:
                return known
            case.decision_id = prior.decision_id
            case.call = self._sessions.projects.learn(principal, case.call, prior.place, case.pin)
        logs.decision_id.set(case.decision_id)
        if case.call.project != before:  # the session started on another server, and Redis knew its project
            case.in_force = await self._policies_for(case.caller, case.call.project)
        if case.named and case.named != case.call.project:
            case.degraded = (*case.degraded, "project")
        return None

    async def _read_agent(self, case: CallCase) -> None:
        """Read the file of the agent started by the call. Only such calls read it, mostly from memory."""
        case.own_agent, missing = await self._sessions.own_agent(case.caller.principal, case.call, case.prior)
        if missing:
            case.degraded = (*case.degraded, "agents")

    def _facts(self, case: CallCase) -> Facts:
        """Return the facts for the rules, under the present mode and exceptions, without the session's history."""
        caller, call = case.caller, case.call
        principal = caller.principal
        mode = Mode() if case.is_held else self._modes.effective(principal, call.project, call.session_id)
        case.is_switched_off = caller.mode_off and mode.enabled
        if case.is_switched_off:
            mode = Mode()
        elif mode.auto_activated:
            self._sessions.note_mode(principal, call.project, call.session_id, mode)
        case.mode = mode
        grants = self._exceptions.lifted(principal, call, case.in_force.policies)
        case.once = {rule: once for rule, once in grants.items() if once}
        return Facts(
            call=call,
            level=mode.level if mode.enabled else "off",
            principal=principal,
            freeze=self._freezes.in_force(principal, call.project, call.session_id),
            lifted=frozenset(rule for rule, once in grants.items() if not (once and case.is_held)) - case.spent,
            installed=self._installation.with_paths(caller.installed),
            accepts_rewrites=caller.accepts_rewrites,
            own_agent=case.own_agent,
        )

    def _judge(self, case: CallCase) -> Decision:
        """Step 3: ask the rules, under the present mode and exceptions."""
        caller, prior = case.caller, case.prior
        facts, context = case.facts, case.context
        case.facts = case.context = None  # a second judgement may be under other exceptions
        if facts is None or facts.call is not case.call or case.own_agent is not None:
            facts, context = self._facts(case), None
        mode, lifted = case.mode, facts.lifted
        wait_ms = self._rate.count(caller.principal) if prior is None else prior.wait_ms
        if caller.disabled and facts.freeze is None:
            verdict = Verdict()
        elif wait_ms:
            verdict = _too_many(wait_ms)
        else:
            verdict = evaluate(case.in_force.policies, _with_history(case, facts), context)
        return Decision(
            id=case.decision_id,
            verdict=with_id(verdict, case.decision_id),
            mode=ModeInForce(enabled=mode.enabled, level=mode.level, scope=mode.scope),
            revision=case.in_force.policies.revision,
            degraded=case.degraded + case.in_force.degraded + verdict.errors,
            elapsed_us=(perf_counter_ns() - case.started_ns) // 1000,
            overridden=caller.disabled
            or case.is_switched_off
            or (bool(lifted) and any(hit.effect == "lifted" for hit in verdict.hits)),
        )

    def _record(self, case: CallCase, decision: Decision, *, noted: bool | None) -> None:
        """Step 4: count the decision and queue its record. The answer is kept for retries."""
        started = started_agent(case.in_force.policies, case.call, decision.verdict)
        # Only of a named call is a retry distinguishable from a second call. That of a rate-limited call is decided.
        if case.key[-1] and decision.verdict.rule != RATE_RULE:
            self._answers.keep(case.key, case.call, decision)
        # Whoever answered the first attempt has counted it; they may have been killed before they recorded it, and a
        # record with the same id is stored once.
        if case.prior is None or not case.prior.retry:
            self._counters.decided(decision)
            if started and decision.verdict.effect != "deny" and case.call.session_id:
                # An agent starting without this was started behind Baton's back.
                self._sessions.announced(case.caller.principal, case.call.session_id, started)
        self._outcomes.watch(case.caller.principal, case.call, decision.verdict, noted=noted)
        put = self._recorder.put_refusal if decision.verdict.rule == RATE_RULE else self._recorder.put
        put(
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

    def _kept_prompt(self, case: CallCase) -> str:
        """Return a sub-agent's prompt if the caller's team keeps prompts, else ""."""
        if case.caller.disabled or not self._users.keeps_prompts(case.caller.principal.team):
            return ""
        call = case.call
        prompt = call.tool_input.get("prompt") if call.tool_name in case.in_force.policies.config.agent_tools else ""
        return prompt if isinstance(prompt, str) else ""


def _with_history(case: CallCase, facts: Facts) -> Facts:
    """Add the session's history to the facts. Without Redis it is unknown (None), not empty."""
    prior = case.prior
    if prior is not None:
        past: dict[str, Any] = {
            "history": prior.prior,
            "background_running": prior.background_running,
            "other_editor": prior.other_editor,
        }
    elif "history" in case.degraded:
        past = dict.fromkeys(("history", "background_running", "other_editor"))
    else:
        return facts
    return msgspec.structs.replace(facts, **past)


def _too_many(wait_ms: int) -> Verdict:
    return Verdict(
        effect="deny",
        rule=RATE_RULE,
        hits=(RuleHit(RATE_RULE, "deny"),),
        reason=(
            f"Too many tool calls; you may be in a loop. Wait {-(-wait_ms // 1000)} s, and look at the last results"
            " before the next call."
        ),
    )
