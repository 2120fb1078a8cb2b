"""Writes the sections about a prompt's route: one agent if certain, else a shortlist to choose from.

Every prompt pays for these texts, so they are short: `LONGEST_SELECTION` and `LONGEST_SHORTLIST` characters with their
headings. No roster can break out of them: names and descriptions are put on one line, cut and cleaned.
"""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from baton.clients.registry import words_of
from baton.clients.spec import Spec
from baton.lib.router.agents import Candidate
from baton.lib.router.index import LONGEST_SHOWN
from baton.lib.text.quoting import one_line
from baton.route.pipeline.stage import Section

SURE = 0.8  # the confidence from which one agent is named instead of a shortlist
SHORTLIST = 3
LEAST_SHOWN = 0.05  # the probability below which a candidate is not worth its line
LONGEST_SELECTION, LONGEST_SHORTLIST = 200, 600
SELECTION, CANDIDATES = 100, 80  # priorities of the two sections
_SELECTION_HEADING, _CANDIDATES_HEADING = "Agent Selection", "Candidates"
_AROUND_HEADING = len("## \n\n")
_NAME = 200
_SHORTEST_LINE = 24
# A model chooses by the description's part about when to use the agent, if present.
_WHEN = re.compile(
    r"(?:\b(?:Use|MUST BE USED|Invoke|Call|Choose|Best|Ideal)\b(?: this| the)?(?: sub-?agent| agent)?(?: proactively| PROACTIVELY)?"
    r" ?(?:when|for|to|if|after|before|whenever)\b.*)"
)


def selection_section(candidate: Candidate, client: str, home: str) -> Section | None:
    """Write the section of the chosen agent; None if even its name does not fit.

    Its line is an imperative naming the agent (agents follow an imperative, but not a better description alone), and
    the command showing its definition, for a client without the agent.

    Args:
        candidate: The agent, with the confidence in it.
        client: The agent's client: how it starts a sub-agent depends on it.
        home: The roster with the definition, "" for none.
    """
    name = _shown(candidate.name)
    head = f"Selected: {name} (confidence: {candidate.score:.2f})\n\n"
    use = f"Use the `{name}` agent"
    how = f"{use}: {_start(name, words_of(client))}."
    show = f" If you lack it: `baton roster show {shlex.quote(_shown(home))} {shlex.quote(name)}`."
    room = LONGEST_SELECTION - len(_SELECTION_HEADING) - _AROUND_HEADING
    texts = [f"{head}{how}{show}"] if home else []
    texts += [f"{head}{how}", f"{head}{use}.", f"{use}."]
    fitting = next((text for text in texts if len(text) <= room), None)
    return (
        None
        if fitting is None
        else Section(source="selection", heading=_SELECTION_HEADING, text=fitting, priority=SELECTION)
    )


def shortlist_section(candidates: Sequence[Candidate], client: str, *, several: bool = False) -> Section | None:
    """Write the section of the likely agents, each with its use case; None if none is likely enough.

    The client's model makes the choice, or chooses none: it knows the conversation.

    Args:
        candidates: The best first.
        client: The agent's client.
        several: Whether each is for another part of the prompt, rather than one of them for the whole.
    """
    shown = [one for one in candidates[:SHORTLIST] if one.score >= LEAST_SHOWN]
    if not shown:
        return None
    words = words_of(client)
    key = _agent_key(words)
    tool = f"{words.task_tool}, {key}" if key else words.task_tool
    how = "for the parts of this prompt" if several else "for this prompt; use one, or none if you know better"
    intro = f"Agents that may fit {how} ({tool}):"
    room = LONGEST_SHORTLIST - len(_CANDIDATES_HEADING) - _AROUND_HEADING - len(intro)
    lines = [intro]
    for left, one in zip(range(len(shown), 0, -1), shown, strict=True):
        line = _line(one, room // left - 1)
        if line:
            lines.append(line)
            room -= len(line) + 1
    return (
        Section(source="candidates", heading=_CANDIDATES_HEADING, text="\n".join(lines), priority=CANDIDATES)
        if len(lines) > 1
        else None
    )


def _line(candidate: Candidate, longest: int) -> str:
    """Return a candidate's line within a maximum of characters, "" if its name does not fit."""
    head = f"- `{_shown(candidate.name)}` ({candidate.score:.2f})"
    if len(head) > longest:
        return ""
    when = _when(candidate.description)
    room = longest - len(head) - 2
    return f"{head}: {one_line(when, room)}" if when and room >= _SHORTEST_LINE else head


def _agent_key(words: Spec) -> str:
    return next((key for key, value in words.task_call[1].items() if value == "{agent}"), "")


def _start(name: str, words: Spec) -> str:
    key = _agent_key(words)
    return f"call the {words.task_tool} with {key}='{name}'" if key else f"{words.task_tool} for `{name}`"


# The same few hundred names and descriptions are cleaned for every prompt, hence the caches.
@lru_cache(maxsize=4_096)
def _shown(name: str) -> str:
    return one_line(name, _NAME)


@lru_cache(maxsize=4_096)
def _when(description: str) -> str:
    """Return a description's part about when to use the agent, else its beginning."""
    line = one_line(description, LONGEST_SHOWN)
    found = _WHEN.search(line)
    return found[0] if found else line
