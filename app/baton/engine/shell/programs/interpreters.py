"""Code that a line gives to an interpreter: where it stands in the line, and the facts that it adds to the program."""

from baton.engine.code import model
from baton.engine.code.model import UNKNOWN, Code
from baton.engine.code.read import read as read_code
from baton.engine.shell.expansion.scripts import ScriptText, StdinSource, has_literal_text
from baton.engine.shell.expansion.words import EXPANSION, LITERAL, Word
from baton.engine.shell.model import SOMEWHERE, Category
from baton.engine.shell.tables import classify
from baton.engine.shell.tables.unwrap import RunTargets

MAX_TEXTS = 100
"""Texts of code in one line that are read."""


def code_of(runs: RunTargets, source: StdinSource | None) -> list[Word]:
    """Return the words of the code that a program runs; none if it is not in the line."""
    if runs.code:
        return list(runs.code)
    return (source.script if source is not None else None) or []


def read(runs: RunTargets, words: list[Word], text: ScriptText, count: int) -> Code:
    """Read the code; `count` is how many texts of code the line had so far."""
    if not words or not has_literal_text(words):
        return Code(unread="the code is not in the line")
    if count > MAX_TEXTS:
        return Code(unread=f"over {MAX_TEXTS} texts of code")
    return read_code(runs.language if runs.code else runs.stdin, "\n".join([text.as_code(word) for word in words]))


def paths(code: Code) -> list[str]:
    """Return the paths that code writes, as a shell would write them."""
    return [SOMEWHERE if write.path == UNKNOWN else model.as_written(write.path) for write in code.writes]


def categories(own: tuple[Category, ...], code: Code) -> tuple[Category, ...]:
    """Return the categories of a program that runs code, with those that its options give it (`perl -i`)."""
    found: list[Category] = [category for category in own if category not in {"unknown", "read-only"}]
    if any(not write.removes and not classify.harmless(write.path) for write in code.writes):
        found.append("file-write")
    if any(write.removes for write in code.writes):
        found.append("destructive")
    if code.network:
        found.append("network")
    if code.unread:
        found.append("unknown")
    if not found and not code.runs:
        found.append("read-only")
    return tuple(dict.fromkeys(found))


def word(text: str) -> Word:
    """Return a word of an argument list in code; parts that are not known are expansions."""
    found = Word(model.as_written(text))
    if found.text != text:
        found.dynamic = True
        found.parts = [(piece, EXPANSION if variable else LITERAL) for piece, variable in model.split(text)]
    return found
