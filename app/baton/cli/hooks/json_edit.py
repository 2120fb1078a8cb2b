"""Changes single values in a JSON text and leaves every other byte as it is.

A path is a sequence of keys and indexes; all but its last step must exist. Texts are valid JSON: `check` first.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

Path = Sequence[str | int]
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class UnclearError(ValueError):
    """A text that cannot be edited, with the line (from 1) of the cause."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class _Node(msgspec.Struct):
    """A value in the text. `keyed` is where its key starts, or itself without a key; children are None for scalars."""

    start: int
    end: int
    keyed: int
    children: dict[str | int, "_Node"] | None = None


def check(text: str) -> dict[str, Any]:
    """Parse a text that must be an object without duplicate keys. Raise UnclearError."""
    try:
        value = json.loads(text)
        _scan(text, 0)
    except json.JSONDecodeError as error:
        raise UnclearError(error.lineno, f"it is not valid JSON: {error.msg.lower()}") from error
    except RecursionError as error:
        raise UnclearError(1, "it is nested too deeply") from error
    if not isinstance(value, dict):
        raise UnclearError(1, "it is not an object")
    return value


def line_of(text: str, path: Path) -> int:
    """Return the line (from 1) on which the value of a path starts."""
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
    if children:
        last = next(reversed(children.values())).end
        return f"{text[:last]},{inner}{rendered}{text[last:]}"
    return f"{text[: parent.start + 1]}{inner}{rendered}{outer}{text[parent.end - 1 :]}"


def drop(text: str, path: Path) -> str:
    """Remove a value with its key and comma; an object or list that becomes empty is written `{}` or `[]`."""
    parent = _find(text, path[:-1])
    nodes = list((parent.children or {}).values())
    at = list(parent.children or {}).index(path[-1])
    if len(nodes) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if at == 0:
        return text[: nodes[0].keyed] + text[nodes[1].keyed :]
    return text[: nodes[at - 1].end] + text[nodes[at].end :]


def _indent(text: str) -> str:
    found = re.match(r"\s*\{[ \t]*\r?\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _find(text: str, path: Path) -> _Node:
    node = _scan(text, 0)
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
