"""Replays past calls under other policies, and returns the changed decisions by rule and by user.

Calls are rebuilt from their records. A call impossible to rebuild, or now decided differently by the same policies, is
counted in `not_replayed`.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

import msgspec

from baton.kernel.base.errors import Problem
from baton.kernel.base.sql import Database, StoreErrors
from baton.people.users import row_scope
from baton.policies.in_force import ORGANISATION, Combinations, InForce, Key, Policies, as_layer
from baton.policies.layers import Where, refusal
from baton.records.columns.reading import Period
from baton.records.replay import rule_hits_store
from baton.rules.call.call import Principal
from baton.rules.call.record import Record
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import PolicyProblems, PolicySet, extend, layers_of, load
from baton.rules.policy.replay import Replayer, principal_of
from baton.rules.policy.rules.files import ALL_UNLOCKED, Layer

PAGE = 25
"""Records per page; more would delay the event loop."""
SLICE_S = 0.002
"""Longest slice of work, in seconds; after each, the event loop has as long for answers."""
EXAMPLES = 5
"""Ids of decisions that each change names."""
MOST_CALLS = 500
"""Calls that change and are listed one by one; all are counted."""
_SHOWN = 200
"""Characters of a call that its list shows."""


class Change(msgspec.Struct, kw_only=True):
    """Calls with the same change of decision: `before` and `after` are an effect with its rule."""

    before: str
    after: str
    rule: str
    count: int = 0
    users: dict[str, int] = {}
    examples: list[str] = []


class ChangedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call with a changed decision: `before` and `after` are an effect with its rule. Secrets in it are masked."""

    decision_id: str
    at: datetime
    user: str
    tool: str
    call: str
    before: str
    after: str


class Summary(msgspec.Struct, kw_only=True):
    """The result of a replay. Every call read is either replayed, or counted in `not_replayed` by its reason.

    `by_tool_alone` counts calls replayed without their input, because it was not stored. `truncated` is True if the
    period has more calls than the limit; the oldest were taken.
    """

    read: int = 0
    replayed: int = 0
    changed: int = 0
    by_tool_alone: int = 0
    not_replayed: dict[str, int] = {}
    changes: list[Change] = []
    by_rule: dict[str, int] = {}
    by_user: dict[str, int] = {}
    present_revision: str = ""
    candidate_revision: str = ""
    truncated: bool = False


class Progress(msgspec.Struct, frozen=True):
    """A replay's progress: calls read, calls in total, and calls with a changed decision."""

    read: int
    total: int
    changed: int = 0


class ReplayLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a replay, with one of its fields: progress, changed calls, result, or error."""

    progress: Progress | msgspec.UnsetType = msgspec.UNSET
    calls: list[ChangedCall] | msgspec.UnsetType = msgspec.UNSET
    summary: Summary | msgspec.UnsetType = msgspec.UNSET
    problem: Problem | msgspec.UnsetType = msgspec.UNSET


class Replay:
    """Replays the calls visible to a principal."""

    def __init__(self, database: Database, policies: Policies) -> None:
        self._database = database
        self._policies = policies

    async def candidate(self, where: Where, files: dict[str, str]) -> Combinations:
        """Return the policies as they would be if one layer had these files. Locks are for uploads: nothing is stored.

        Raises:
            PoliciesRefused: If the files are invalid; it names every problem by file and line.
        """
        base, lower, active = self._policies.base, dict(self._policies.lower), self._policies.active
        layer = as_layer(where.tier, where.name, files)

        def build() -> Combinations:
            if where.tier == ORGANISATION[0]:
                whole = load([*(one for one in base if one.name != layer.name), layer], ALL_UNLOCKED)
                return Combinations(InForce(whole), lower, everywhere=ALL_UNLOCKED)
            extend(active, [layer], ALL_UNLOCKED)
            return Combinations(InForce(active), lower | {(where.tier, where.name): layer}, everywhere=ALL_UNLOCKED)

        return await self._built(build)

    async def of_revision(self, texts: dict[str, str]) -> Combinations:
        """Return the policies as they would be with the layers of a revision, given its texts."""
        layers, lower = layers_of(texts), self._policies.lower
        narrow: dict[Key, Layer] = {(one.tier, one.name): one for one in layers if one.narrow}

        def build() -> Combinations:
            whole = load([one for one in layers if not one.narrow], ALL_UNLOCKED)
            extend(whole, list(narrow.values()), ALL_UNLOCKED)
            return Combinations(InForce(whole), {**lower, **narrow}, everywhere=ALL_UNLOCKED)

        return await self._built(build)

    async def _built(self, build: Callable[[], Combinations]) -> Combinations:
        try:
            return await asyncio.to_thread(build)
        except PolicyProblems as refused:
            raise refusal(refused.problems) from None

    async def run(
        self, principal: Principal, candidate: Combinations, period: Period, limit: int
    ) -> AsyncIterator[ReplayLine]:
        """Replay at most `limit` calls, oldest first. Yield progress and changes, and at the end the summary.

        The replay stops when its reader does.

        Raises:
            Forbidden: If the role may not replay.
            StoreUnavailable: If the database is unavailable.
        """
        theirs, organisation = row_scope(principal, "policies.replay"), principal.organisation
        run = _Run(self._policies.combinations(), candidate)
        after = ""
        with StoreErrors("the decisions cannot be read now; try again"):
            total = await rule_hits_store.count_calls(self._database, organisation, theirs, period, limit + 1)
            run.summary.truncated = total > limit
            total = min(total, limit)
            yield ReplayLine(progress=Progress(0, total))
            while run.summary.read < total:
                most = min(PAGE, total - run.summary.read)
                records: Sequence[Record] = await rule_hits_store.calls(
                    self._database, organisation, theirs, period, after=after, limit=most
                )
                if not records:
                    break
                after = records[-1].id
                # Evaluating holds the interpreter lock, in a thread too: pause between slices for the server's answers.
                while records:
                    records = await asyncio.to_thread(run.work, records)
                    await asyncio.sleep(SLICE_S)
                if run.listed:
                    yield ReplayLine(calls=run.take_listed())
                yield ReplayLine(progress=Progress(run.summary.read, total, run.summary.changed))
        yield ReplayLine(summary=run.finish())


class _Run:
    """The state of one replay."""

    def __init__(self, present: Combinations, candidate: Combinations) -> None:
        self._present = present
        self._candidate = candidate
        self._replayer = Replayer()
        self._changes: dict[tuple[str, str, str], Change] = {}
        self._missing: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._users: Counter[str] = Counter()
        self.listed: list[ChangedCall] = []
        self.summary = Summary(
            present_revision=present.whole.policies.revision, candidate_revision=candidate.whole.policies.revision
        )

    def work(self, records: Sequence[Record]) -> Sequence[Record]:
        """Replay records for one time slice. Return the rest."""
        end = time.perf_counter() + SLICE_S
        for done, record in enumerate(records, 1):
            self._replay(record)
            if time.perf_counter() > end:
                return records[done:]
        return ()

    def take_listed(self) -> list[ChangedCall]:
        """Return the changed calls not listed yet."""
        listed, self.listed = self.listed, []
        return listed

    def _replay(self, record: Record) -> None:
        self.summary.read += 1
        who = principal_of(record)
        present, candidate = (_for(state, who, record.project) for state in (self._present, self._candidate))
        facts = self._replayer.facts(present, record)
        if isinstance(facts, str):
            self._missing[facts] += 1
            return
        before = evaluate(present, facts)
        # The same policies decide it differently now: they saw more than the record holds.
        if record.revision == present.revision and before.effect != record.effect:
            self._missing["the record is incomplete: the same rules decide otherwise"] += 1
            return
        self.summary.replayed += 1
        self.summary.by_tool_alone += not facts.call.tool_input
        after = evaluate(candidate, facts)
        if (before.effect, before.rule) != (after.effect, after.rule):
            self._note(record, facts, (before.effect, before.rule), (after.effect, after.rule))

    def _note(self, record: Record, facts: Facts, before: tuple[str, str], after: tuple[str, str]) -> None:
        rule = after[1] or before[1]
        labels = (_label(*before), _label(*after), rule)
        change = self._changes.get(labels)
        if change is None:
            change = self._changes[labels] = Change(before=labels[0], after=labels[1], rule=rule, users={}, examples=[])
        change.count += 1
        user = facts.principal.user
        change.users[user] = change.users.get(user, 0) + 1
        if len(change.examples) < EXAMPLES:
            change.examples.append(record.id)
        self.summary.changed += 1
        if self.summary.changed <= MOST_CALLS:
            self.listed.append(
                ChangedCall(
                    decision_id=record.id,
                    at=record.at,
                    user=user,
                    tool=record.tool,
                    call=(record.command or " ".join(record.paths))[:_SHOWN],
                    before=labels[0],
                    after=labels[1],
                )
            )
        self._users[user] += 1
        self._rules.update({before[1], after[1]} - {""})

    def finish(self) -> Summary:
        """Return the summary, the most frequent first."""
        self.summary.not_replayed = dict(self._missing.most_common())
        self.summary.by_rule = dict(self._rules.most_common())
        self.summary.by_user = dict(self._users.most_common())
        self.summary.changes = sorted(self._changes.values(), key=lambda one: (-one.count, one.rule))
        return self.summary


def _for(state: Combinations, principal: Principal, project: str) -> PolicySet:
    found = state.get(principal, project) or state.build(state.keys(principal, project))
    return found.policies


def _label(effect: str, rule: str) -> str:
    return f"{effect} by {rule}" if rule else effect
