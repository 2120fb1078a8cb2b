"""The signals ahead of the classification: what a prompt needs that a text-only model does not have.

A local model sees the prompt and nothing else. It has no pictures, files, tools and repository, and does not know what was said
before. A prompt that needs one of these is the agent's: a wrong "no" costs a little money, a wrong "yes" an invented answer.
"""

import re
from collections.abc import Iterable

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
_EXTENSIONS = frozenset(
    [
        "bat",
        "bmp",
        "c",
        "cfg",
        "conf",
        "cpp",
        "cs",
        "css",
        "csv",
        "db",
        "dockerfile",
        "env",
        "gif",
        "go",
        "h",
        "hpp",
        "html",
        "ini",
        "ipynb",
        "java",
        "jpeg",
        "jpg",
        "js",
        "json",
        "jsx",
        "kt",
        "lock",
        "log",
        "lua",
        "md",
        "mjs",
        "pdf",
        "php",
        "png",
        "ps1",
        "py",
        "pyi",
        "rb",
        "rs",
        "rst",
        "scala",
        "scss",
        "sh",
        "sql",
        "sqlite",
        "svelte",
        "svg",
        "swift",
        "tf",
        "toml",
        "ts",
        "tsx",
        "txt",
        "vue",
        "webp",
        "xml",
        "yaml",
        "yml",
        "zip",
    ]
)
_PRODUCTS = frozenset(
    [
        "alpine",
        "angular",
        "asp",
        "backbone",
        "chart",
        "d3",
        "deno",
        "ember",
        "express",
        "moment",
        "next",
        "node",
        "nuxt",
        "p5",
        "react",
        "three",
        "vue",
    ]
)
"""Names that end like a file's and are none (`Node.js`)."""
_MARKS = ".,:;!?()[]{}<>\"'`*"
_LEAST_SLASHES = 2
_SLASHED = ("./", "../", "~/", "/", "\\")


def missing(prompt: str, intent: str) -> str:
    """Return what a prompt needs that a text-only model is not shown, as the end of a sentence; "" for nothing.

    Code that stands in the prompt is no sign of anything: it is what the model is shown.
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
    """Return the first word that names a file or a folder, "" for none."""
    for word in words:
        plain = word.strip(_MARKS.replace(".", "")).rstrip(".")
        name, _, extension = plain.rpartition(".")
        if name and extension.casefold() in _EXTENSIONS and name.casefold() not in _PRODUCTS:
            return plain
        if "/" in plain and (plain.startswith(_SLASHED) or plain.count("/") >= _LEAST_SLASHES):
            return plain
    return ""
