"""Which prompts a small local model may answer, and which of its answers are good enough.

What a prompt wants is read from words, each worth one to three points; a prompt that wants something changed is the
agent's, whatever else it asks for.
"""

import re
from typing import Literal

import msgspec

from baton.engine.routing.local_gates import missing

Intent = Literal["document", "test", "research", "implement", "debug", "refactor", "run", "unknown"]
DELEGATABLE: tuple[Intent, ...] = ("document", "test", "research")
"""What a local model may be asked to do."""

LONGEST_PROMPT = 8_000
"""Characters of a prompt that the local model is sent, and that are read here."""
LEAST_CHARACTERS: dict[Intent, int] = {"document": 100, "test": 80, "research": 60}
"""What an answer must have, by intent."""
MARKERS: dict[Intent, tuple[str, ...]] = {
    "document": ('"""', "args:", "returns:", "parameters:"),
    "test": ("def test_", "class test", "@pytest", "assert"),
    "research": (),
}
"""Of which one must be in an answer, by intent."""
REFUSAL_WITHIN = 200
"""Characters at an answer's beginning in which a refusal would stand."""
REFUSALS = ("i cannot", "i'm unable", "i apologize", "as an ai", "i don't have", "i can't")
_REFUSAL = re.compile(r"\b(?:" + "|".join(REFUSALS) + r")\b")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`\uff07", "'"))
_START = 60
"""Characters in which a word says what the prompt is about, and counts twice."""
_DOUBT = 2
"""Points that speak for something else in any prompt: one weak word alone is not enough."""
_CHANGES = 2
"""Points at which a wish for a change makes a prompt the agent's."""
_CHANGE = (
    r"(?:write|add|create|make|change|update|remove|delete|replace) (?:(?:an?|the|this|that|new|some) ){0,3}"
    r"(?:\w+[ -]){0,2}(?:feature|endpoint|function|method|class|module|page|component|migration|table|column"
    r"|button|flag|option|setting|api|service|script|command)"
)

_WORDS: dict[Intent, tuple[tuple[str, int], ...]] = {
    "document": (
        (r"doc ?strings?", 3),
        (r"(?:write|add|create|generate|draft|improve|update) (?:\w+ ){0,4}(?:docs|documentation|readme|changelog)", 3),
        (r"document(?:s|ing)?", 2),
        (r"documentation|docs|readme|changelog", 1),
        (r"(?:write|add|generate) (?:\w+ ){0,3}comments", 3),
    ),
    "test": (
        (r"(?:write|add|create|generate|draft) (?:\w+ ){0,5}(?:unit |integration |regression )?tests?(?: cases?)?", 3),
        (r"(?:unit|integration|regression) tests?|test cases?|test boilerplate", 2),
        (r"pytest|unittest|jest|vitest|tests?", 1),
    ),
    "research": (
        (r"explain", 3),
        (r"what (?:is|are|does|do)|how (?:do|does|is|are)|why (?:is|are|does|do)", 2),
        (r"summari[sz]e|describe|compare|research|investigate|review", 2),
        (r"differences? between|pros and cons|trade-?offs?|best practices?", 2),
        (r"understand|overview", 1),
    ),
    "implement": (
        (r"implement(?:s|ing)?|build|develop", 2),
        (_CHANGE, 2),
        (r"install|upgrade|configure|set up|integrate", 2),
    ),
    "debug": (
        (r"fix(?:es|ed|ing)?|debug|repair|solve", 2),
        (r"crash(?:es|ed|ing)?|broken|traceback|stack ?trace|fails?|failing|regression in", 2),
    ),
    "refactor": ((r"refactor(?:ing)?|rename|restructure|clean ?up|simplify|optimi[sz]e|migrate|rewrite|move", 2),),
    "run": (
        (r"(?:run|execute|start|launch|deploy|commit|push|merge|release)(?! time)", 2),
        (r"open a (?:pull request|pr)", 2),
    ),
}  # fmt: skip
_PATTERNS: dict[Intent, tuple[tuple[re.Pattern[str], int], ...]] = {
    intent: tuple((re.compile(rf"\b(?:{words})\b"), points) for words, points in table)
    for intent, table in _WORDS.items()
}


class Classification(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt wants, how sure that is (0 to 1), whether a local model may answer it, and why or why not."""

    intent: Intent
    confidence: float
    delegatable: bool
    reason: str


class Quality(msgspec.Struct, frozen=True):
    """Whether an answer passes, and why not."""

    passed: bool
    reason: str


def classify(prompt: str, threshold: float, *, workflow: bool = False) -> Classification:
    """Classify what a prompt wants, in time linear in the characters that are read."""
    text = " ".join(prompt[:LONGEST_PROMPT].casefold().split())
    points = {intent: _points(text, intent) for intent in _PATTERNS}
    intent = max(points, key=lambda one: points[one])
    if not points[intent]:
        return Classification(intent="unknown", confidence=0.0, delegatable=False, reason="it names no task")
    confidence = round(points[intent] / (sum(points.values()) + _DOUBT), 3)
    lacking = missing(prompt[:LONGEST_PROMPT], intent) if intent in DELEGATABLE and not workflow else ""
    reason = lacking or _against(intent, points, confidence, threshold, workflow=workflow)
    return Classification(
        intent=intent,
        confidence=confidence,
        delegatable=not reason,
        reason=reason or f"it asks for {_NAMES[intent]} and for no change",
    )


_NAMES: dict[Intent, str] = {"document": "documentation", "test": "tests", "research": "an explanation"}


def _points(text: str, intent: Intent) -> int:
    """Add up an intent's words, each once; one of more than a point counts twice at the prompt's beginning."""
    total = 0
    for pattern, points in _PATTERNS[intent]:
        found = pattern.search(text)
        if found:
            total += points * 2 if points > 1 and found.start() < _START else points
    return total


def _against(intent: Intent, points: dict[Intent, int], confidence: float, threshold: float, *, workflow: bool) -> str:
    if workflow:
        return "it asks for a workflow, which needs agents"
    if intent not in DELEGATABLE:
        return f"it asks to {intent}, which needs an agent"
    changes = [other for other, score in points.items() if other not in DELEGATABLE and score >= _CHANGES]
    if changes:
        return f"it also asks to {changes[0]}, which needs an agent"
    if confidence < threshold:
        return f"the confidence {confidence:.3f} is below {threshold:.3f}"
    return ""


def judge(intent: Intent, answer: str) -> Quality:
    """Judge a local model's answer by its length, its beginning and what must be in it."""
    if intent not in DELEGATABLE:
        return Quality(passed=False, reason=f"`{intent}` is not delegated")
    text = answer.strip()
    least = LEAST_CHARACTERS[intent]
    if len(text) < least:
        return Quality(passed=False, reason=f"it has {len(text)} characters; at least {least} are needed")
    refusal = _REFUSAL.search(text[:REFUSAL_WITHIN].lower().translate(_APOSTROPHES))
    if refusal:
        return Quality(passed=False, reason=f"it refuses: `{refusal[0]}`")
    markers = MARKERS[intent]
    lower = text.lower()
    if markers and not any(marker in lower for marker in markers):
        named = ", ".join(f"`{marker}`" for marker in markers)
        return Quality(passed=False, reason=f"it has none of {named}")
    return Quality(passed=True, reason="it is long enough, no refusal, and has what such an answer has")


def savings(tokens: int, prices: tuple[float, float]) -> float:
    """Return the USD that a local answer saves: the difference of two prices per 1,000 tokens."""
    agent, local = prices
    return round((agent - local) * tokens / 1_000, 6)


def answer_text(model: str, text: str, *, confidence: float, saved: float, reason: str) -> str:
    """Return a local model's answer as people and agents are shown it."""
    footer = f"Delegated via local model: confidence={confidence:.2f}, savings=${saved:.4f}. Reason: {reason}"
    return f"[Local Model Response - {model}]\n\n{text}\n\n---\n{footer}"
