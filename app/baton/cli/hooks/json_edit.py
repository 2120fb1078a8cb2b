"""Changes single values in a JSON text, with comments or without, and leaves every other byte as it is.

A path is a sequence of keys and indexes; all but its last step must exist. Texts are valid JSON: `check` first.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

Path = Sequence[str | int]
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""A string, which may hold what looks like a comment, or a comment."""
_DECODER = json.JSONDecoder()


class UnclearError(ValueError):
    """JSON that cannot be edited, with the line (from 1) of the cause."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class _Node(msgspec.Struct):
    """A value in the text. `keyed` is its key's start, or its own without a key; children are None for scalars."""

    start: int
    end: int
    keyed: int
    children: dict[str | int, "_Node"] | None = None


def check(text: str) -> dict[str, Any]:
    """Parse an object without duplicate keys. Raise UnclearError."""
    try:
        plain = without_comments(text)
        value = json.loads(plain)
        _scan(plain, 0)
    except json.JSONDecodeError as error:
        raise UnclearError(error.lineno, f"it is not valid JSON: {error.msg.lower()}") from error
    except RecursionError as error:
        raise UnclearError(1, "it is nested too deeply") from error
    if not isinstance(value, dict):
        raise UnclearError(1, "it is not an object")
    return value


def without_comments(text: str) -> str:
    """Replace comments with blanks, so that every character keeps its place."""
    return _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text)


def comment_line(text: str) -> int:
    """Return the line (from 1) of the first comment, 0 without any."""
    lines = zip(text.split("\n"), without_comments(text).split("\n"), strict=True)
    return next((number for number, (line, plain) in enumerate(lines, 1) if line != plain), 0)


def line_of(text: str, path: Path) -> int:
    """Return the line (from 1) where the value of a path starts."""
    return text.count("\n", 0, _find(text, path).start) + 1


def put(text: str, path: Path, value: Any) -> str:
    """Replace a value, or add it at the end of its object or list."""
    parent, step = _find(text, path[:-1]), path[-1]
    children = parent.children or {}
    unit, newline = _indent(text), "\r\n" if "\r\n" in text else "\n"
    inner, outer = newline + unit * len(path), newline + unit * (len(path) - 1)
    rendered = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", inner)
    if step in children:
        return text[: children[step].start] + rendered + text[children[step].end :]
    if isinstance(step, str):
        rendered = f"{json.dumps(step, ensure_ascii=False)}: {rendered}"
    end = parent.end - 1
    last = next(reversed(children.values())).end if children else parent.start + 1
    behind = last + len(text[last:end].rstrip())  # a comment there belongs to the value before it
    comma, tail = (",", text[behind:end]) if children else ("", outer)
    return f"{text[:last]}{comma}{text[last:behind]}{inner}{rendered}{tail}{text[end:]}"


def drop(text: str, path: Path) -> str:
    """Remove a value with its key and comma. An emptied object or list is written `{}` or `[]`."""
    parent = _find(text, path[:-1])
    nodes = list((parent.children or {}).values())
    at = list(parent.children or {}).index(path[-1])
    node, several = nodes[at], len(nodes) > 1
    # The first of several goes with the comma behind it, and its successor takes its place; others with the one before.
    start = nodes[at - 1].end if at else node.keyed if several else parent.start + 1
    end = node.end if at else nodes[1].keyed if several else parent.end - 1
    kept = _comments(text[start : node.keyed]) + _comments(text[node.end : end])
    is_open = kept and without_comments(f"{kept}x").endswith(" ")  # by a comment closed only by a line's end
    return text[:start] + kept + ("\n" if is_open and not re.match(r"[ \t]*\r?\n", text[end:]) else "") + text[end:]


def _comments(gap: str) -> str:
    """Return the text between two values without its comma, "" without a comment."""
    comma = without_comments(gap).find(",")
    kept = gap if comma < 0 else gap[:comma] + gap[comma + 1 :]
    return kept.rstrip() if without_comments(gap) != gap else ""


def _indent(text: str) -> str:
    found = re.match(r"\s*\{[ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _find(text: str, path: Path) -> _Node:
    node = _scan(without_comments(text), 0)
    for step in path:
        node = (node.children or {})[step]
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _scan(text: str, at: int, keyed: int | None = None) -> _Node:
    start = _skip(text, at)
    node = _Node(start=start, end=start, keyed=start if keyed is None else keyed)
    if text[start] not in "{[":
        node.end = _DECODER.raw_decode(text, start)[1]
        return node
    children: dict[str | int, _Node] = {}
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        step: str | int = len(children)
        key_start = at
        if text[start] == "{":
            step, at = _DECODER.raw_decode(text, at)
            if step in children:
                _twice(text, key_start, str(step))
            at = _skip(text, at) + 1
        child = children[step] = _scan(text, at, key_start)
        at = _skip(text, child.end)
        at = _skip(text, at + 1) if text[at] == "," else at
    node.end = at + 1
    node.children = children
    return node


def _twice(text: str, at: int, key: str) -> NoReturn:
    raise UnclearError(text.count("\n", 0, at) + 1, f"the key `{key}` appears twice")
