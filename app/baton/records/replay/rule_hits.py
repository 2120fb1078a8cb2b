"""Rule hits: how often each rule matched, which never did, and which are reported as wrong most often."""

from datetime import datetime

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.row_scope import row_scope
from baton.policies.in_force import Policies
from baton.records.replay import rule_hits_store
from baton.records.replay.period import Period


class RuleHitCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The hits of one rule in a period, by effect; `last_hit` is None for a rule without any.

    `active` is False for a rule that has hits and is no longer in the caller's policy set.
    """

    rule: str
    decision: str
    active: bool
    enabled: bool
    shadow: bool
    hits: dict[str, int]
    last_hit: datetime | None
    users: int
    reports: int
    never_fired: bool


class RuleHits(msgspec.Struct, frozen=True):
    """Counts the rule hits that a principal may see."""

    database: Database
    policies: Policies

    async def find(self, principal: Principal, project: str, period: Period) -> list[RuleHitCounts]:
        """Return the counts of every rule in the caller's policy set or with hits: most reported, then most hit first.

        Raises:
            StoreUnavailable: If the database is away.
        """
        theirs, organisation = row_scope(principal, "decisions.read"), principal.organisation
        try:
            summed = await rule_hits_store.hits(self.database, organisation, theirs, period)
            reports = await rule_hits_store.reports(self.database, organisation, theirs, period)
        except DatabaseUnavailable:
            raise StoreUnavailable("the decisions cannot be counted now; try again") from None
        in_force = await self.policies.prepare(principal, project, wait_s=None)
        rules = {rule.id: rule for rule in in_force.policies.rules}
        counted = []
        for rule_id in rules.keys() | {one.rule for one in summed.hits}:
            rule = rules.get(rule_id)
            own = [one for one in summed.hits if one.rule == rule_id]
            counted.append(
                RuleHitCounts(
                    rule=rule_id,
                    decision=rule.decision if rule else "",
                    active=rule is not None,
                    enabled=rule is not None and rule.enabled,
                    shadow=rule is not None and rule.shadow,
                    hits={one.effect: one.count for one in own},
                    last_hit=max((one.last for one in own), default=None),
                    users=summed.users.get(rule_id, 0),
                    reports=reports.get(rule_id, 0),
                    never_fired=not own,
                )
            )
        return sorted(counted, key=lambda one: (-one.reports, -sum(one.hits.values()), one.rule))
