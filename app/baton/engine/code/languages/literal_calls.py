"""Find calls with literal texts in languages that are not parsed, and in Perl with here-documents.

What else these texts do cannot be told.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from baton.engine.code.languages.syntax import unescape
from baton.engine.code.model import Code, FileWrite, Run

MAX_CALLS = 256
"""Calls of a text that are listed."""
_TEXT = r"\(?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|\[\[(.*?)\]\])"
_WORDS = r"[ \t]+([^\n;\]}]+)"

_RUNS = {
    "perl": re.compile(
        r"(?:\b(?:system|exec|readpipe)\b\s*|\bqx\s*|(?=`))(?:`((?:[^`\\]|\\.)*)`|" + _TEXT + ")", re.DOTALL
    ),
    "lua": re.compile(r"\b(?:os\.execute|io\.popen)\s*" + _TEXT, re.DOTALL),
    "r": re.compile(r"\b(?:system2?|shell|processx::run|sys::exec_wait)\s*" + _TEXT, re.DOTALL),
    "applescript": re.compile(r"\bdo\s+shell\s+script\s+" + _TEXT, re.DOTALL | re.IGNORECASE),
    "tcl": re.compile(r"\b(?:exec|spawn|system)\b(?:\s+-\w+)*" + _WORDS),
}
_WRITES = {
    "lua": re.compile(r"\bio\.open\s*" + _TEXT + r"\s*,\s*[\"'](?:[wa]|r\+)"),
    "r": re.compile(
        r"\b(?:writeLines|write\.csv|write\.table|saveRDS|sink|file\.create|dir\.create|cat)\s*\((?:[^()]*?,\s*)?(?:file\s*=\s*|con\s*=\s*)?"
        + _TEXT[3:]
    ),
    "tcl": re.compile(r"\b(?:file\s+(?:mkdir|rename|copy)(?:\s+-force)?|open)" + _WORDS),
}
_REMOVES = {
    "perl": re.compile(r"\b(?:unlink|rmdir|rmtree|remove_tree)\s*" + _TEXT),
    "lua": re.compile(r"\b(?:os\.remove|os\.rename|lfs\.rmdir)\s*" + _TEXT),
    "r": re.compile(r"\b(?:unlink|file\.remove|file_delete|dir_delete)\s*" + _TEXT),
    "tcl": re.compile(r"\bfile\s+delete(?:\s+-force)?(?:\s+--)?" + _WORDS),
}
_NETWORK = re.compile(r"socket|https?://|download\.file|\bcurl\b|\bhttr?2?\b")


def _found(patterns: dict[str, re.Pattern[str]], language: str, text: str) -> Iterator[str]:
    pattern = patterns.get(language)
    for at, match in enumerate(pattern.finditer(text) if pattern is not None else ()):
        if at >= MAX_CALLS:
            return
        found = next((group for group in match.groups() if group is not None), "")
        yield re.sub(r"\\.", lambda escape: unescape(escape[0]), found)


def read(language: str, text: str) -> Code:
    """Read the literal calls of a text."""
    writes = [FileWrite(path) for path in _found(_WRITES, language, text)]
    writes += [FileWrite(path, removes=True) for path in _found(_REMOVES, language, text)]
    if language == "tcl":
        writes = [
            FileWrite(word, write.removes) for write in writes for word in write.path.split() if word[:1] not in "$-"
        ]
    return Code(
        writes=tuple(dict.fromkeys(writes)),
        runs=tuple(dict.fromkeys([Run(script=command) for command in _found(_RUNS, language, text)])),
        network=_NETWORK.search(text) is not None,
        unread="the language is not read whole",
    )


READERS: dict[str, Callable[[str], Code]] = {name: partial(read, name) for name in ("applescript", "lua", "r", "tcl")}
