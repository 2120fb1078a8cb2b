"""The stage `enrich`: what is known for a prompt beside the agents, each kind of knowledge in a section of its own."""

from baton.context.enrichment.handler import EnrichmentPrompt
from baton.context.enrichment.service import WHOLE_S, Enricher, HandlerRun
from baton.events.emitting.emission import Emitter
from baton.events.payloads.context import ContextEnrichment, ContextInjected
from baton.route.pipeline.stage import Route, Section, StageName
from baton.route.prompt import Prompt
from baton.shared.client_abilities import takes_context

PRIORITIES = {"summarization": 60, "code_analysis": 50, "similarity": 40}
"""Priorities of the sections, below those of the route itself."""
OTHERS = 30
"""The priority of what a handler of somebody else's says."""
SLACK_S = 0.1
"""What the stage may take beside the handlers' own budget, in seconds."""


class Enrich:
    """Asks the handlers, and adds a section for each that has something to say."""

    name: StageName = "enrich"
    budget_s = WHOLE_S + SLACK_S

    def __init__(self, enricher: Enricher, events: Emitter) -> None:
        self._enricher = enricher
        self._events = events

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Add what the handlers say; each that was late or failed is named in `degraded`."""
        # A text that its client hands on to no model would be paid for, and told to nobody.
        if route.passed or not takes_context(prompt.client, "UserPromptSubmit"):
            return
        runs = await self._enricher.enrich(
            EnrichmentPrompt(
                text=prompt.text,
                principal=prompt.principal,
                project=prompt.project,
                session_id=prompt.session_id,
                client=prompt.client,
            )
        )
        self._emit(prompt, route.id, runs)
        route.degraded.extend(f"{self.name}:{run.name}" for run in runs if run.outcome in {"late", "failed"})
        route.sections.extend(
            Section(
                source=run.name,
                heading=run.heading,
                text=run.enrichment.text,
                priority=PRIORITIES.get(run.name, OTHERS),
            )
            for run in runs
            if run.outcome == "kept"
        )

    def _emit(self, prompt: Prompt, route_id: str, runs: list[HandlerRun]) -> None:
        """Emit what became of each handler, and what was put in of them all."""
        for run in runs:
            said = run.enrichment
            event = ContextEnrichment(
                session_id=prompt.session_id,
                correlation_id=route_id,
                enrichment_type=run.name,
                model_used=said.model_used,
                latency_ms=round(run.latency_ms, 3),
                result_token_count=run.tokens,
                relevance_score=said.relevance,
                fallback_used=said.fallback_used,
                tokens_saved=said.tokens_saved,
                was_dropped=run.outcome == "dropped",
                prompt_version=said.prompt_version,
            )
            self._events.emit(prompt.principal, event)
        kept = [run for run in runs if run.outcome == "kept"]
        if kept:
            injected = ContextInjected(
                session_id=prompt.session_id,
                correlation_id=route_id,
                context_source=",".join(run.name for run in kept),
                context_size_bytes=sum(len(run.enrichment.text.encode()) for run in kept),
                retrieval_duration_ms=max(run.latency_ms for run in runs),
            )
            self._events.emit(prompt.principal, injected)
