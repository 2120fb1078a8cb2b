"""Builds what prompts are told beside their route: a team's patterns, and enrichments."""

import msgspec

from baton.context.enrichment.handler import Handler
from baton.context.enrichment.service import Enricher
from baton.context.enrichment.summarization import Summarization
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.meanings import Meanings
from baton.context.patterns.service import Patterns
from baton.engine.call.principal import Principal
from baton.kernel.kernel import Kernel


class ContextFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What is put into prompts."""

    enricher: Enricher
    summarization: Summarization
    patterns: Patterns
    patterns_in_force: PatternsInForce

    def session_started(self, principal: Principal, project: str, session_id: str) -> None:  # noqa: ARG002
        """Prepare for the prompts of a session that has started, resumed or been compacted; nobody waits for it."""
        self.summarization.forget(principal, session_id)


async def build(kernel: Kernel) -> ContextFeature:
    """Build the services and read the patterns in force. Raise DatabaseUnavailable."""
    summarization = Summarization(kernel.database, kernel.redis)
    handlers: tuple[Handler, ...] = (summarization,)
    in_force = PatternsInForce(kernel.database, kernel.changes, kernel.organisation)
    await in_force.load()
    return ContextFeature(
        enricher=Enricher(lambda _: handlers),
        summarization=summarization,
        patterns=Patterns(kernel.database, kernel.changes, in_force, Meanings()),
        patterns_in_force=in_force,
    )
