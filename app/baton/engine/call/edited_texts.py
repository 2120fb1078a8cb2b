"""The texts that a finished call wrote, file by file, as far as its input tells them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from baton.engine.call.edited_paths import PATCHED

MOST_FILES = 10
"""Files of one call whose texts are returned."""
MOST_BYTES = 32_768
"""Bytes of UTF-8 of one file's text that are returned. Seed 004."""

_WHOLE = ("content", "file_text", "contents")
"""Keys of a whole file's text, by client."""
_NEW = ("new_string", "new_str", "newString", "new_source", "insert_text")
"""Keys of the text that an edit puts in."""
_PATHS = ("file_path", "path", "filePath", "notebook_path")
_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "StrReplace"})
_PATCH = "*** Begin Patch"
_ADDED_FILE = "*** Add File: "


class EditedText(msgspec.Struct, frozen=True):
    """What was written to one file. `whole` is False for a part of it, such as the lines that a patch adds."""

    path: str
    text: str
    whole: bool


def edited_texts(tool: str, tool_input: Mapping[str, Any]) -> list[EditedText]:
    """Return what a call of an editing tool wrote, at most `MOST_FILES` files of `MOST_BYTES` each.

    A shell's call counts where it holds a patch, as Codex edits with it.
    """
    patch = next((one for one in tool_input.values() if isinstance(one, str) and _PATCH in one), "")
    if patch:
        return [EditedText(path, cut(text), whole) for path, text, whole in islice(_patched(patch), MOST_FILES) if text]
    path = _first(tool_input, _PATHS)
    if not path:
        return []
    if tool == "Write" and (text := _first(tool_input, _WHOLE)):
        return [EditedText(path, cut(text), whole=True)]
    if tool in _EDITS and (text := _replaced(tool_input)):
        return [EditedText(path, cut(text), whole=False)]
    return []


def cut(text: str) -> str:
    """Return the beginning of a text, of at most `MOST_BYTES` bytes of UTF-8, cut at a character's border."""
    encoded = text[:MOST_BYTES].encode("utf-8", "replace")
    return encoded[:MOST_BYTES].decode("utf-8", "ignore")


def _first(holder: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := holder.get(name), str) and value), "")


def _replaced(tool_input: Mapping[str, Any]) -> str:
    edits = tool_input.get("edits")
    many = [one for one in edits if isinstance(one, Mapping)] if isinstance(edits, list) else []
    parts: list[str] = []
    room = MOST_BYTES
    for one in (tool_input, *many):
        if room <= 0:
            break
        if text := _first(one, _NEW):
            parts.append(text[:room])
            room -= len(parts[-1]) + 1
    return "\n".join(parts)


def _patched(patch: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each file that a patch names, with the lines that it adds, and whether these are all of the file."""
    heads = list(islice(PATCHED.finditer(patch), MOST_FILES + 1))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(patch)
        # What is cut off here is cut off anyway: a line of a patch is no shorter than what it adds.
        lines = patch[head.end() : min(end, head.end() + 2 * MOST_BYTES)].split("\n")
        added = "\n".join(line[1:] for line in lines if line.startswith("+"))
        yield head[1].strip(), added, head[0].startswith(_ADDED_FILE)
