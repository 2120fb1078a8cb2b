"""Find loops that fork without end, in code of any language: `perl -e 'fork while 1'`, `while True: os.fork()`.

It is a search, no reading: a text is one if, outside its quotes, it has a loop without end, a `fork`, and nothing that ends a
process, waits for one or for work, as servers do.
"""

import re

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_FORK = re.compile(r"(?<![$@%\w])(?:pcntl_)?fork\b")
_ENDLESS = re.compile(
    r"\bwhile\b[\s(]*(?:(?:[1-9]\d*|true|not\s+false)\b|!\s*(?:0|false)\b|\)|[\w.:]{0,40}\bfork\b)"
    r"|\buntil\b[\s(]*(?:0|false|nil|undef)\b"
    r"|\bfor\s*\([^;()]{0,80};\s*(?:1|true)?\s*;"
    r"|\bloop\s*(?:\{|do\b)|\.\.\s*Float::INFINITY|\b1\.step\b|\bsetInterval\b"
    r"|\bin\s+(?:iter\(\s*int\b|[\w.()\[\]'\"]{0,60}\b(?:count|cycle|repeat)\()",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:wait\w*|u?sleep|nanosleep|break|last|_?exit|accept\w*|return|die|raise|throw|join|setsid|select|listen|recv\w*)\b",
    re.IGNORECASE,
)


def forks_without_end(text: str) -> bool:
    """Return whether a text of code is a fork bomb."""
    if "fork" not in text:
        return False
    bare = _QUOTED.sub("''", text)
    return _FORK.search(bare) is not None and _ENDLESS.search(bare) is not None and _ENDS.search(bare) is None
