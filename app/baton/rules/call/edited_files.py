"""The files edited by a call: names, written text, and lines without file content."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from baton.lib.text.patches import PATCH, PATCHED
from baton.rules.call.call import ToolCall

# The files of a call, with equal names in two developers' copies of a project.

MOST = 20

_LONGEST_CACHED = 2_000
_FILE_TOOLS = frozenset({"Edit", "Write", "Read"})
_OTHER_KEYS = ("path", "filePath")
"""Keys of other clients than Claude Code for a file, in their own tools of these kinds."""


def edited_paths(call: ToolCall) -> tuple[str, ...]:
    """Return the files of an edit, a write, a patch or a read; those inside the project relative to it."""
    named = [call.tool_input.get("file_path"), call.tool_input.get("notebook_path")]
    if call.tool_name in _FILE_TOOLS and not any(named):
        named = [call.tool_input.get(key) for key in _OTHER_KEYS]
    for value in call.tool_input.values():
        if isinstance(value, str) and PATCH in value:
            named += (found[1] for found in islice(PATCHED.finditer(value), MOST))  # a patch may name a million
    if not any(named):
        return ()
    root = call.project_root or call.cwd
    return tuple(dict.fromkeys([_relative(path, call.cwd, root) for path in named if path and isinstance(path, str)]))[
        :MOST
    ]


def within_project(path: str, call: ToolCall) -> str:
    """Return a path of a call relative to its project, or unchanged if outside."""
    return _relative(path, call.cwd, call.project_root or call.cwd)


def _relative(path: str, cwd: str, root: str) -> str:
    short = len(path) + len(cwd) + len(root) <= _LONGEST_CACHED
    return _known_relative(path, cwd, root) if short else _new_relative(path, cwd, root)


def _new_relative(path: str, cwd: str, root: str) -> str:
    path = path.encode("utf-8", "replace").decode()  # a lone surrogate is invalid in a file name
    whole = posixpath.normpath(posixpath.join(cwd, path))
    return whole.removeprefix(posixpath.normpath(root or "/").rstrip("/") + "/")


_known_relative = lru_cache(maxsize=4_096)(_new_relative)


# The text written by a finished call, per file, as far as its input shows it.

MOST_FILES = 10  # maximum files of one call with returned text
MOST_BYTES = 32_768  # maximum bytes of UTF-8 returned of one file's text

_WHOLE = ("content", "file_text", "contents")  # keys of a whole file's text, by client
_NEW = ("new_string", "new_str", "newString", "new_source", "insert_text")  # keys of the text inserted by an edit
_PATHS = ("file_path", "path", "filePath", "notebook_path")
_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "StrReplace"})
_ADDED_FILE = "*** Add File: "


class EditedText(msgspec.Struct, frozen=True):
    """The text written to one file. `whole` is False for a part of it, such as the added lines of a patch."""

    path: str
    text: str
    whole: bool


def edited_texts(tool: str, tool_input: Mapping[str, Any]) -> list[EditedText]:
    """Return the text written by an editing tool, at most `MOST_FILES` files of `MOST_BYTES` each.

    A shell call counts if it contains a patch, the way Codex edits.
    """
    patch = next((one for one in tool_input.values() if isinstance(one, str) and PATCH in one), "")
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
    """Return the start of a string, at most `MOST_BYTES` bytes of UTF-8, cut between characters."""
    return text[:MOST_BYTES].encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore")


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
    """Yield each file of a patch, with its added lines, and whether these are the whole file."""
    heads = list(islice(PATCHED.finditer(patch), MOST_FILES + 1))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(patch)
        # This cut loses nothing: a line of a patch is no shorter than its added text.
        lines = patch[head.end() : min(end, head.end() + 2 * MOST_BYTES)].split("\n")
        added = "\n".join(line[1:] for line in lines if line.startswith("+"))
        yield head[1].strip(), added, head[0].startswith(_ADDED_FILE)


# Remove file content from shell commands before they are recorded. A command contains it in a patch, or in a
# here-document for `cat`, `tee`, `patch` or `git apply`. Other here-documents are scripts and messages, and are kept.
# Patterns are enough for this, without parsing a shell.

LOOKED_AT = 65_536  # maximum characters read of a command with here-documents; the rest is removed as well
MASK = "[masked:file-content]"

_PATCH = "*** Begin Patch"
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*[\"'\\]?([\w.-]+)")
_TAKES_CONTENT = re.compile(r"\b(?:tee|patch|git (?:apply|am))\b")
_CAT = re.compile(r"\bcat\b")
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")


def without_content(command: str) -> str:
    """Return a command without file content; `MASK` replaces each here-document."""
    command = command.partition(_PATCH)[0]
    if "<<" not in command:
        return command
    kept: list[str] = []
    end = ""
    for line in command[:LOOKED_AT].split("\n"):
        if end and line.strip() != end:
            continue
        kept.append(line)
        document = None if end else _DOCUMENT.search(line)
        end = ""
        if document is not None and _writes(line):
            end = document[1]
            kept.append(MASK)
    return "\n".join(kept)


def _writes(line: str) -> bool:
    if _TAKES_CONTENT.search(line):
        return True
    return ">" in line and _CAT.search(line) is not None and _PIPE.search(line) is None
