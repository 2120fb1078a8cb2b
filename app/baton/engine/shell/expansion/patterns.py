"""What the shell makes of a text by patterns: `${x%.*}`, `${x//a/b}`, `{a,b}`."""

import fnmatch
import itertools
import re
from collections.abc import Iterator

from baton.engine.shell.expansion.words import EXPANSION, LITERAL, Word

MAX_ALTERNATIVES = 64
"""Values of one variable, and combinations of values for one command, that are followed; more of them are unknown."""
_BRACE = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])\Z")
_HIDDEN = str.maketrans("{},", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "{},")


def cut_out(known: str, operator: str, glob: str, put: str) -> str | None:
    """Return a value without what a glob matches, or with `put` in its place: `${x%glob}`, `${x//glob/put}`."""
    pattern = fnmatch.translate(glob).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(")\\z")
    lazy = pattern.replace(".*", ".*?")
    try:
        if operator == "#":
            found = re.match(f"(?s:{lazy})", known)
            return known[found.end() :] if found else known
        if operator == "##":
            found = re.match(f"(?s:{pattern})", known)
            return known[found.end() :] if found else known
        if operator in {"%", "%%"}:
            found = re.match(f"(?s:(.*{'?' if operator == '%%' else ''})(?:{pattern}))\\Z", known)
            return found[1] if found else known
        anchored = {"/#": f"\\A(?s:{pattern})", "/%": f"(?s:{pattern})\\Z"}.get(operator, f"(?s:{pattern})")
        return re.sub(anchored, lambda _: put, known, count=0 if operator == "//" else 1) if glob else known
    except re.error:
        return None


def braces(word: Word) -> list[Word]:
    """Return the words that unquoted braces make: `{rm,-rf,/}`, `r{m,}`, `{1..3}`."""
    text = "".join([piece.translate(_HIDDEN) if kind else piece for piece, kind in word.parts])
    done: list[str] = []
    todo = [text]
    while todo:
        here = todo.pop()
        found = next((one for one in _BRACE.finditer(here) if _choices(one[1])), None)
        if found is None:
            done.append(here)
        else:
            todo += [here[: found.start()] + one + here[found.end() :] for one in reversed(_choices(found[1]))]
        if len(todo) + len(done) > MAX_ALTERNATIVES:
            return [word]
    if len(done) == 1:
        return [word]
    made: list[Word] = []
    for one in done:
        made.append(Word(one.translate(_SHOWN)))
        made[-1].parts = [(made[-1].text, (word.dynamic and EXPANSION) or LITERAL)]
        made[-1].dynamic, made[-1].spans, made[-1].outer = word.dynamic, word.spans, word.outer
        made[-1].globs = "*" in one or "?" in one
    return [one for one in made if one.text]


def _choices(body: str) -> list[str]:
    if "," in body:
        return body.split(",")
    found = _RANGE.match(body)
    if found is None or found[1].lstrip("-").isdigit() != found[2].lstrip("-").isdigit() or len(body) > 10:  # noqa: PLR2004
        return []
    if found[1].lstrip("-").isdigit():
        low, high = int(found[1]), int(found[2])
        return [str(one) for one in _between(low, high)]
    return [chr(one) for one in _between(ord(found[1]), ord(found[2]))]


def _between(low: int, high: int) -> Iterator[int]:
    step = 1 if low <= high else -1
    yield from itertools.islice(range(low, high + step, step), MAX_ALTERNATIVES)
