"""Builds what prompts are told beside their route: a team's patterns, advisories on edits, and enrichments."""

import msgspec

from baton.context.advisories.service import PromptAdvisories
from baton.context.advisories.store import Advisories
from baton.context.codemap.indexes import CodeIndexes
from baton.context.codemap.service import CodeMaps
from baton.context.compliance.inbox import ComplianceInbox
from baton.context.compliance.kafka_inbox import KafkaComplianceInbox
from baton.context.compliance.service import Compliance
from baton.context.compliance.store import ComplianceStore
from baton.context.enrichment.code_analysis import CodeAnalysis
from baton.context.enrichment.handler import Handler
from baton.context.enrichment.registry import HandlerRegistry
from baton.context.enrichment.service import Enricher
from baton.context.enrichment.similarity import Similarity
from baton.context.enrichment.summarization import Summarization
from baton.context.patterns.counts import PatternCounts
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.injection import PatternInjection
from baton.context.patterns.learning import PatternLearning
from baton.context.patterns.meanings import Meanings
from baton.context.patterns.service import Patterns
from baton.context.utilization.injections import Injections
from baton.context.utilization.switches import BUILT_IN, SourceSwitches
from baton.context.utilization.usage import ContextUsage
from baton.engine.call.principal import Principal
from baton.events.emitting.emission import Emitter
from baton.events.topics import full_names
from baton.kernel.kernel import Kernel
from baton.policies.in_force import Policies
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder


class ContextFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What is put into prompts."""

    enricher: Enricher
    summarization: Summarization
    patterns: Patterns
    patterns_in_force: PatternsInForce
    learning: PatternLearning
    code_maps: CodeMaps
    code_indexes: CodeIndexes
    injection: PatternInjection
    advisories: PromptAdvisories
    registry: HandlerRegistry
    usage: ContextUsage
    injections: Injections
    switches: SourceSwitches
    compliance: Compliance

    def session_started(self, principal: Principal, project: str, session_id: str) -> None:
        """Prepare for the prompts of a session that has started, resumed or been compacted; nobody waits for it."""
        self.summarization.forget(principal, session_id)
        self.code_indexes.warm(principal, project)


async def build(
    kernel: Kernel, *, counters: Counters, events: Emitter, policies: Policies, recorder: Recorder
) -> ContextFeature:
    """Build the services, read the patterns in force and the switches. Raise DatabaseUnavailable."""
    summarization = Summarization(kernel.database, kernel.redis)
    code_indexes = CodeIndexes(kernel.database)
    in_force = PatternsInForce(kernel.database, kernel.changes, kernel.organisation)
    await in_force.load()
    meanings = Meanings()
    counts = PatternCounts(kernel.database, kernel.organisation)
    kernel.run(counts.run)
    advisories = Advisories(kernel.redis)
    injection = PatternInjection(
        database=kernel.database,
        redis=kernel.redis,
        in_force=in_force,
        meanings=meanings,
        counts=counts,
        emitter=events,
        lifetime_s=kernel.settings.history_ttl_s,
    )
    registry = HandlerRegistry(
        kernel.database,
        kernel.changes,
        kernel.organisation,
        reserved=BUILT_IN,
        allowed=kernel.settings.enrichment_hosts,
    )
    kernel.on_stop(registry.close)
    await registry.load()
    switches = SourceSwitches(kernel.database, kernel.changes, kernel.organisation, lambda: BUILT_IN | registry.names)
    await switches.load()
    patterns = Patterns(kernel.database, kernel.changes, in_force, meanings)
    similarity = Similarity(patterns.search, injection.given, lambda principal: switches.on(principal, "patterns"))
    built_in: tuple[Handler, ...] = (summarization, CodeAnalysis(code_indexes), similarity)
    usage = ContextUsage(kernel.database, counters)
    kernel.run(usage.run)
    injections = Injections(kernel.redis, usage, events)
    kernel.on_stop(injections.settle)
    learning = PatternLearning(kernel.database, kernel.changes, patterns, policies, kernel.organisation)
    kernel.run(learning.run)
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
    kernel.run(compliance.run)
    if kernel.settings.external_compliance:
        kernel.run(ComplianceInbox(kernel.redis.url, compliance).run)
        if kafka_url := kernel.settings.kafka_url.get_secret_value():
            topics = full_names(kernel.settings.events_prefix, kernel.settings.events_topics)
            kafka = KafkaComplianceInbox(
                kafka_url, topics["compliance-evaluated"], compliance, organisation=kernel.organisation
            )
            kernel.run(kafka.run)
    return ContextFeature(
        enricher=Enricher(
            lambda principal: [one for one in (*built_in, *registry.handlers) if switches.on(principal, one.name)]
        ),
        registry=registry,
        summarization=summarization,
        code_maps=CodeMaps(kernel.database),
        code_indexes=code_indexes,
        patterns=patterns,
        learning=learning,
        usage=usage,
        injections=injections,
        switches=switches,
        patterns_in_force=in_force,
        injection=injection,
        advisories=PromptAdvisories(advisories, in_force, recorder.put),
        compliance=compliance,
    )
