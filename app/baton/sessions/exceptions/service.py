"""Exceptions: calls that a rule no longer stops, requested from a refusal and granted by a person.

A grant lifts one rule for calls of the refused call's shape, or for that call once. Grants live in SQL and are looked up
in memory.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, Index, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.events.emission import NO_EVENTS, Emitter
from baton.events.payloads import QuestionChanged
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, NotFound, StoreUnavailable
from baton.kernel.base.sql import Database, StoreErrors, row_of, table_of
from baton.kernel.changes.announce import Changes
from baton.people.approvals import is_named
from baton.people.users import Users, covers, require, row_scope
from baton.policies.in_force import Policies, may_write
from baton.records.columns.reading import Period
from baton.records.replay.rule_hits import PackShape, RuleHits
from baton.records.review.decisions import Decisions
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.edited_files import MOST as MOST_PATHS
from baton.rules.call.kept import LONGEST_COMMAND
from baton.rules.call.verdict import Facts
from baton.rules.policy.drafts import shape
from baton.rules.policy.exceptions import holds, layer_of, rule_of
from baton.rules.policy.load import PolicySet
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.wording import place_of
from baton.rules.policy.replay import Replayer, principal_of
from baton.shared.bundle import Grant
from baton.shared.decided import shown_call

Scope = Literal["once", "session", "project", "user", "team"]
State = Literal["requested", "granted", "used"]
KIND = "exceptions"
LONGEST = timedelta(days=90)
"""Longest time of a grant."""
PROPOSED_AT = 3
"""Grants of one shape after which a change of the rule is proposed."""
MOST_REQUESTED = 50
"""Requests of one user that wait at once."""
_WAITS = timedelta(days=7)
_DIALOG = timedelta(minutes=10)
"""How long a used grant still answers the client's permission dialog about the same call."""
_REPLAYED = timedelta(days=30)
_AWAY = "exceptions cannot be changed now; nothing was changed, try again"
_NONE: Mapping[str, str] = {}
_STOPS = ("deny", "ask")


class RuleException(msgspec.Struct, frozen=True, kw_only=True):
    """A request, or a granted exception that ends at `expires_at`.

    `shown` is the stopped call, masked; `condition` is its `shape` as JSON, "" for a call without one.
    """

    id: str
    organisation: str
    decision_id: str
    user: str
    team: str
    project: str
    session_id: str
    rule: str
    layer: str  # the rule's place
    approvers: str  # separated by spaces
    tool: str
    shown: str
    shape: str
    condition: str
    reason: str
    state: State
    scope: Literal["", Scope]
    created_by: str
    created_at: datetime
    granted_by: str
    expires_at: datetime

    @property
    def key(self) -> tuple[str, str, str]:
        """The calls that a grant may concern."""
        name = {"session": self.session_id, "project": self.project, "team": self.team}.get(self.scope, "")
        return (self.scope, name, "" if self.scope in {"project", "team"} else self.user)


EXCEPTIONS = table_of("exceptions", RuleException, Index("ix_exceptions_organisation", "organisation", "expires_at"))


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a rule, proposed after several grants of one shape, with its replay over the stopped calls."""

    grants: int
    change: PackShape


async def read(connection: AsyncConnection, *wanted: ColumnElement[bool]) -> list[RuleException]:
    """Read some requests and grants, the oldest first."""
    rows = await connection.execute(select(EXCEPTIONS).where(*wanted).order_by(EXCEPTIONS.c.id))
    return [msgspec.convert(row._asdict(), RuleException) for row in rows]


async def add(connection: AsyncConnection, one: RuleException) -> None:
    """Store a request or a grant."""
    await connection.execute(insert(EXCEPTIONS).values(row_of(one, masked=("reason",))))


class Exceptions:
    """All requests and grants of the organisation."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        users: Users,
        policies: Policies,
        decisions: Decisions,
        rule_hits: RuleHits,
        *,
        organisation: str,
        events: Emitter = NO_EVENTS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._policies = policies
        self._decisions = decisions
        self._rule_hits = rule_hits
        self._organisation = organisation
        self._events = events
        self._now = now
        self._by_key: dict[tuple[str, str, str], list[RuleException]] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Load the active grants from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            active = (*self._ours(), EXCEPTIONS.c.state != "requested", EXCEPTIONS.c.expires_at > self._now())
            by_key: dict[tuple[str, str, str], list[RuleException]] = defaultdict(list)
            async with self._database.transaction() as connection:
                for one in await read(connection, *active):
                    by_key[one.key].append(one)
            self._by_key = dict(by_key)

    def lifted(
        self, principal: Principal, call: ToolCall, policies: PolicySet, *, used: bool = False
    ) -> Mapping[str, str]:
        """Return the rules lifted for a call, each with the id of a grant for once, or "".

        None for a delegated agent: it could name its owner's session. With `used`, grants for once count that have just
        been used: the client's dialog asks about the same call again.
        """
        if not self._by_key or principal.job:
            return _NONE
        user, team, now = principal.user, principal.team, self._now()
        keys = (
            ("once", "", user),
            ("session", call.session_id, user),
            ("user", "", user),
            ("project", call.project, ""),
        )
        found = [one for key in (*keys, ("team", team, "")) for one in self._by_key.get(key, ())]
        found = [one for one in found if one.expires_at > now and (used or one.state == "granted")]
        if not found:
            return _NONE
        context = Context(policies, Facts(call=call, principal=principal))
        lifted: dict[str, str] = {}
        for one in found:
            same = (one.tool, one.project) == (call.tool_name, call.project)
            fits = same and one.shown == shown_call(call) if one.scope == "once" else holds(one.condition, context)
            rule = rule_of(policies, one.rule) if fits else None
            # A narrower layer may have a rule of the same id, over which the grant has no power.
            if rule is not None and layer_of(rule) == one.layer and lifted.get(one.rule) != "":
                lifted[one.rule] = one.id if one.scope == "once" else ""
        return lifted

    def grants(self, principal: Principal) -> list[Grant]:
        """List the exceptions for shapes of calls that may concern a user; those for once need the server."""
        if principal.job:
            return []
        found = (
            Grant(rule=one.rule, layer=one.layer, condition=one.condition, key=one.key, expires_at=one.expires_at)
            for (scope, name, user), grants in sorted(self._by_key.items())
            if scope != "once" and user in {"", principal.user} and (scope != "team" or name == principal.team)
            for one in grants
            if one.expires_at > self._now()
        )
        return list(found)

    async def spend(self, principal: Principal, decision_id: str, grants: Mapping[str, str]) -> frozenset[str]:
        """Use up grants for once, by rule; return the rules whose grant was used up before, or cannot be now."""
        failed: set[str] = set()
        for rule, grant in grants.items():
            try:
                async with self._changes.write(KIND, principal, "exception.use") as change:
                    this = update(EXCEPTIONS).where(*self._named(grant), EXCEPTIONS.c.state == "granted")
                    used = {"state": "used", "expires_at": self._now() + _DIALOG}
                    if (await change.connection.execute(this.values(used))).rowcount:
                        await change.audit(grant, after={"rule": rule, "decision": decision_id})
                    else:
                        failed.add(rule)
                        change.unchanged()
            except StoreUnavailable:
                failed.add(rule)
        return frozenset(failed)

    async def find(
        self, principal: Principal, *, session_id: str = "", user: str = "", state: str = ""
    ) -> list[RuleException]:
        """List the requests and grants visible to a principal, the newest first. Raise Forbidden, StoreUnavailable."""
        require(principal, "exceptions.read")
        given = {"session_id": session_id, "user": user, "state": state}
        wanted = [EXCEPTIONS.c[name] == value for name, value in given.items() if value]
        async with self._database.transaction("exceptions cannot be read now; try again") as connection:
            found = await read(connection, *self._ours(), EXCEPTIONS.c.expires_at > self._now(), *wanted)
        return [one for one in reversed(found) if self._may_see(principal, one)]

    async def request(self, principal: Principal, decision_id: str, reason: str) -> RuleException:
        """Ask for an exception from the rule that stopped a call. A second request for it returns the first one.

        Raises:
            Conflict: Too many requests of the user wait.
            Forbidden: The rule is locked, or the role may not request.
            Invalid: No rule in force stopped the call, or too little of it is stored.
            NotFound: The decision is unknown, or hidden from the principal.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        require(principal, "exceptions.request")
        record = await self._decisions.get(principal, decision_id)
        if not covers(principal, "exceptions.request", user=record.user, team=record.team):
            raise NotFound(f"there is no decision `{decision_id}` of yours")
        whose = principal_of(record)
        with StoreErrors(_AWAY):
            active = (await self._policies.prepare(whose, record.project, wait_s=None)).policies
        hits = sorted((one for one in record.rules if one.effect in _STOPS), key=lambda one: _STOPS.index(one.effect))
        rule = rule_of(active, hits[0].id) if hits else None
        facts = Replayer().facts(active, record)
        if len(record.command) >= LONGEST_COMMAND or len(record.paths) >= MOST_PATHS:
            facts = "it is too long to be stored whole"
        if rule is None or isinstance(facts, str):
            why = "no rule in force stopped it" if rule is None else str(facts)
            raise Invalid("decision_id", f"is `{decision_id}`, a decision without a possible exception: {why}")
        _check_lock(active, rule.id)
        found = shape(active, rule, facts, exact=True)
        condition = msgspec.json.encode(found.condition).decode()
        now = self._now()
        one = RuleException(
            id=f"exc_{uuid7().hex}",
            organisation=self._organisation,
            decision_id=record.id,
            user=record.user,
            team=record.team,
            project=record.project,
            session_id=record.session_id,
            rule=rule.id,
            layer=layer_of(rule),
            approvers=" ".join(rule.file.approvers),
            tool=record.tool,
            shown=record.shown,
            shape=found.text,
            condition=condition if found.condition and holds(condition, Context(active, facts)) else "",
            reason=reason,
            state="requested",
            scope="",
            created_by=principal.user,
            created_at=now,
            granted_by="",
            expires_at=now + _WAITS,
        )
        async with self._changes.write(KIND, principal, "exception.request") as change:
            waiting = (
                *self._ours(),
                EXCEPTIONS.c.user == record.user,
                EXCEPTIONS.c.state == "requested",
                EXCEPTIONS.c.expires_at > now,
            )
            known = await read(change.connection, *waiting, EXCEPTIONS.c.decision_id == record.id)
            if known:
                change.unchanged()
                return known[0]
            count = await change.connection.execute(select(func.count()).select_from(EXCEPTIONS).where(*waiting))
            if count.scalar_one() >= MOST_REQUESTED:
                raise Conflict(f"{MOST_REQUESTED} requests of `{record.user}` wait; withdraw one first")
            await add(change.connection, one)
            await change.audit(one.id, after=_audited(one), reason=reason)
        self._emit(one, "")
        return one

    async def grant(
        self, principal: Principal, exception_id: str, *, scope: Scope, until: datetime, reason: str
    ) -> RuleException:
        """Grant a request.

        Raises:
            Conflict: It is granted already.
            Forbidden: The rule is locked, or the principal may not grant an exception from it.
            Invalid: The scope or the date does not fit.
            NotFound: The request is unknown, or hidden from the principal.
            PersonRequired: An agent asks for it.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        require(principal, "exceptions.grant")
        now = self._now()
        until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
        if not now < until <= now + LONGEST:
            raise Invalid("until", f"is `{until.isoformat()}`; it must be within the next {LONGEST.days} days")
        one = await self._get(principal, exception_id)
        if scope != "once" and not one.condition:
            raise Invalid("scope", f"is `{scope}`, but this call has no shape; grant it `once`")
        if scope in {"session", "project", "team"} and not getattr(one, "session_id" if scope == "session" else scope):
            raise Invalid("scope", f"is `{scope}`, but the call had none")
        await self._check_right(principal, one, scope)
        granted = msgspec.structs.replace(
            one, state="granted", scope=scope, granted_by=principal.user, expires_at=until
        )
        async with self._changes.write(KIND, principal, "exception.grant") as change:
            waiting = update(EXCEPTIONS).where(*self._named(one.id), EXCEPTIONS.c.state == "requested")
            values = {"state": "granted", "scope": scope, "granted_by": principal.user, "expires_at": until}
            if not (await change.connection.execute(waiting.values(values))).rowcount:
                raise Conflict(f"exception `{one.id}` is already granted, or was withdrawn")
            await change.audit(one.id, after=_audited(granted), reason=reason)
        self._emit(granted, "allow", principal.user)
        return granted

    async def revoke(self, principal: Principal, exception_id: str, reason: str = "") -> None:
        """End a grant early, or refuse or withdraw a request. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "exceptions.grant")
        one = await self._get(principal, exception_id)
        async with self._changes.write(KIND, principal, "exception.revoke") as change:
            if (await change.connection.execute(delete(EXCEPTIONS).where(*self._named(one.id)))).rowcount:
                await change.audit(one.id, before=_audited(one), reason=reason)
            else:  # another process ended it
                change.unchanged()
                return
        self._emit(one, "deny", principal.user)

    def _emit(self, one: RuleException, answer: Literal["", "allow", "deny"], answered_by: str = "") -> None:
        payload = QuestionChanged(
            session_id=one.session_id,
            question_id=one.id,
            job_id="",
            state="answered" if answer else "opened",
            answer=answer,
            answered_by=answered_by,
            tool_name=one.tool[:200],
            project=one.project,
            approvers=one.approvers,
        )
        self._events.emit(Principal(organisation=one.organisation, user=one.user, team=one.team), payload)

    async def proposals(self, principal: Principal) -> list[Proposal]:
        """Return a change of the rule for each shape granted three times, replayed over 30 days of stopped calls.

        Raises:
            Forbidden: If the role may not replay.
            StoreUnavailable: If the database is unavailable.
        """
        theirs = row_scope(principal, "policies.replay")
        query = theirs.limit(select(EXCEPTIONS).where(*self._ours(), EXCEPTIONS.c.state != "requested"), EXCEPTIONS)
        by_shape: dict[tuple[str, str], list[RuleException]] = defaultdict(list)
        async with self._database.transaction("exceptions cannot be read now; try again") as connection:
            for row in await connection.execute(query.order_by(EXCEPTIONS.c.id)):
                one = msgspec.convert(row._asdict(), RuleException)
                by_shape[one.rule, one.shape].append(one)
        now, found = self._now(), list[Proposal]()
        for (rule, text), grants in by_shape.items():
            if len(grants) < PROPOSED_AT:
                continue
            last = grants[-1]
            whose = Principal(organisation=self._organisation, team=last.team, user=last.user)
            active = (await self._policies.prepare(whose, last.project, wait_s=None)).policies
            period = Period(now - _REPLAYED, now)
            for change in await self._rule_hits.shapes(principal, active, rule, period, text):
                found.append(Proposal(grants=len(grants), change=change))
        return found

    async def _check_right(self, principal: Principal, one: RuleException, scope: Scope) -> None:
        """Refuse a rule that is locked or not in force, and whoever may not grant an exception from it.

        The rule's named approvers may, for others' calls; so may whoever may write the rule, and a lead for rules that
        the mode switches or an admin has unlocked. A wide scope takes the right to write that layer as well.
        """
        whose = Principal(organisation=self._organisation, team=one.team, user=one.user)
        with StoreErrors(_AWAY):
            active = (await self._policies.prepare(whose, one.project, wait_s=None)).policies
        rule = rule_of(active, one.rule)
        if rule is None or layer_of(rule) != one.layer:
            raise Invalid("id", f"is an exception from rule `{one.rule}`, which is no longer in force")
        _check_lock(active, rule.id)
        covered, leads = self._covers(principal, one), principal.role in {"lead", "admin"}
        free = bool(rule.modes) or rule.id in active.locks.unlocked
        owned = covered and ((free and leads) or self._may_write(principal, *place_of(rule.source)))
        if not (owned or is_named(principal, one)):
            raise Forbidden(
                f"rule `{rule.id}` is of layer `{one.layer}`, which you may not change, so you may not grant this; "
                f"{'a `lead` or an `admin`' if free else 'an `admin`'} may, or an approver whom the rule names"
            )
        if scope in {"project", "team"} and not self._may_write(principal, scope, getattr(one, scope)):
            raise Forbidden(
                f"you may not change layer `{scope}/{getattr(one, scope)}`; grant `once`, `session` or `user`"
            )

    def _may_write(self, principal: Principal, tier: str, name: str) -> bool:
        team = self._users.project_team(name) if tier == "project" else ""
        return may_write(principal, tier, name, team_of_project=team)

    async def _get(self, principal: Principal, exception_id: str) -> RuleException:
        async with self._database.transaction(_AWAY) as connection:
            found = await read(connection, *self._named(exception_id), EXCEPTIONS.c.expires_at > self._now())
        if not found or not self._may_see(principal, found[0]):
            raise NotFound(f"there is no exception `{exception_id[:100]}`")
        return found[0]

    def _covers(self, principal: Principal, one: RuleException) -> bool:
        # By the user's team of today: a lead has no power over who has left the team.
        return covers(principal, "exceptions.read", user=one.user, team=self._users.team_of(one.user) or one.team)

    def _may_see(self, principal: Principal, one: RuleException) -> bool:
        return self._covers(principal, one) or is_named(principal, one)

    def _ours(self) -> tuple[ColumnElement[bool], ...]:
        return (EXCEPTIONS.c.organisation == self._organisation,)

    def _named(self, exception_id: str) -> tuple[ColumnElement[bool], ...]:
        return (*self._ours(), EXCEPTIONS.c.id == exception_id)


def _check_lock(active: PolicySet, rule: str) -> None:
    if rule in active.locked:
        raise Forbidden(
            f"rule `{rule}` is locked (`{active.locks.locked[rule]}`), so no exception lifts it;"
            " an `admin` may unlock it for a time: `baton policy unlock`"
        )


def _audited(one: RuleException) -> dict[str, object]:
    """Return what the audit log keeps: the text that was shown to the person, and what was granted."""
    kept = ("user", "rule", "shown", "shape", "condition", "decision_id", "scope", "expires_at")
    return {name: value for name, value in msgspec.to_builtins(one).items() if name in kept}
