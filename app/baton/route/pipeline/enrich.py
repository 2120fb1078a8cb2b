"""The stage `enrich`: adds knowledge other than agents to a prompt, one section per kind."""

from baton.clients.registry import takes_context
from baton.context.enrichment.service import WHOLE_S, Enricher, HandlerRun
from baton.events.emission import Emitter
from baton.events.payloads import ContextEnrichment
from baton.route.pipeline.stage import Route, Section, StageName
from baton.route.prompt import Prompt

PRIORITIES = {"summarization": 60, "code_analysis": 50, "similarity": 40}
"""Priorities of the sections, below those of the route itself."""
SLACK_S = 0.1  # what the stage may take beside the handlers' own budget, in seconds


class Enrich:
    """Runs the handlers, and adds a section for each non-empty result."""

    name: StageName = "enrich"
    budget_s = WHOLE_S + SLACK_S

    def __init__(self, enricher: Enricher, events: Emitter) -> None:
        self._enricher = enricher
        self._events = events

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Add the handlers' results. Late or failed handlers are named in `degraded`."""
        # If the client passes no context to the model, enrichment would cost and reach nobody.
        if route.passed or not takes_context(prompt.client, "UserPromptSubmit"):
            return
        runs = await self._enricher.enrich(prompt)
        self._emit(prompt, route.id, runs)
        route.degraded.extend(f"{self.name}:{run.name}" for run in runs if run.outcome in {"late", "failed"})
        route.sections.extend(
            Section(source=run.name, heading=run.heading, text=run.enrichment.text, priority=PRIORITIES[run.name])
            for run in runs
            if run.outcome == "kept"
        )

    def _emit(self, prompt: Prompt, route_id: str, runs: list[HandlerRun]) -> None:
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
