"""Read lines of plain and quoted words, joined by `|`, `&&` and `;`, without the parser: most lines are no more than that.

Such a line has one reading in every shell. Whatever else it holds (an expansion, a glob, a redirection, an escape, an
assignment, a reserved word) leaves the line to the parser.
"""

import re

from baton.engine.shell import misreadings
from baton.engine.shell.blocks import Element, Pipeline
from baton.engine.shell.expansion.words import BARE, LITERAL, QUOTED, Word

_LONGEST = 400
"""Characters of a line with quotes or joints: longer ones are seldom plain, and would be looked at twice."""
_BARE_LINE = re.compile(rf"{BARE}(?: {BARE})*+\Z")
_QUOTED = r"'[^']*+'|\"[^\"\\$`]*+\""
_SYNTAX = re.compile(r"[<\n`]")
"""What most other lines contain and a plain line does not; it is looked for before the words are split."""
_TOKEN = re.compile(
    rf"[ \t]*(?:(?:({BARE})({_QUOTED})?+|({_QUOTED}))(?=[ \t|;&]|\Z)"
    r"|(&&|\|(?![|&])|;)|2>(?:&1| ?/dev/null)(?=[ \t|;&]|\Z)|([^ \t].*))",
    re.DOTALL,
)
"""A word (bare, in quotes, or both: `--include='*.py'`), an operator, or the rest of a line that is no plain one.

What becomes of the errors of a command changes nothing in what the line does: `2>&1` and `2>/dev/null` are passed over.
"""
_OTHERWISE_READ = misreadings.KEYWORDS | {
    "time", "coproc", "export", "declare", "typeset", "local", "readonly", "unset", "unsetenv",
}  # fmt: skip
"""Programs that are part of the syntax, or that have arguments which are."""


def pipelines(text: str) -> list[Pipeline] | None:
    """Return the pipelines of a plain line, with its words in their elements; None if it is no plain line."""
    if _BARE_LINE.match(text):
        words = [Word(word) for word in text.split(" ")]
        return _joined([("", words)]) if _is_program(words[0]) else None
    return None if len(text) > _LONGEST or _SYNTAX.search(text) else _chain(text)


def _chain(text: str) -> list[Pipeline] | None:
    commands: list[tuple[str, list[Word]]] = []
    joined_by, words = "", list[Word]()
    for bare, behind, quoted, operator, other in _TOKEN.findall(text.rstrip(" \t")):
        if other:
            return None
        if behind or quoted:
            words.append(_quoted(bare, behind or quoted))
        elif bare:
            words.append(Word(bare))
        if not operator:
            continue
        if not words or not _is_program(words[0]):
            return None
        commands.append((joined_by, words))
        joined_by, words = operator, []
    if not words or not _is_program(words[0]):
        return None
    commands.append((joined_by, words))
    return _joined(commands)


def _quoted(bare: str, quoted: str) -> Word:
    inner = quoted[1:-1]
    word = Word(bare + inner)
    if bare:
        word.parts.append((bare, LITERAL))
    if inner or quoted[0] == "'":
        word.parts.append((inner, LITERAL | QUOTED))
    return word


def _is_program(word: Word) -> bool:
    return not word.parts and word.text != "" and "=" not in word.text and word.text not in _OTHERWISE_READ


def _joined(commands: list[tuple[str, list[Word]]]) -> list[Pipeline]:
    found: list[Pipeline] = []
    for operator, words in commands:
        element = Element(None)
        element.words = words
        if operator != "|":
            found.append(Pipeline("&&" if operator == "&&" else ""))
        found[-1].elements.append(element)
    return found
