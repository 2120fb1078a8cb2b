"""The first stage: which prompts are not for routing at all, and which ask for automated work. It chooses no agent."""

from baton.engine.routing.prompts import skip_reason, workflow_kind
from baton.route.pipeline.stage import Route, StageName, Workflow
from baton.route.prompt import Prompt

_SUBAGENT = "an agent wrote this prompt for its sub-agent"


class Detect:
    """Looks at the prompt's words only."""

    name: StageName = "detect"
    budget_s = 0.005

    async def run(self, prompt: Prompt, route: Route) -> None:
        """Say whether the prompt passes, and what workflow it asks for."""
        passed = _SUBAGENT if prompt.agent_id else skip_reason(prompt.text)
        if passed:
            route.passed = route.reason = passed
            return
        kind = workflow_kind(prompt.text)
        route.workflow = Workflow(detected=bool(kind), type=kind)
