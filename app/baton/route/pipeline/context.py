"""The first and last stages: whether a prompt is routed at all, and the context for its agent."""

from baton.clients.registry import takes_context
from baton.context.advisories import HEADING as ADVISORY
from baton.context.advisories import PromptAdvisories
from baton.context.patterns import injection as rendering
from baton.context.patterns.injection import PatternInjection, PatternsUnavailable
from baton.kernel.redis.client import RedisUnavailable
from baton.lib.router.prompts import skip_reason, workflow_kind
from baton.route.pipeline.stage import Route, Section, StageName, Workflow
from baton.route.prompt import Prompt

LONGEST = 8_000  # characters of the context: clients pass on some 9,500 bytes in line
_SUBAGENT = "an agent wrote this prompt for its sub-agent"


class Detect:
    """The stage `detect`: looks at the prompt's words only."""

    name: StageName = "detect"
    budget_s = 0.005

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Decide whether the prompt passes without routing, and its requested workflow."""
        passed = _SUBAGENT if prompt.agent_id else skip_reason(prompt.text)
        if passed:
            route.passed = route.reason = passed
            return
        kind = workflow_kind(prompt.text)
        route.workflow = Workflow(detected=bool(kind), type=kind)


class Assemble:
    """The stage `assemble`: joins the sections within the maximum length."""

    name: StageName = "assemble"
    budget_s = 0.05

    async def run(self, prompt: Prompt, route: Route) -> None:  # noqa: ARG002 - every stage is handed both
        """Write the context. A local model's answer replaces all other sections."""
        answer = route.local_answer
        if answer is not None:
            route.additional_context = answer.text[:LONGEST]
            return
        route.additional_context = joined(fitted(route.sections))


def fitted(sections: list[Section]) -> list[Section]:
    """Return the sections with at most `LONGEST` characters of markdown together.

    The section of the highest priority comes first. Beyond the limit, whole sections are dropped, the one of the lowest
    priority first; of two equal ones the later.
    """
    left = sorted((one for one in sections if one.text), key=lambda one: -one.priority)
    while left and len(joined(left)) > LONGEST:
        left.pop()
    return left


def joined(sections: list[Section]) -> str:
    """Return sections as markdown."""
    return "\n\n".join(f"## {one.heading}\n\n{one.text}" for one in sections)


# The stages `patterns` and `advisories`: the team's learned patterns, and violations by recent edits.

BUDGET_S = 1.0  # longest that each of the stages may take, in seconds
PATTERNS, ADVISORIES = 75, 70  # priorities of the two sections: below the route, above enrichments


class LearnedPatterns:
    """The stage `patterns`."""

    name: StageName = "patterns"
    budget_s = BUDGET_S

    def __init__(self, injection: PatternInjection) -> None:
        self._injection = injection

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Add the team's patterns, unless the session has been given some."""
        # A local model's answer replaces all sections: advisories taken now would be lost.
        if route.passed or route.local_answer is not None or not _reaches_the_model(prompt):
            return
        try:
            text = await self._injection.for_prompt(prompt.principal, prompt.session_id, prompt.project, prompt.text)
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
        """Add the session's waiting advisories, for any kind of prompt. A sub-agent's prompt gets none."""
        if prompt.agent_id or route.local_answer is not None or not _reaches_the_model(prompt):
            return
        try:
            text = await self._advisories.for_prompt(prompt.principal, prompt.session_id)
        except RedisUnavailable:
            route.degraded.append(self.name)
            return
        if text:
            route.sections.append(Section(source=self.name, heading=ADVISORY, text=text, priority=ADVISORIES))


def _reaches_the_model(prompt: Prompt) -> bool:
    """Return whether the client passes a prompt's context to the model: advisories are handed out only once."""
    return takes_context(prompt.client, "UserPromptSubmit")
