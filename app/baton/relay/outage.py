"""Decides hooks while the server is away, by the bundle; tells each session of the loss and of the return.

The history is that of the calls seen here. What only the server knows is unknown to the rules: background tasks, other
editors, agents' files, and the rate. A question for another person, or on a client without questions, is a refusal.
"""

import contextlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns

import msgspec

from baton.clients.event import Client, HookAnswer, HookEvent
from baton.clients.registry import CLIENTS, can_ask, who_posts
from baton.local.hook.main import session_of
from baton.relay.bundle import FETCH_S, FRESH_S, Bundles
from baton.relay.request import HookRequest
from baton.relay.wire import LARGEST, WireAnswer, field
from baton.rules.call.call import ToolCall
from baton.rules.call.modes import Mode, keys_for, resolve, strictest
from baton.rules.call.verdict import Facts, Verdict
from baton.rules.policy.evaluate import evaluate, is_refused, started_agent, with_id
from baton.rules.policy.exceptions import holds, layer_of, rule_of
from baton.rules.policy.load import PolicyProblems, PolicySet
from baton.rules.policy.matching.context import Context
from baton.shared.bundle import MOST_RECORDS, Bundle
from baton.shared.caller import PROTOCOL, Caller, as_call, caller_of
from baton.shared.decided import (
    DELIVERED,
    DecidedCall,
    Decision,
    ModeInForce,
    answer_of,
    answer_of_unread,
    decision_record,
    masked,
    refused_question,
)
from baton.shared.storable import project_name

LOAD_S = 10.0
"""Seconds that a hook waits for the stored rules to be compiled. The shim leaves earlier."""
PROBE_S, LONGEST_PROBE_S = 1.0, 32.0
"""Seconds between two looks for the server during an outage; only hooks lead to one. Each loss without an answer to a
hook in between doubles them: such a server sends rules, but leaves its hooks waiting."""
AFTER_S = 0.05
"""Seconds that the work after an answer waits: the answer leaves first."""
_SEEN, _LARGEST_SEEN = 512, 16 << 10
"""Hooks that are kept for the history of an outage, and the longest of them, in bytes."""
_SESSIONS, _NAMES = 256, 50
_STOPPED = (b'"deny"', b'"ask"', b'"block"')
_TELLING = frozenset({"PreToolUse", "SessionStart", "UserPromptSubmit"})
_DECIDED = frozenset({"PreToolUse", "PreSkillShellCommand", "PermissionRequest"})
_NEVER = frozenset({400, 413, 422})
"""Statuses of records that the server never takes. They stay in a file of their own."""
_AWAY = "The server is away, so no approval can be requested. Try again later, or ask the person to run it."
_encode = msgspec.json.Encoder().encode


class _Session:
    """What was seen of a session: its project and models, and the calls of its agents. `is_whole`: from its start."""

    def __init__(self, caller: Caller, event: HookEvent) -> None:
        call = as_call(caller, event)
        self.is_whole = event.name == "SessionStart"
        self._first = msgspec.structs.replace(
            call, project=call.project or call.project_root or call.cwd, models=caller.models
        )
        self._calls: dict[str, deque[str]] = {}

    def placed(self, caller: Caller, event: HookEvent) -> ToolCall:
        """Return a call of the session, in the project where the session began."""
        call, first = as_call(caller, event), self._first
        same = call.project == first.project
        return msgspec.structs.replace(
            call,
            project=first.project,
            project_root=(call.project_root if same else "") or first.project_root,
            worktrees=(call.worktrees if same else ()) or first.worktrees,
            models=first.models,
        )

    def add(self, call: ToolCall, policies: PolicySet) -> None:
        """Remember a call that was not refused."""
        self._calls.setdefault(call.agent_id, deque(maxlen=_NAMES)).append(
            policies.history_name(Context(policies, Facts(call=call)))
        )

    def history(self, call: ToolCall) -> tuple[str, ...] | None:
        """Return the earlier calls of the call's agent, None if some may be unknown."""
        return tuple(self._calls.get(call.agent_id, ())) if self.is_whole else None


class Outage:
    """The state of one server for this user."""

    def __init__(self, bundles: Bundles) -> None:
        self._bundles, self._server, self.now = bundles, bundles.server, bundles.now
        self.is_lost = False
        self.unstored = 0
        """Records that were not kept, or that another program has removed."""
        self._probed, self._pause = 0.0, PROBE_S / 2
        self._told: OrderedDict[str, None] = OrderedDict()
        """The sessions whose person knows of the loss, and not yet of the return. They outlast the relay."""
        self._seen: deque[HookRequest] = deque(maxlen=_SEEN)
        """The hooks that the server has answered and not stopped."""
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._working = threading.Lock()
        """Held while a bundle is fetched or records are delivered."""
        self._loaded = threading.Event()

    @property
    def is_changed(self) -> bool:
        """Whether another program has changed the stored rules."""
        return self._bundles.is_changed

    def state(self) -> dict[str, object]:
        """Return what `baton relay status` shows."""
        spool = self._bundles.spool
        return {
            "server": "lost" if self.is_lost else "up",
            "rules_as_of": self._bundles.as_of,
            "rules_changed": self._bundles.is_changed,
            "records_waiting": 0 if spool is None else len(spool),
            "records_refused": 0 if spool is None else len(spool.refused),
            "records_lost": self.unstored,
        }

    def begin(self) -> None:
        """Compile the stored bundle in the background, so that the first call during an outage need not wait."""
        self._beside(self._load)

    def _load(self) -> None:
        try:
            self._bundles.load()
            self._told.update(dict.fromkeys(self._place_of_told().read_text().split()))
        finally:
            self._loaded.set()

    def lost(self) -> None:
        """Note that the server gave no answer."""
        if not self.is_lost:
            self._pause = min(2 * self._pause, LONGEST_PROBE_S)
        self.is_lost, self._probed = True, time.monotonic()

    def answered(self, hook: HookRequest, content: bytes) -> bytes:
        """Note an answer of the server, and return it, with the notice of its return if there was none yet."""
        self.is_lost, self._pause, spool = False, PROBE_S / 2, self._bundles.spool
        is_told = hook.event in {"PreToolUse", "SessionStart"} and not hook.about and len(hook.body) <= _LARGEST_SEEN
        if is_told and not any(word in content for word in _STOPPED):
            self._seen.append(hook)
        soon = hook.owner != self._bundles.owner or (spool is not None and spool.path.exists())
        if time.time() - self._bundles.tried > (PROBE_S if soon else FRESH_S):
            self._beside(lambda: self._renew(hook), AFTER_S)
        session = session_of(hook.body)
        if session not in self._told or hook.event not in _TELLING:
            return content
        try:
            said, (client, event) = msgspec.json.decode(content, type=dict), _read(hook)
            back = client.render(event.native_name, HookAnswer(system_message=f"{self._server} is back."))
        except (KeyError, ValueError):
            return content
        if not back or back.keys() & said.keys():
            return content  # it is told with a later answer
        self._note(session, is_lost=False)
        return _encode(said | back)

    def _place_of_told(self) -> Path:
        return self._bundles.path(sha256(self._server.encode()).hexdigest(), "told")

    def _note(self, session: str, *, is_lost: bool) -> None:
        """Note that a session's person knows of the loss, or of the return."""
        with self._bundles.using, contextlib.suppress(OSError):
            self._told.pop(session, None)
            self._told |= {session: None} if is_lost else {}
            if len(self._told) > _SESSIONS:
                self._told.popitem(last=False)
            self._place_of_told().write_text("\n".join(self._told))

    def probe(self, hook: HookRequest) -> None:
        """Look for the server now and then, in the background. Once it is back, it gets the records."""
        if time.monotonic() - self._probed > self._pause:
            self._probed = time.monotonic()
            self._beside(lambda: self._renew(hook))

    def fetch(self, hook: HookRequest) -> None:
        """Fetch the rules with a hook's identity, once nothing else is done beside. Without success a later hook leads to it."""
        with self._working, contextlib.suppress(OSError, ValueError, PolicyProblems):
            self._renew(hook)

    def _beside(self, work: Callable[[], None], after_s: float = 0) -> None:
        def run() -> None:
            time.sleep(after_s)
            # What fails here is tried again with a later hook.
            with contextlib.suppress(OSError, ValueError, PolicyProblems):
                work()
            self._working.release()

        if self._working.acquire(blocking=False):
            threading.Thread(target=run, daemon=True).start()

    def _renew(self, hook: HookRequest) -> None:
        if not self._bundles.fetch(hook.owner, hook.identity):
            return
        self.is_lost, spool, most = False, self._bundles.spool, MOST_RECORDS
        while spool is not None and hook.owner == self._bundles.owner:
            with self._bundles.using:
                if not (lines := spool.first(most)):
                    self.unstored += spool.end()
                    return
            body = b'{"records":[' + b",".join(lines) + b"]}"
            headers = [*hook.identity, ("Content-Type", "application/json")]
            status, *_ = self._bundles.send("POST", "/bundle/records", body, headers, FETCH_S)
            if status in _NEVER and len(lines) > 1:
                most = 1  # one of them is to blame
                continue
            if status in _NEVER:
                spool.refused.add(lines[0])
            elif status != 204:  # noqa: PLR2004 - stored
                return
            most = MOST_RECORDS if status in _NEVER else most
            with self._bundles.using:
                spool.drop(lines)

    def decide(self, hook: HookRequest) -> WireAnswer | None:
        """Return the answer to a hook in the client's words; None without rules for it, or if it asks about another hook."""
        self._loaded.wait(LOAD_S)
        with self._bundles.using:
            bundle = self._bundles.bundle
            if bundle is None or hook.owner != self._bundles.owner or hook.about:
                return None
            try:
                client, event = _read(hook)
            except KeyError:
                return None
            except (ValueError, RecursionError):
                return self._unread(hook)
            answer = HookAnswer()
            more: tuple[str, ...] = ()
            self._catch_up(bundle)
            if event.name in _DECIDED:
                answer, more = self._decided(bundle, hook, event)
        told = msgspec.structs.replace(
            answer, system_message=" ".join(filter(None, (answer.system_message, self._notice())))
        )
        body, with_notice = (client.render(event.native_name, one) for one in (answer, told))
        session = session_of(hook.body)
        is_new = session not in self._told or event.name == "SessionStart"
        if is_new and event.name in _TELLING and body != with_notice:
            self._note(session, is_lost=True)
            body = with_notice
        degraded = ",".join(["server", *more])
        fields = [("Baton-Protocol", PROTOCOL), ("Baton-Degraded", degraded), ("Baton-Decision-Id", hook.id)]
        return WireAnswer(200, fields, _encode(body))

    def _unread(self, hook: HookRequest) -> WireAnswer:
        """Answer a hook that cannot be read, as the server does."""
        client, blocks = CLIENTS[hook.client], field(hook.headers, "baton-on-failure") == "block"
        event = client.read({}, hook.event).native_name
        answer = answer_of_unread(client.name, event, "its payload is too large or malformed", blocks=blocks)
        fields = [("Baton-Protocol", PROTOCOL), ("Baton-Degraded", "server,request")]
        return WireAnswer(200, fields, _encode(client.render(event, answer)))

    def _notice(self) -> str:
        held = "only guardrails and locked rules hold" if self._bundles.is_old else "your rules hold"
        return (
            f"{self._server} does not answer. Baton decides on this machine: {held}, as of {self._bundles.as_of}. Approvals"
            " and new settings wait for the server."
        )

    def _session(self, bundle: Bundle, hook: HookRequest, event: HookEvent) -> tuple[Caller, _Session]:
        """Return a hook's caller and session."""
        fields = {name.lower().encode(): value.encode("latin-1", "replace") for name, value in hook.headers}
        caller = caller_of(bundle.principal, fields, "allow", project_name)
        known = self._sessions.get(event.session_id)
        if known is None or event.name == "SessionStart":
            known = self._sessions[event.session_id] = _Session(caller, event)
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
        return caller, known

    def _catch_up(self, bundle: Bundle) -> None:
        """Read the hooks that the server has answered, for their sessions' histories."""
        while self._seen:
            hook = self._seen.popleft()
            with contextlib.suppress(KeyError, ValueError, RecursionError):
                _, event = _read(hook)
                caller, session = self._session(bundle, hook, event)
                if event.name == "PreToolUse":
                    call = session.placed(caller, event)
                    session.add(call, self._bundles.policies(bundle, call.project)[0])

    def _decided(self, bundle: Bundle, hook: HookRequest, event: HookEvent) -> tuple[HookAnswer, tuple[str, ...]]:
        """Decide a call as the server would, and keep its record. Return the answer, and what else is degraded."""
        started = perf_counter_ns()
        caller, session = self._session(bundle, hook, event)
        call = session.placed(caller, event)
        policies, missing = self._bundles.policies(bundle, call.project)
        is_held = event.name == "PreSkillShellCommand"
        mode = self._mode(bundle, caller, call) if not is_held else Mode()
        freeze = strictest(bundle.freezes, bundle.principal, call.project, call.session_id, self.now())
        facts = Facts(
            call=call,
            level=mode.level if mode.enabled else "off",
            history=session.history(call),
            background_running=None,
            other_editor=None,
            principal=bundle.principal,
            lifted=_lifted(bundle, call, policies, self.now()),
            installed="\n".join(f"hook_settings\t{path}" for path in caller.installed),
            accepts_rewrites=caller.accepts_rewrites,
            freeze=freeze,
        )
        verdict = Verdict() if caller.disabled and freeze is None else evaluate(policies, facts)
        if event.name == "PermissionRequest":
            return (answer_of(verdict) if verdict.effect == "deny" else HookAnswer()), missing
        if verdict.effect == "ask" and (is_held or _needs_server(call, verdict, policies)):
            verdict = refused_question(verdict, call.client, _AWAY)
        decision = Decision(
            id=hook.id,
            verdict=with_id(verdict, hook.id),
            mode=ModeInForce(enabled=mode.enabled, level=mode.level, scope=mode.scope),
            revision=policies.revision,
            degraded=("server", *missing, *verdict.errors),
            elapsed_us=(perf_counter_ns() - started) // 1000,
            overridden=caller.disabled or caller.mode_off or any(hit.effect == "lifted" for hit in verdict.hits),
        )
        if not is_refused(call.client, verdict.effect):
            session.add(call, policies)
        started_by = started_agent(policies, call, verdict)
        record = masked(decision_record(DecidedCall(caller=caller, call=call, decision=decision, started=started_by)))
        self._keep({"id": record.id} | {name: getattr(record, name) for name in DELIVERED})
        answer = answer_of(decision.verdict)
        is_refused_now = is_held and answer.effect == "ask"
        return (msgspec.structs.replace(answer, effect="deny") if is_refused_now else answer), missing

    def _mode(self, bundle: Bundle, caller: Caller, call: ToolCall) -> Mode:
        if bundle.principal.job or caller.mode_off or self._bundles.is_old:
            return Mode()
        settings = {one.key: one for one in bundle.modes}
        keys = keys_for(bundle.principal, call.project, call.session_id)
        return resolve(tuple(settings[key] for key in keys if key in settings), self.now())

    def _keep(self, record: dict[str, object]) -> None:
        assert self._bundles.spool is not None  # noqa: S101 - there is one with each bundle
        try:
            self._bundles.spool.add(_encode(record))
        except OSError:
            self.unstored += 1


def _read(hook: HookRequest) -> tuple[Client, HookEvent]:
    """Read a hook's client and event. Raise KeyError for an unknown client, ValueError for an unreadable payload."""
    if len(hook.body) > LARGEST:
        raise ValueError("the payload is too large")
    payload = msgspec.json.decode(hook.body.decode("utf-8", "replace"), type=dict)
    client = who_posts(CLIENTS[hook.client], payload)
    return client, client.read(payload, hook.event)


def _lifted(bundle: Bundle, call: ToolCall, policies: PolicySet, now: datetime) -> frozenset[str]:
    """Return the rules that an exception lifts for a call."""
    user = bundle.principal.user
    keys = {
        ("session", call.session_id, user), ("user", "", user), ("project", call.project, ""),
        ("team", bundle.principal.team, ""),
    }  # fmt: skip
    context = Context(policies, Facts(call=call, principal=bundle.principal))
    return frozenset(
        one.rule
        for one in bundle.grants
        if one.key in keys and one.expires_at > now and holds(one.condition, context)
        if (rule := rule_of(policies, one.rule)) is not None and layer_of(rule) == one.layer
    )


def _needs_server(call: ToolCall, verdict: Verdict, policies: PolicySet) -> bool:
    """Return whether a question cannot be put to the person at the client, but needs a request."""
    asking = {hit.id for hit in verdict.hits if hit.effect == "ask"} | {verdict.rule}
    for_others = any(one.id in asking and "self" not in one.file.approvers for one in policies.rules)
    return for_others or not can_ask(call.client) or (call.models.headless and policies.config.headless == "request")
