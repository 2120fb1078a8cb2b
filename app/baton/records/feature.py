"""Builds the records of decisions: the pipeline storing them, and the services reading them."""

from typing import Literal

import msgspec

from baton.events.feed import LiveFeed
from baton.events.writer import LogWriter
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.columns.writer import ColumnWriter
from baton.records.hook_failures import HookFailures
from baton.records.latency import Latencies
from baton.records.pipeline.recorder import Counters, Recorder
from baton.records.replay.rule_hits import RuleHits
from baton.records.replay.service import Replay
from baton.records.review.audit import Audit
from baton.records.review.decision_counts import DecisionCounts
from baton.records.review.decision_stream import DecisionStreams, FeedReaders
from baton.records.review.decisions import Decisions
from baton.records.review.delegation_share.service import DelegationShare
from baton.records.review.wrong_blocks import WrongBlocks
from baton.rules.call.call import Principal


class RecordsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services of this room, as other rooms and the routers find them."""

    counters: Counters
    recorder: Recorder
    decisions: Decisions
    decision_streams: DecisionStreams
    feed_readers: FeedReaders
    decision_counts: DecisionCounts
    audit: Audit
    wrong_blocks: WrongBlocks
    delegation_share: DelegationShare
    hook_failures: HookFailures
    latencies: Latencies
    replay: Replay
    rule_hits: RuleHits


async def build(kernel: Kernel, policies: Policies, users: Users, writer: LogWriter, feed: LiveFeed) -> RecordsFeature:
    """Build the services and start the recorder."""
    recorder = Recorder(writer, kernel.database)
    await recorder.start()
    kernel.on_stop(recorder.stop)
    kernel.every(PeriodicTask("sums", 60, ColumnWriter(kernel.database, kernel.organisation).catch_up, one_server=True))
    decisions = Decisions(kernel.database)

    async def recorded(principal: Principal, kind: Literal["user", "project", "rule"], name: str) -> set[str]:
        active = (await policies.prepare(principal, "")).policies.rules if kind == "rule" else ()
        return {one.id for one in active} | await decisions.names(principal, kind, name)

    users.recorded = recorded
    counters = Counters()
    readers = FeedReaders(feed, counters)
    hook_failures = HookFailures(kernel.database, kernel.organisation)
    kernel.every(PeriodicTask("failures of hooks", 2, lambda _: hook_failures.flush(), at_stop=True))
    return RecordsFeature(
        counters=counters,
        recorder=recorder,
        decisions=decisions,
        decision_streams=DecisionStreams(readers),
        feed_readers=readers,
        decision_counts=DecisionCounts(kernel.database),
        audit=Audit(kernel.database),
        wrong_blocks=WrongBlocks(kernel.database, kernel.changes, decisions),
        delegation_share=DelegationShare(kernel.database, policies),
        hook_failures=hook_failures,
        latencies=Latencies(kernel.database),
        replay=Replay(kernel.database, policies),
        rule_hits=RuleHits(kernel.database, policies),
    )
