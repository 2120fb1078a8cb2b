"""The stages `patterns` and `advisories`: what a prompt's team has learned, and what recent edits did not follow."""

from baton.context.advisories import advisory
from baton.context.advisories.service import PromptAdvisories
from baton.context.patterns import rendering
from baton.context.patterns.injection import PatternInjection, PatternsUnavailable
from baton.kernel.redis.client import RedisUnavailable
from baton.route.pipeline.stage import Route, Section, StageName
from baton.route.prompt import Prompt
from baton.shared.client_abilities import takes_context

BUDGET_S = 1.0
"""Longest that each of the stages may take, in seconds. Seed 004."""
PATTERNS, ADVISORIES = 75, 70
"""Priorities of the two sections: below the route, above enrichments."""


class LearnedPatterns:
    """The stage `patterns`."""

    name: StageName = "patterns"
    budget_s = BUDGET_S

    def __init__(self, injection: PatternInjection) -> None:
        self._injection = injection

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Add the team's patterns, unless the session has been given some."""
        # A local model's answer stands alone: what is taken for it would be shown to nobody.
        if route.passed or route.local_answer is not None or not _reaches_the_model(prompt):
            return
        try:
            text = await self._injection.for_prompt(
                prompt.principal, prompt.session_id, prompt.project, prompt.text, correlation_id=route.id
            )
        except PatternsUnavailable:
            route.degraded.append(self.name)
            return
        if text:
            route.sections.append(Section(source=self.name, heading=rendering.HEADING, text=text, priority=PATTERNS))


class WaitingAdvisories:
    """The stage `advisories`."""

    name: StageName = "advisories"
    budget_s = BUDGET_S

    def __init__(self, advisories: PromptAdvisories) -> None:
        self._advisories = advisories

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Add what waits for this session's prompt, of whatever kind the prompt is; a sub-agent's prompt gets none."""
        if prompt.agent_id or route.local_answer is not None or not _reaches_the_model(prompt):
            return
        try:
            text = await self._advisories.for_prompt(prompt.principal, prompt.session_id)
        except RedisUnavailable:
            route.degraded.append(self.name)
            return
        if text:
            route.sections.append(Section(source=self.name, heading=advisory.HEADING, text=text, priority=ADVISORIES))


def _reaches_the_model(prompt: Prompt) -> bool:
    """Return whether the client hands the context of a prompt on; what is given out once must not be lost."""
    return takes_context(prompt.client, "UserPromptSubmit")
