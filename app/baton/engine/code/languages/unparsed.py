"""Find literal commands, removals and writes in code of languages without a reader: Julia, Elixir, Scala, Lisps and others.

A text that names something that starts processes is taken to run its literals; what else it does cannot be told.
"""

import re
from collections.abc import Iterator
from itertools import islice

from baton.engine.code.languages.syntax import unescape
from baton.engine.code.model import Code, FileWrite, Run

MAX_LITERALS = 256
"""Literals of a text that are looked at."""

# One that is never closed reaches to the end: otherwise each quote in it would be tried as a beginning of its own.
_END = r"\\?\Z"
_DOUBLE = rf'"((?:[^"\\]|\\.)*)(?:"|{_END})'
_LITERALS = {
    "unparsed": re.compile(_DOUBLE + rf"|'((?:[^'\\]|\\.)*)(?:'|{_END})|`((?:[^`\\]|\\.)*)(?:`|{_END})", re.DOTALL),
    "lisp": re.compile(_DOUBLE, re.DOTALL),  # there a single quote opens a list
}
_STARTS_PROCESSES = re.compile(
    r"\b(?:system|exec\w*|shell\w*|sh|bash|cmd|command|call[-_]?(?:command|process)\w*|run|run[-_]?(?:program|command|process)"
    r"|spawn\w*|popen|open_process\w*|process\w*|proc|start[-_]?process\w*|subprocess|qx|posix_spawn|fork|pipeline)\b"
    r"|[\"'\])]\s{0,8}\.?\s{0,8}!|%x",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:[\s,\[\](){}#:]|\bnil\b|\bNone\b|\bNothing\b|\bfalse\b|\btrue\b|\b[tf0]\b)*")
"""What stands between the arguments of one command."""
_REMOVES = re.compile(
    r"\b(?:rm|rm[-_](?:rf|r|f)|rmdir|rmtree|unlink|remove\w*|delete[\w-]*|del_dir\w*|del_dir_r|trash|purge)\b!?[\w\s.(:/-]{0,60}$",
    re.IGNORECASE,
)
_REMOVED = re.compile(r"\)*\s*\.\s*(?:delete|remove|unlink|deltree)\w*", re.IGNORECASE)
_WRITES = re.compile(
    r"\b(?:write[\w-]*|spit|touch|mkdir\w*|mkpath|make_dir\w*|create\w*|append\w*|save\w*|cp|mv|rename\w*|copy\w*|truncate|with-open-file"
    r"|with-output-to-file|call-with-output-file|open-output-file)\b!?[\w\s.(:/-]{0,60}$",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\)*\s*(?:\.\s*(?:write|append|setText|text\s*=|bytes\s*=|<<|mkdir|create)\w*|,\s*[\"':]?(?:w|a|write|append)\b|\s+:direction\s+:output)"
)
_TYPED = re.compile(r"^[ \t]*:![ \t]*([^\n]+)", re.MULTILINE)
"""A command that is typed to the dialogue of a language: `:!cmd` of ghci."""
_NETWORK = re.compile(r"socket|https?://|\bcurl\b|\bhttp\w*\.|\bdownload\b|gen_tcp|slurp\s+\"http")


def read_unparsed(text: str) -> Code:
    """Read code with literals in double or single quotes or backticks."""
    return _read("unparsed", text)


def read_lisp(text: str) -> Code:
    """Read code of a Lisp, where only double quotes make literals."""
    return _read("lisp", text)


def _read(language: str, text: str) -> Code:
    runs = [Run(script=match[1]) for match in islice(_TYPED.finditer(text), MAX_LITERALS)]
    writes: list[FileWrite] = []
    starts_processes = _STARTS_PROCESSES.search(text) is not None
    for group in _groups(_LITERALS[language], text):
        words = [literal for literal, _, _ in group if literal]
        # Whether a text is a line or a program with arguments, only a parser could tell: both are judged.
        if starts_processes and words:
            runs += [Run(script=word) for word in words if " " in word]
            if " " not in words[0]:
                runs.append(Run(words=tuple(words)))
        for literal, start, end in group:
            before, after = text[max(0, start - 100) : start], text[end : end + 100]
            if _REMOVES.search(before) or _REMOVED.match(after):
                writes.append(FileWrite(literal, removes=True))
            elif _WRITES.search(before) or _WRITTEN.match(after):
                writes.append(FileWrite(literal))
    return Code(
        writes=tuple(dict.fromkeys(writes)),
        runs=tuple(dict.fromkeys(runs)),
        network=_NETWORK.search(text) is not None,
        unread="the language is not read whole",
    )


def _groups(pattern: re.Pattern[str], text: str) -> Iterator[list[tuple[str, int, int]]]:
    """Yield the literals that stand beside each other, each with where it begins and ends."""
    group: list[tuple[str, int, int]] = []
    for at, match in enumerate(pattern.finditer(text)):
        if at >= MAX_LITERALS:
            break
        if group and _BETWEEN.fullmatch(text, group[-1][2], match.start()) is None:
            yield group
            group = []
        found = next((part for part in match.groups() if part is not None), "")
        literal = re.sub(r"\\.", lambda escape: unescape(escape[0]), found, flags=re.DOTALL)
        group.append((literal, match.start(), match.end()))
    if group:
        yield group
