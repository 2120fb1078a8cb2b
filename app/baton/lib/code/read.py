"""The entry point: read code in a language, within limits on its size and number of parts."""

import re
from collections.abc import Callable, Sequence

import msgspec

from baton.lib.code.calls import CALLS
from baton.lib.code.effects import Table
from baton.lib.code.evaluate import Evaluator
from baton.lib.code.languages import awk, javascript, python, sed, unparsed, windows
from baton.lib.code.model import Code
from baton.lib.code.tree import Node

# Find endlessly forking loops, in code of any language: `perl -e 'fork while 1'`, `while True: os.fork()`.  The common
# syntax (`code/tree.py`) has no `while`, since nothing else needs the number of rounds. So this is a text search: a
# fork bomb has, outside quotes and comments, an endless loop, a `fork`, and no word that ends a process, or waits for
# one or for work, as in servers. Adding such a word evades it.

_QUOTES = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*{quote}", re.DOTALL) for quote in "\"'"}
"""The rest of a quoted text, by its opening quote."""
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
    """Return whether code is a fork bomb."""
    if "fork" not in text:
        return False
    bare = _bare(text, _SLASHES if language in {"javascript", "php"} else _HASHES)
    return _FORK.search(bare) is not None and _ENDLESS.search(bare) is not None and _ENDS.search(bare) is None


def _bare(text: str, marks: re.Pattern[str]) -> str:
    """Return a string without quotes and comments. An unclosed quote is only left out itself.

    After an unclosed quote no other of its kind is closed, so each kind fails at most once: the time is linear.
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


MAX_LENGTH = 65_536

_LANGUAGES: dict[str, tuple[Table, Callable[[str], Sequence[Node]]]] = {
    "javascript": (javascript.TABLE, javascript.read),
    "python": (python.TABLE, python.read),
}

_SCANNED: dict[str, Callable[[str], Code]] = {
    "awk": awk.read,
    "sed": sed.read,
    **unparsed.READERS,
    "dialogue": unparsed.read_dialogue,
    "ed": sed.read_ed,
    "justfile": unparsed.read_justfile,
    "lisp": unparsed.read_lisp,
    "makefile": unparsed.read_makefile,
    "package.json": unparsed.read_package,
    "powershell": windows.read_powershell,
    "powershell-arguments": windows.read_powershell_arguments,
    "cmd": windows.read_cmd,
    "cmd-arguments": windows.read_cmd_arguments,
    **dict.fromkeys(("perl", "php", "ruby", "unparsed"), unparsed.read_unparsed),
}


def read(language: str, text: str) -> Code:
    """Read the effects of code. Never raises: unknown effects are named in `unread`."""
    if len(text) > MAX_LENGTH:
        return Code(unread="over 64 KiB of code")
    executed = [text]
    code = _read(language, text, executed)
    bomb = any(forks_without_end(language, part) for part in executed)
    return msgspec.structs.replace(code, forks_without_end=True) if bomb else code


def _read(language: str, text: str, executed: list[str]) -> Code:
    """Read a string; the texts executed as code are added to `executed`."""
    if language in _SCANNED:
        return _SCANNED[language](text)
    if language not in _LANGUAGES:
        return Code(unread=f"{language} is not read")
    table, parse = _LANGUAGES[language]

    def reread(part: str) -> Sequence[Node]:
        executed.append(part)
        return parse(part)

    evaluator = Evaluator(table, CALLS, reread)
    try:
        evaluator.program(parse(text))
    except RecursionError:
        evaluator.cannot_tell("code nested too deeply")
    return evaluator.code()
