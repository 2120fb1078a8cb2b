"""Builds what prompts are told beside their route: enrichments, and what is measured of them."""

import msgspec

from baton.context.enrichment.handler import Handler
from baton.context.enrichment.service import Enricher
from baton.context.enrichment.summarization import Summarization
from baton.engine.call.principal import Principal
from baton.kernel.kernel import Kernel


class ContextFeature(msgspec.Struct, frozen=True, kw_only=True):
    """What is put into prompts."""

    enricher: Enricher
    summarization: Summarization

    def session_started(self, principal: Principal, project: str, session_id: str) -> None:  # noqa: ARG002
        """Prepare for the prompts of a session that has started, resumed or been compacted; nobody waits for it."""
        self.summarization.forget(principal, session_id)


def build(kernel: Kernel) -> ContextFeature:
    """Build the services."""
    summarization = Summarization(kernel.database, kernel.redis)
    handlers: tuple[Handler, ...] = (summarization,)
    return ContextFeature(enricher=Enricher(lambda _: handlers), summarization=summarization)
