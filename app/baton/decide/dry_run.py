"""A dry run: what the rules say of a call, those in force or others, for the caller or for somebody else."""

from typing import get_args

import msgspec

from baton.decide.service import PreToolUse
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.call.verdict import Facts, Level, Verdict
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.explain import RuleTrace, explain
from baton.engine.policy.load import PolicySet
from baton.engine.policy.rules.model import CaseRole
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Invalid, NotFound
from baton.people.permissions import covers, require
from baton.people.users import Users
from baton.policies.combinations import UNLOCK
from baton.policies.in_force import Policies
from baton.policies.layer_rights import may_read
from baton.policies.layers import Where
from baton.policies.revision_sets import set_of
from baton.records.replay.service import Replay

ROLES = get_args(CaseRole)
"""The roles that rules may ask about."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A layer that is being written: the place that it is for, and its files."""

    where: Where
    files: dict[str, str]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a call besides the call itself.

    `level` and `history` replace the mode in force and the session's history. `revision` names rules that were in force
    once, `draft` is a layer laid over those in force. `user` is whose call it is, in `team` and `role`; "" is the caller.
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
    """The facts that the rules were asked about, what they said, why each matched or not, and which rules they were."""

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
        """Return what the rules say of a call.

        Raises:
            Forbidden: If the caller's role may not ask about other people.
            Invalid: If no rule could ask about such a team or role.
            NotFound: If there is no such user or revision that the caller may see.
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
        """Return whose call is asked about, where the caller may ask about them."""
        reach = require(caller, "policies.replay")
        user = question.user or caller.user
        known = caller.team if user == caller.user else self._users.team_of(user)
        team = question.team or known or caller.team
        if not (user == caller.user or covers(caller, "policies.replay", user=user, team=known)):
            raise NotFound(f"there is no user `{user}` whose calls you may ask about")
        if reach != "organisation" and team != caller.team:
            raise Invalid("principal.team", f"is `{team}`; you may ask about your own team", [caller.team])
        if question.role and question.role not in ROLES:
            raise Invalid("principal.role", f"is `{question.role}`", list(ROLES))
        role = question.role or (caller.role if user == caller.user else "developer")
        return Principal(organisation=caller.organisation, team=team, user=user, role=role)

    async def _rules(self, caller: Principal, principal: Principal, project: str, question: Question) -> PolicySet:
        """Return the rules that are asked; layers that the caller may not read are left out."""
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
