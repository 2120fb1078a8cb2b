"""The first and last stages: whether a prompt is routed at all, and the context that tells its agent where it was led.

No roster and no prompt can break out of the context: names and descriptions are put on one line, cut and cleaned.
"""

import shlex
from functools import lru_cache

from baton.engine.call.client_words import ClientWords, words_of
from baton.engine.routing.candidates import Candidate
from baton.engine.routing.index import LONGEST_SHOWN
from baton.engine.routing.prompts import skip_reason, workflow_kind
from baton.engine.text.quoting import one_line
from baton.route.pipeline.stage import Route, Section, StageName, Workflow
from baton.route.prompt import Prompt

LONGEST = 8_000
"""Characters of the context: clients pass on some 9,500 bytes in line."""
SELECTION, CANDIDATES = 100, 80
"""Priorities of the two sections."""
_NAME = 200
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
    """The stage `assemble`: joins the sections in their order, without those that there is no room for."""

    name: StageName = "assemble"
    budget_s = 0.05

    async def run(self, prompt: Prompt, route: Route) -> None:  # noqa: ARG002 - every stage is handed both
        """Write the context; a local model's answer stands alone."""
        answer = route.local_answer
        route.additional_context = answer.text[:LONGEST] if answer is not None else assembled(route.sections)


def selection_section(route: Route, client: str, home: str) -> Section:
    """Write the section of the agent that was chosen.

    It has the seed's line, an imperative that names the agent, a line that tells it from its neighbour, and the command
    that shows its definition. Agents follow an imperative; a better description alone they do not.

    Args:
        route: The route, with its selected agent and candidates.
        client: The agent's client: how it starts a sub-agent depends on it.
        home: The roster that the definition can be read from, "" for none.
    """
    name = _shown(route.selected_agent)
    how = _start(name, words_of(client))
    chosen = next((one for one in route.candidates if one.name == route.selected_agent), None)
    other = next((one for one in route.candidates if one.name != route.selected_agent), None)
    score = route.confidence if chosen is None else chosen.score
    lines = [f"Selected: {name} (confidence: {score:.2f})", "", f"Use the `{name}` agent for this prompt: {how}."]
    if chosen is not None and other is not None:
        lines.append(f"`{name}`: {_about(chosen)} Its nearest neighbour is `{_shown(other.name)}`: {_about(other)}")
    if home:
        show = f"baton roster show {shlex.quote(_shown(home))} {shlex.quote(name)}"
        lines.append(f"If you have no agent of that name, do the work by its definition: `{show}`.")
    return Section(heading="Agent Selection", text="\n".join(lines), priority=SELECTION)


def _start(name: str, words: ClientWords) -> str:
    key = next((key for key, value in words.task_call[1].items() if value == "{agent}"), "")
    return f"call the {words.task_tool} with {key}='{name}'" if key else f"{words.task_tool} for `{name}`"


def candidates_section(route: Route) -> Section:
    """Write the section of the candidates with their scores."""
    lines = [f"- {_shown(one.name)} ({one.score:.2f}): {_about(one)}" for one in route.candidates]
    if not route.selected_agent:
        lines.insert(0, "None of these agents is a clear match; use one only if it fits.")
    return Section(heading="Candidates", text="\n".join(lines), priority=CANDIDATES)


def assembled(sections: list[Section]) -> str:
    """Return the sections as markdown of at most `LONGEST` characters.

    Whole sections are dropped, the one of the lowest priority first; of two alike the later one.
    """
    left = [one for one in sections if one.text]
    while left and len(_joined(left)) > LONGEST:
        lowest = min(one.priority for one in left)
        last = max(number for number, one in enumerate(left) if one.priority == lowest)
        del left[last]
    return _joined(left)


def _joined(sections: list[Section]) -> str:
    return "\n\n".join(f"## {one.heading}\n\n{one.text}" for one in sections)


# The same few hundred names and descriptions are cleaned for every prompt, hence the caches.
@lru_cache(maxsize=4_096)
def _shown(name: str) -> str:
    return one_line(name, _NAME)


@lru_cache(maxsize=4_096)
def _line(description: str) -> str:
    return one_line(description, LONGEST_SHOWN) or "no description."


def _about(one: Candidate) -> str:
    return _line(one.description)
