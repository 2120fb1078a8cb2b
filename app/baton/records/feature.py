"""Builds the records of decisions: their way to SQL, and what people ask of them."""

import msgspec

from baton.kernel.kernel import Kernel
from baton.policies.in_force import Policies
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder
from baton.records.replay.rule_counts import RuleCounts
from baton.records.replay.service import Replay
from baton.records.review.audit import Audit
from baton.records.review.decisions import Decisions
from baton.records.review.delegation_share import Analytics
from baton.records.review.wrong_blocks import Reports


class RecordsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided, and what people say of it."""

    counters: Counters
    recorder: Recorder
    decisions: Decisions
    audit: Audit
    reports: Reports
    analytics: Analytics
    replay: Replay
    rule_counts: RuleCounts


async def build(kernel: Kernel, policies: Policies) -> RecordsFeature:
    """Build the services and start the recorder."""
    recorder = Recorder(kernel.settings, kernel.redis.url, kernel.database)
    await recorder.start()
    kernel.on_stop(recorder.stop)
    decisions = Decisions(kernel.database)
    return RecordsFeature(
        counters=Counters(),
        recorder=recorder,
        decisions=decisions,
        audit=Audit(kernel.database),
        reports=Reports(kernel.database, kernel.changes, decisions),
        analytics=Analytics(kernel.database, policies),
        replay=Replay(kernel.database, policies),
        rule_counts=RuleCounts(kernel.database, policies),
    )
