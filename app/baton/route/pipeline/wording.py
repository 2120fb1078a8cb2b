"""The sections that tell an agent where a prompt was led, in words that no roster and no prompt can break out of."""

import shlex
from functools import lru_cache

from baton.engine.routing.candidates import Candidate
from baton.engine.routing.index import LONGEST_SHOWN
from baton.engine.text.quoting import one_line
from baton.route.pipeline.stage import Route, Section

SELECTION, CANDIDATES = 100, 80
"""Priorities of the two sections."""
_NAME = 200


def selection_section(route: Route, client: str, home: str) -> Section:
    """Say the seed's line, name the agent in an imperative one, tell it from its neighbour, say where its definition is."""
    name = _shown(route.selected_agent)
    how = f"spawn_agent for `{name}`" if client == "codex" else f"call the Task tool with subagent_type='{name}'"
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


def candidates_section(route: Route) -> Section:
    """List the candidates with their scores."""
    lines = [f"- {_shown(one.name)} ({one.score:.2f}): {_about(one)}" for one in route.candidates]
    if not route.selected_agent:
        lines.insert(0, "None of these agents is a clear match; use one only if it fits.")
    return Section(heading="Candidates", text="\n".join(lines), priority=CANDIDATES)


@lru_cache(maxsize=4_096)
def _shown(name: str) -> str:
    return one_line(name, _NAME)


@lru_cache(maxsize=4_096)
def _line(description: str) -> str:
    return one_line(description, LONGEST_SHOWN) or "no description."


def _about(one: Candidate) -> str:
    return _line(one.description)
