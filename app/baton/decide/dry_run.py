"""A dry run: a call judged by the rules in force or by others, for the caller or for another person."""

from typing import Any, get_args

import msgspec

from baton.decide.api import Judgement, judgement_fields, read_call
from baton.decide.service import PreToolUse
from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.http.fields import kind, optional_text
from baton.kernel.http.serving.hot_routes import Request, Response, decode_object, encode
from baton.people.rate_limits import RateLimits
from baton.people.users import Users, covers, require
from baton.policies.in_force import UNLOCK, Policies, may_read
from baton.policies.layers import Where, place, set_of
from baton.records.replay.service import Replay
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import Facts, Level, Verdict
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import RuleTrace, explain
from baton.rules.policy.load import PolicySet
from baton.rules.policy.rules.model import CaseRole
from baton.shared.caller import Caller
from baton.shared.decided import ModeInForce

ROLES = get_args(CaseRole)
"""The roles that rules may ask about."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A layer in writing: its place and its files."""

    where: Where
    files: dict[str, str]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a dry run besides the call.

    `level` and `history` replace the mode in force and the session's history. `revision` names earlier rules, `draft`
    is a layer laid over the rules in force. `user` is the call's owner, in `team` and `role`; "" is the caller.
    """

    level: Level | None = None
    history: tuple[str, ...] = ()
    revision: str = ""
    draft: Draft | None = None
    user: str = ""
    team: str = ""
    role: str = ""

    @property
    def is_about_another(self) -> bool:
        """Whether the call is asked about as somebody else's, or in another role."""
        return bool(self.user or self.team or self.role)


class DryRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a call, the verdict, why each rule matched or not, and the revision of the rules."""

    facts: Facts
    verdict: Verdict
    trace: tuple[RuleTrace, ...]
    revision: str


class DryRun:
    """Judges calls without recording them."""

    def __init__(self, service: PreToolUse, policies: Policies, replay: Replay, users: Users) -> None:
        self._service = service
        self._policies = policies
        self._replay = replay
        self._users = users

    async def judge(self, caller: Caller, call: ToolCall, question: Question) -> DryRunResult:
        """Return the rules' verdict on a call.

        Raises:
            Forbidden: If the caller's role may not ask about other people.
            Invalid: If no rule could ask about such a team or role.
            NotFound: If the user or revision is unknown, or hidden from the caller.
            PoliciesRefused: If the draft is not accepted.
        """
        principal = self._principal(caller.principal, question) if question.is_about_another else caller.principal
        facts = await self._service.facts_without_history(
            caller if principal is caller.principal else msgspec.structs.replace(caller, principal=principal), call
        )
        facts = msgspec.structs.replace(facts, history=question.history, level=question.level or facts.level)
        policies = await self._rules(caller.principal, principal, facts.call.project, question)
        return DryRunResult(
            facts=facts,
            verdict=evaluate(policies, facts),
            trace=tuple(explain(policies, facts)),
            revision=policies.revision,
        )

    def _principal(self, caller: Principal, question: Question) -> Principal:
        """Return the principal of the call, if the caller may ask about them."""
        reach = require(caller, "policies.replay")
        user = question.user or caller.user
        known = caller.team if user == caller.user else self._users.team_of(user)
        team = question.team or known or caller.team
        if not (user == caller.user or covers(caller, "policies.replay", user=user, team=known)):
            raise NotFound(f"there is no user `{user}` whose calls you may read")
        if reach != "organisation" and team != caller.team:
            raise Invalid("principal.team", f"is `{team}`; you may ask about your own team", [caller.team])
        if question.role and question.role not in ROLES:
            raise Invalid("principal.role", f"is `{question.role}`", list(ROLES))
        role = question.role or (caller.role if user == caller.user else "developer")
        return Principal(organisation=caller.organisation, team=team, user=user, role=role)

    async def _rules(self, caller: Principal, principal: Principal, project: str, question: Question) -> PolicySet:
        """Return the rules to ask, without layers hidden from the caller."""
        if question.revision:
            return await set_of(await self._policies.texts(caller, question.revision))
        if question.draft is None:
            return (await self._policies.visible(caller, principal, project)).policies
        where = question.draft.where
        candidate = await self._replay.candidate(where, question.draft.files)
        own = (where.tier, where.name)
        keys = tuple(
            key
            for key in candidate.keys(principal, project)
            if key == own or key[0] == UNLOCK or may_read(caller, *key)
        )
        return candidate.build(keys).policies if keys else candidate.whole.policies


# `POST /policies/evaluate`: a dry run. The verdict on a call, and why each rule matched or not.

MOST_FILES = 500
"""Files of a draft."""


class EvaluateAnswer(Judgement, frozen=True, kw_only=True):
    """The rules' verdict on a call, with each rule's reason."""

    trace: tuple[RuleTrace, ...]


class EvaluateEndpoint:
    """Judge a call without recording it, and explain the verdict."""

    def __init__(self, dry_run: DryRun, limits: RateLimits) -> None:
        self._dry_run = dry_run
        self._limits = limits

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer a dry run."""
        payload = decode_object(request.body)
        call = read_call(payload, caller)
        question = read_question(payload, caller)
        if question.revision or question.draft:  # other rules than those in force have to be built first
            self._limits.check("expensive", f"{caller.principal.organisation}/{caller.principal.user}")
        found = await self._dry_run.judge(caller, call, question)
        answer = EvaluateAnswer(
            **judgement_fields(found.verdict, call.tool_input),
            mode=_mode(found.facts),
            policy_revision=found.revision,
            trace=found.trace,
        )
        return Response(encode(answer))


def read_question(payload: dict[str, Any], caller: Caller) -> Question:
    """Read a payload's parameters besides the call.

    Raises:
        Invalid: If a field is of a wrong type or value; the error names it.
    """
    who = _object(payload, "principal")
    draft = _object(payload, "draft")
    revision = optional_text(payload, "revision")
    if draft and revision:
        raise Invalid("draft", "cannot be asked together with `revision`; give one of them", ["draft", "revision"])
    return Question(
        level=_level(payload),
        history=_history(payload),
        revision=revision,
        draft=_draft(draft, caller) if draft else None,
        user=optional_text(who, "user"),
        team=optional_text(who, "team"),
        role=optional_text(who, "role"),
    )


def _object(payload: dict[str, Any], name: str) -> dict[str, Any]:
    value = payload.get(name)
    if value is not None and not isinstance(value, dict):
        raise Invalid(name, f"must be an object, not {kind(value)}")
    return value or {}


def _draft(draft: dict[str, Any], caller: Caller) -> Draft:
    files = draft.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise Invalid("draft.files", "must be an object of texts by path")
    if len(files) > MOST_FILES:
        raise Invalid("draft.files", f"has {len(files)} files; at most {MOST_FILES} are allowed")
    tier = optional_text(draft, "tier") or "organisation"
    return Draft(where=place(caller.principal, tier, optional_text(draft, "name"), caller.project), files=files)


def _mode(facts: Facts) -> ModeInForce:
    on = facts.level != "off"
    return ModeInForce(enabled=on, level=facts.level if on else "guidance", scope="evaluation")


def _level(payload: dict[str, Any]) -> Level | None:
    level = optional_text(payload, "level")
    allowed = list(get_args(Level))
    if level and level not in allowed:
        raise Invalid("level", f"is `{level}`", allowed)
    return level or None  # type: ignore[return-value]


def _history(payload: dict[str, Any]) -> tuple[str, ...]:
    history = payload.get("history") or []
    if not isinstance(history, list) or not all(isinstance(tool, str) for tool in history):
        raise Invalid("history", "must be a list of tool names, oldest first")
    return tuple(history)
