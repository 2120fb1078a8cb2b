"""Find loops that fork without end, in code of any language: `perl -e 'fork while 1'`, `while True: os.fork()`.

The common syntax (`code/tree.py`) has no `while`, since nothing else needs to know how often a part runs. So this is a search, no reading:
a text is a fork bomb if, outside its quotes and comments, it has a loop without end, a `fork`, and no word that ends a process,
waits for one or for work, as servers have. Whoever adds such a word gets past.
"""

import re

_QUOTES = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*{quote}", re.DOTALL) for quote in "\"'"}
"""The rest of a quoted text, by the quote that it begins with."""
_HASHES = re.compile(r"[\"']|(?<!\$)#")
_SLASHES = re.compile(r"[\"']|//|/\*")
_COMMENTS = {"#": "\n", "//": "\n", "/*": "*/"}
_FORK = re.compile(r"(?<![$@%\w])(?:pcntl_)?fork\b")
_ENDLESS = re.compile(
    r"\bwhile\b[\s(]*(?:(?:[1-9]\d*|true|not\s+false)\b|!\s*(?:0|false)\b|\)|[\w.:]{0,40}\bfork\b)"
    r"|\buntil\b[\s(]*(?:0|false|nil|undef)\b"
    r"|\bfor\s*\([^;()]{0,80};\s*(?:1|true)?\s*;"
    r"|\bloop\s*(?:\{|do\b)|\.\.\s*Float::INFINITY|\b1\.step\b|\bsetInterval\b"
    r"|\bin\s+(?:iter\(\s*int\b|[\w.()\[\] ]{0,60}\b(?:count|cycle|repeat)\()",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:wait\w*|u?sleep|nanosleep|break|last|_?exit|accept\w*|return|die|raise|throw|join|setsid|select|listen|recv\w*)\b",
    re.IGNORECASE,
)


def forks_without_end(language: str, text: str) -> bool:
    """Return whether a text of code is a fork bomb."""
    if "fork" not in text:
        return False
    bare = _bare(text, _SLASHES if language in {"javascript", "php"} else _HASHES)
    return _FORK.search(bare) is not None and _ENDLESS.search(bare) is not None and _ENDS.search(bare) is None


def _bare(text: str, marks: re.Pattern[str]) -> str:
    """Return a text without what stands in quotes and comments. A quote that is never closed is left out by itself.

    Behind such a one no quote of its kind is closed either, so each kind is looked for in vain once: the time is linear.
    """
    pieces: list[str] = []
    unclosed: set[str] = set()
    at = 0
    while (mark := marks.search(text, at)) is not None:
        pieces.append(text[at : mark.start()])
        kind, at = mark[0], mark.end()
        if kind in _COMMENTS:
            end = text.find(_COMMENTS[kind], at)
            at = len(text) if end < 0 else end
        elif kind not in unclosed:
            closed = _QUOTES[kind].match(text, at)
            if closed is None:
                unclosed.add(kind)
            else:
                at = closed.end()
    pieces.append(text[at:])
    return " ".join(pieces)
