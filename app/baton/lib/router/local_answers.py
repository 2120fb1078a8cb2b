"""Selects the prompts for a small local model, and checks its answers.

A prompt's intent is read from words, each worth one to three points. A prompt asking for a change is the agent's,
whatever else it asks for.
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from baton.lib.router.text import WORDS

# The signals before the classification: context a prompt needs but a text-only model lacks.
#
# A local model sees only the prompt: no pictures, files, tools, repository or earlier conversation. A prompt needing
# one of these is the agent's: a wrong "no" costs a little money, a wrong "yes" an invented answer.

_FENCE = "```"
_CODE_LINE = re.compile(
    r"^\s*(?:(?:async )?def \w|class \w+.*[:{]|(?:export |async )*function\b|(?:const|let|var|func|fn|public|private|static)"
    r" \w|@\w|#include\b|import \w|from \w+ import|return\b|select .* from |if ?\(|for ?\(|\}|<\w)",
    re.IGNORECASE,
)
_INLINE_CODE = re.compile(
    r"\bdef \w{1,80}\(|\bfunction \w{0,80}\(|\bfn \w{1,80}\(|\bclass \w{1,80}(?:\([^()]{0,80}\))?:|=> ?[{(\w]"
)
_PARTS_OF_A_FENCE = 2

_PICTURES = re.compile(
    r"\b(?:images?|screen ?shots?|screen ?grabs?|pictures?|photos?|photographs?|diagrams?|mock-?ups?|wireframes?|figma|pixels?"
    r"|ocr|look at|video|gif|pdf|attach(?:ed|ment|ments)|(?:this|the|that|these|my|our|above|following) (?:chart|graph|figure|visual"
    r"|plot|drawing|sketch|logo|icon))\b"
)
_TOOLS = re.compile(
    r"\b(?:files?|folders?|director(?:y|ies)|repos?|repositor(?:y|ies)|code ?base|source tree|workspace|checkout|branch(?:es)?"
    r"|commits?|pull requests?|merge requests?|issues? #?\d+|prs?|git|diffs?|stack ?trace|logs?|terminal|console|shell|bash|command line"
    r"|docker|kubectl|curl|wget|https?|(?:run|execute|deploy|open|read|list|search|grep|browse|download|push|pull)"
    r"|find (?:all|every|each|where|the|any|usages?|callers?)|where (?:is|are|do|does)"
    r"|(?:this|the|our|my|your) (?:project|app|application|system|site|server|database|deployment|environment|pipeline|build|ci))\b"
)
_OUTCOME = re.compile(
    r"\b(?:mak(?:e|es|ing) (?:\w+ ){0,3}?(?:pass|green|work)|(?:they|it|tests?|all) (?:must |should |to )?pass(?:es)?|until (?:\w+ ){1,3}pass"
    r"|failing|coverage|verify|validate|ensure|check (?:that|if|whether)|tools?|command)\b"
)
_LATEST = re.compile(r"\b(?:latest|newest|today|tonight|yesterday|right now|this (?:week|month|year)|currently)\b")
_NOT_SHOWN = re.compile(
    r"\b(?:(?:this|these|those|our|my|your)\b|(?:we|us)\b|(?:above|previous|earlier|again|last (?:one|time|answer|message))\b"
    r"|(?:explain|summari[sz]e|describe|compare|review|understand|document|test|cover|for|of) (?:it|that|them)\b"
    r"|(?:what|how|why) (?:do|does|did|is|are|was|were) (?:it|that|they|you)\b|(?:did|have|are|were) you\b"
    r"|(?:the|that) (?:code|function|method|class|module|package|script|component|endpoint|service|handler|controller|parser|router"
    r"|scheduler|worker|middleware|model|schema|table|query|config|configuration|tests?|test suite|bug|error|exception|crash|failure"
    r"|feature|api|cli|readme|docs|documentation|changelog|implementation|architecture|design|layout|flow|logic)\b)"
)
_GENERAL = re.compile(
    r"\b(?:(?:for|of|about|to|from|with) (?:an?|any|some)|template|skeleton|boilerplate|example|sample|in general)\b"
)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w*")
_EXTENSIONS = frozenset([
    "bat", "bmp", "c", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "dockerfile", "env", "gif", "go", "h", "hpp",
    "html", "ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsx", "kt", "lock", "log", "lua", "md", "mjs", "pdf",
    "php", "png", "ps1", "py", "pyi", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "sqlite", "svelte", "svg",
    "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "webp", "xml", "yaml", "yml", "zip",
])  # fmt: skip
_PRODUCTS = frozenset([
    "alpine", "angular", "asp", "backbone", "chart", "d3", "deno", "ember", "express", "moment", "next", "node", "nuxt",
    "p5", "react", "three", "vue",
])  # fmt: skip
"""Names that end like a file's and are none (`Node.js`)."""
_MARKS = ".,:;!?()[]{}<>\"'`*"
_LEAST_SLASHES = 2
_SLASHED = ("./", "../", "~/", "/", "\\")


def missing(prompt: str, intent: str) -> str:
    """Return the context a prompt needs but a text-only model lacks, as the end of a sentence; "" for none.

    Code within the prompt needs no context: the model is shown it.
    """
    outside, shown = _split(prompt)
    words = " ".join(outside.casefold().split())
    if found := _PICTURES.search(words):
        return f"it needs pictures or documents to be seen (`{found[0]}`)"
    if found := _TOOLS.search(words) or _OUTCOME.search(words):
        return f"it needs files, tools or the repository (`{found[0]}`)"
    if path := _path(outside.split()):
        return f"it needs a file (`{path[:60]}`)"
    if found := _LATEST.search(words):
        return f"it needs to know of the present (`{found[0]}`)"
    if shown:
        return ""
    if found := _NOT_SHOWN.search(words):
        return f"it does not show what it is about (`{found[0]}`)"
    if name := next((one for one in map(_bare, outside.split()) if _NAME.fullmatch(one)), ""):
        return f"it does not show what `{name[:60]}` is"
    if intent in ("document", "test") and not _GENERAL.search(words):
        return f"it does not show what to {intent}"
    return ""


def _split(prompt: str) -> tuple[str, bool]:
    """Return a prompt's text outside of fences of code, and whether code is shown in it."""
    parts = prompt.split(_FENCE)
    outside = " ".join(parts[::2])
    if len(parts) > _PARTS_OF_A_FENCE and any(part.strip() for part in parts[1::2]):
        return outside, True
    lines = outside.splitlines()
    code = [line for line in lines if _CODE_LINE.match(line[:200])]
    if len(code) > 1 or _INLINE_CODE.search(outside):
        return "\n".join(line for line in lines if line not in set(code)), True
    return outside, False


def _bare(word: str) -> str:
    return word.strip(_MARKS).removesuffix("(")


def _path(words: Iterable[str]) -> str:
    """Return the first file or folder name, "" for none."""
    for word in words:
        plain = word.strip(_MARKS.replace(".", "")).rstrip(".")
        name, _, extension = plain.rpartition(".")
        if name and extension.casefold() in _EXTENSIONS and name.casefold() not in _PRODUCTS:
            return plain
        if "/" in plain and (plain.startswith(_SLASHED) or plain.count("/") >= _LEAST_SLASHES):
            return plain
    return ""


Intent = Literal["document", "test", "research", "implement", "debug", "refactor", "run", "unknown"]
DELEGATABLE: tuple[Intent, ...] = ("document", "test", "research")  # what a local model may be asked to do

LONGEST_PROMPT = 8_000  # characters of a prompt that the local model is sent, and that are read here
LEAST_CHARACTERS: dict[Intent, int] = {"document": 100, "test": 80, "research": 60}
"""What an answer must have, by intent."""
MARKERS: dict[Intent, tuple[str, ...]] = {
    "document": ('"""', "args:", "returns:", "parameters:"),
    "test": ("def test_", "class test", "@pytest", "assert"),
    "research": (),
}  # of which one must be in an answer, by intent
REFUSAL_WITHIN = 200  # characters at an answer's beginning in which a refusal would stand
REFUSALS = ("i cannot", "i'm unable", "i apologize", "as an ai", "i don't have", "i can't")
_REFUSAL = re.compile(r"\b(?:" + "|".join(REFUSALS) + r")\b")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`\uff07", "'"))
_START = 60  # characters in which a word says what the prompt is about, and counts twice
_DOUBT = 2  # points that speak for something else in any prompt: one weak word alone is not enough
_CHANGES = 2  # points at which a wish for a change makes a prompt the agent's
_PATTERNS: dict[Intent, tuple[tuple[re.Pattern[str], int], ...]] = {
    intent: tuple((re.compile(rf"\b(?:{words})\b"), points) for words, points in table)
    for intent, table in WORDS["intents"].items()
}


class Classification(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt's intent, its certainty (0 to 1), whether a local model may answer it, and the reason."""

    intent: Intent
    confidence: float
    delegatable: bool
    reason: str


class AnswerQuality(msgspec.Struct, frozen=True):
    """Whether an answer is good enough, and why not."""

    passed: bool
    reason: str


def classify(prompt: str, threshold: float, *, workflow: bool = False) -> Classification:
    """Classify a prompt's intent, in time linear in the characters read."""
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
    """Sum an intent's words, each once. A word of over one point counts twice at the prompt's start."""
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


def judge(intent: Intent, answer: str) -> AnswerQuality:
    """Judge a local model's answer by its length, its beginning and its required content."""
    if intent not in DELEGATABLE:
        return AnswerQuality(passed=False, reason=f"`{intent}` is not delegated")
    text = answer.strip()
    least = LEAST_CHARACTERS[intent]
    if len(text) < least:
        return AnswerQuality(passed=False, reason=f"it has {len(text)} characters; at least {least} are needed")
    refusal = _REFUSAL.search(text[:REFUSAL_WITHIN].lower().translate(_APOSTROPHES))
    if refusal:
        return AnswerQuality(passed=False, reason=f"it refuses: `{refusal[0]}`")
    markers = MARKERS[intent]
    lower = text.lower()
    if markers and not any(marker in lower for marker in markers):
        named = ", ".join(f"`{marker}`" for marker in markers)
        return AnswerQuality(passed=False, reason=f"it has none of {named}")
    return AnswerQuality(passed=True, reason="it is long enough, no refusal, and has what such an answer has")


def savings(tokens: int, prices: tuple[float, float]) -> float:
    """Return a local answer's savings in USD: the difference of two prices per 1,000 tokens."""
    agent, local = prices
    return round((agent - local) * tokens / 1_000, 6)


def answer_text(model: str, text: str, *, confidence: float, saved: float, reason: str) -> str:
    """Return a local model's answer as people and agents are shown it."""
    footer = f"Delegated via local model: confidence={confidence:.2f}, savings=${saved:.4f}. Reason: {reason}"
    return f"[Local Model Response - {model}]\n\n{text}\n\n---\n{footer}"
