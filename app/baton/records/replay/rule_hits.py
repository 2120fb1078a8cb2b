"""Rule hits: each rule's count, unused rules, rules reported as wrong, and noisy packs."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec

from baton.kernel.base.sql import Database, StoreErrors
from baton.people.users import row_scope
from baton.policies.in_force import Policies
from baton.records.columns.reading import Period
from baton.records.replay import rule_hits_store
from baton.records.replay.rule_hits_store import STOPS, HitSums
from baton.rules.call.call import Principal
from baton.rules.call.record import Record
from baton.rules.call.verdict import Facts
from baton.rules.policy import drafts
from baton.rules.policy.drafts import Shape
from baton.rules.policy.matching.rule import PolicySet, Rule
from baton.rules.policy.replay import Replayer
from baton.rules.policy.rules.files import PolicyFiles, pack_of
from baton.rules.policy.rules.model import Switch

MOST_SHAPED = 500
"""Calls that shapes are made of: the latest of the period."""
MOST_SHAPES = 3
FEWEST = 3
"""Calls that a pack stops before its rate says anything."""
EXAMPLES = 3
_SHOWN = 200


class RuleHitCounts(msgspec.Struct, frozen=True, kw_only=True):
    """One rule in a period, with its hits by effect; most reported first, then most hit.

    `active` is False for a rule with hits but no longer in the caller's policy set.
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


class PackLayer(msgspec.Struct, frozen=True, kw_only=True):
    """A layer with a switch for a pack; `name` is "" for the organisation's folder."""

    tier: str
    name: str
    state: Switch


class PackRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of a pack, with its hits in the period by effect."""

    id: str
    description: str
    decision: str
    state: Switch
    hits: dict[str, int]


class PackReport(msgspec.Struct, frozen=True, kw_only=True):
    """A pack, its state for you or in a layer, and its hits in the period.

    `stopped` of `calls` were asked about or refused, or would have been in shadow; `rate` is their share and `promise`
    the pack's promised share, in percent: a `noisy` pack stopped more. `layers` switch it, wide to narrow.
    """

    name: str
    title: str
    description: str
    promise: float
    state: Switch
    layers: list[PackLayer]
    rules: list[PackRule]
    calls: int
    stopped: int
    rate: float
    noisy: bool


class PackShape(msgspec.Struct, frozen=True, kw_only=True):
    """A frequent shape of a pack's stopped calls, with an exception for `cures` of them.

    `exception` is the condition as YAML; `path` and `text` are the rule's file with it, for a layer. The texts are ""
    if the rule could not match anything then.
    """

    shape: str
    rule: str
    count: int
    call: str
    examples: list[str]
    exception: str
    path: str
    text: str
    cures: int


class RuleHits(msgspec.Struct, frozen=True):
    """Counts the rule hits visible to a principal."""

    database: Database
    policies: Policies

    async def count(self, principal: Principal, project: str, period: Period) -> list[RuleHitCounts]:
        """Return the counts of every rule in the caller's policy set or with hits: most reported, then most hit first.

        Raises:
            StoreUnavailable: If the database is unavailable.
        """
        theirs, organisation = row_scope(principal, "decisions.read"), principal.organisation
        with StoreErrors("the decisions cannot be counted now; try again"):
            summed = await rule_hits_store.hits(self.database, organisation, theirs, period)
            reports = await rule_hits_store.reports(self.database, organisation, theirs, period)
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

    async def packs(self, principal: Principal, policies: PolicySet, period: Period) -> list[PackReport]:
        """Return the packs of a policy set, by name, with their hits.

        Raises:
            StoreUnavailable: If the database is unavailable.
        """
        theirs = row_scope(principal, "decisions.read")
        with StoreErrors("the decisions cannot be counted now; try again"):
            summed = await rule_hits_store.hits(self.database, principal.organisation, theirs, period)
        return [_report(name, policies, summed) for name in sorted(policies.parsed.packs)]

    async def shapes(
        self, principal: Principal, policies: PolicySet, rules: str, period: Period, only: str = ""
    ) -> list[PackShape]:
        """Return the three most frequent shapes of the calls that some rules stopped, or one shape of one rule.

        Args:
            principal: Whose reach limits the calls.
            policies: The rules in force.
            rules: The beginning of the rules' ids; with `only`, a rule's id.
            period: When the calls were made.
            only: The text of an exact shape.

        Raises:
            StoreUnavailable: If the database is unavailable.
        """
        theirs = row_scope(principal, "decisions.read")
        with StoreErrors("the decisions cannot be read now; try again"):
            records = await rule_hits_store.stopped_calls(
                self.database, principal.organisation, theirs, period, rules, MOST_SHAPED
            )
        return await asyncio.to_thread(_shapes, policies, rules, only, records)


def _report(name: str, policies: PolicySet, summed: HitSums) -> PackReport:
    pack, layers = policies.parsed.packs[name], list[PackLayer]()
    parsed: PolicyFiles | None = policies.parsed
    while parsed is not None:
        if switch := parsed.own.packs.get(name):
            layers.insert(0, PackLayer(tier=parsed.layer.tier, name=parsed.layer.name, state=switch))
        parsed = parsed.above
    stopped = summed.packs.get(name, 0)
    return PackReport(
        name=name,
        title=pack.title,
        description=pack.description,
        promise=pack.promise,
        state=policies.config.packs.get(name, "off"),
        layers=layers,
        rules=[
            PackRule(
                id=rule.id,
                description=rule.description,
                decision=rule.decision,
                state="off" if not rule.enabled else "shadow" if rule.shadow else "on",
                hits={one.effect: one.count for one in summed.hits if one.rule == rule.id},
            )
            for rule in policies.rules
            if pack_of(rule.id) == name
        ],
        calls=summed.calls,
        stopped=stopped,
        rate=round(100 * stopped / summed.calls, 2) if summed.calls else 0.0,
        noisy=stopped >= FEWEST and 100 * stopped > pack.promise * summed.calls,
    )


def _shapes(policies: PolicySet, begins: str, only: str, records: Sequence[Record]) -> list[PackShape]:
    replayer, rules = Replayer(), {rule.id: rule for rule in policies.rules if rule.id.startswith(begins)}
    found: dict[tuple[str, str], list[tuple[Record, Facts, Shape]]] = {}
    for record in records:
        facts = replayer.facts(policies, record)
        if isinstance(facts, str):
            continue
        for rule_id in {hit.id for hit in record.rules if hit.effect in STOPS} & rules.keys():
            shape = drafts.shape(policies, rules[rule_id], facts, exact=only != "")
            found.setdefault((rule_id, shape.text), []).append((record, facts, shape))
    noisiest = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))[:MOST_SHAPES]
    if only:
        noisiest = [(key, calls) for key, calls in found.items() if key == (begins, only)]
    return [_shape(policies, rules[rule_id], text, calls) for (rule_id, text), calls in noisiest]


def _shape(policies: PolicySet, rule: Rule, text: str, calls: Sequence[tuple[Record, Facts, Shape]]) -> PackShape:
    record, facts, shape = calls[-1]
    draft = drafts.excepted(policies, rule, shape, facts)
    return PackShape(
        shape=text,
        rule=rule.id,
        count=len(calls),
        call=record.shown[:_SHOWN],
        examples=[one.id for one, _, _ in calls[-EXAMPLES:]],
        exception=drafts.as_yaml(shape.condition) if draft else "",
        path=draft.path if draft else "",
        text=draft.text if draft else "",
        cures=drafts.cured(policies, draft, [one for _, one, _ in calls]) if draft else 0,
    )
