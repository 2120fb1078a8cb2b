"""The first and last stages: whether a prompt is routed at all, and the context that its agent is told."""

from baton.engine.routing.prompts import skip_reason, workflow_kind
from baton.route.pipeline.stage import Route, Section, StageName, Workflow
from baton.route.prompt import Prompt

LONGEST = 8_000
"""Characters of the context: clients pass on some 9,500 bytes in line."""
_SUBAGENT = "an agent wrote this prompt for its sub-agent"


class Detect:
    """The stage `detect`: looks at the prompt's words only."""

    name: StageName = "detect"
    budget_s = 0.005

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Decide whether the prompt is passed on without routing, and which workflow it asks for."""
        passed = _SUBAGENT if prompt.agent_id else skip_reason(prompt.text)
        if passed:
            route.passed = route.reason = passed
            return
        kind = workflow_kind(prompt.text)
        route.workflow = Workflow(detected=bool(kind), type=kind)


class Assemble:
    """The stage `assemble`: joins the sections, without those that there is no room for."""

    name: StageName = "assemble"
    budget_s = 0.05

    async def run(self, prompt: Prompt, route: Route) -> None:  # noqa: ARG002 - every stage is handed both
        """Write the context; a local model's answer stands alone."""
        answer = route.local_answer
        if answer is not None:
            route.additional_context = answer.text[:LONGEST]
            return
        fitting = fitted(route.sections)
        route.injected = {one.source: one.text for one in fitting}
        route.additional_context = joined(fitting)


def fitted(sections: list[Section]) -> list[Section]:
    """Return the sections that are at most `LONGEST` characters of markdown together.

    The section of the highest priority comes first. Where there is no room for all, whole sections are dropped, the one of
    the lowest priority first; of two alike the later one.
    """
    left = sorted((one for one in sections if one.text), key=lambda one: -one.priority)
    while left and len(joined(left)) > LONGEST:
        left.pop()
    return left


def joined(sections: list[Section]) -> str:
    """Return sections as markdown."""
    return "\n\n".join(f"## {one.heading}\n\n{one.text}" for one in sections)
