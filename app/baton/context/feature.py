"""Builds the additions to prompts besides their route: a team's patterns, advisories on edits, and enrichments."""

import msgspec

from baton.context.advisories import Advisories, PromptAdvisories
from baton.context.codemap.index import CodeIndexes
from baton.context.codemap.service import CodeMaps
from baton.context.compliance.inbox import ComplianceInbox
from baton.context.compliance.kafka_inbox import KafkaComplianceInbox
from baton.context.compliance.service import Compliance
from baton.context.compliance.store import ComplianceStore
from baton.context.enrichment.code_analysis import CodeAnalysis
from baton.context.enrichment.service import Enricher
from baton.context.enrichment.similarity import Similarity
from baton.context.enrichment.summarization import Summarization
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import Meanings
from baton.context.patterns.injection import PatternInjection
from baton.context.patterns.learning import PatternLearning
from baton.context.patterns.service import Patterns
from baton.context.patterns.store import PatternCounts
from baton.events.emission import Emitter
from baton.events.topics import full_names
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.policies.in_force import Policies
from baton.records.pipeline.recorder import Counters, Recorder
from baton.rules.call.call import Principal


class ContextFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services for additions to prompts."""

    enricher: Enricher
    summarization: Summarization
    patterns: Patterns
    patterns_in_force: PatternsInForce
    learning: PatternLearning
    code_maps: CodeMaps
    code_indexes: CodeIndexes
    injection: PatternInjection
    advisories: PromptAdvisories
    compliance: Compliance

    def session_started(self, principal: Principal, project: str, session_id: str) -> None:
        """Prepare for the prompts of a started, resumed or compacted session, without waiting."""
        self.summarization.forget(principal, session_id)
        self.code_indexes.warm(principal, project)


async def build(
    kernel: Kernel, *, counters: Counters, events: Emitter, policies: Policies, recorder: Recorder
) -> ContextFeature:
    """Build the services and read the patterns in force. Raise DatabaseUnavailable."""
    summarization = Summarization(kernel.database, kernel.redis)
    code_indexes = CodeIndexes(kernel.database)
    in_force = PatternsInForce(kernel.database, kernel.changes, kernel.organisation)
    await in_force.load()
    meanings = Meanings()
    counts = PatternCounts(kernel.database, kernel.organisation)
    kernel.every(PeriodicTask("counts of patterns", 2, lambda _: counts.flush(), at_stop=True))
    advisories = Advisories(kernel.redis)
    injection = PatternInjection(
        database=kernel.database,
        redis=kernel.redis,
        in_force=in_force,
        meanings=meanings,
        counts=counts,
        lifetime_s=kernel.settings.history_ttl_s,
    )
    patterns = Patterns(kernel.database, kernel.changes, in_force, meanings)
    similarity = Similarity(patterns.search, injection.given)
    learning = PatternLearning(kernel.database, kernel.changes, patterns, policies, kernel.organisation)
    kernel.every(PeriodicTask("patterns", 3_600, lambda _: learning.learn(), one_server=True))
    compliance = Compliance(
        database=kernel.database,
        store=ComplianceStore(kernel.redis),
        in_force=in_force,
        advisories=advisories,
        counts=counts,
        counters=counters,
        emitter=events,
        organisation=kernel.organisation,
        enabled=kernel.settings.enable_pattern_enforcement,
        external=kernel.settings.external_compliance,
    )
    kernel.every(PeriodicTask("checks of edits", 60, compliance.evaluate_queued, wake=compliance.arrived))
    if kernel.settings.external_compliance:
        kernel.run(ComplianceInbox(kernel.redis.url, compliance).run)
        kafka_url = kernel.settings.kafka_url.get_secret_value()
        if kafka_url and not kafka_url.startswith("clickhouse"):
            topics = full_names(kernel.settings.events_prefix, kernel.settings.events_topics)
            kafka = KafkaComplianceInbox(
                kafka_url, topics["compliance-evaluated"], compliance, organisation=kernel.organisation
            )
            kernel.run(kafka.run)
    return ContextFeature(
        enricher=Enricher((summarization, CodeAnalysis(code_indexes), similarity)),
        summarization=summarization,
        code_maps=CodeMaps(kernel.database),
        code_indexes=code_indexes,
        patterns=patterns,
        learning=learning,
        patterns_in_force=in_force,
        injection=injection,
        advisories=PromptAdvisories(advisories, in_force, recorder.put),
        compliance=compliance,
    )
