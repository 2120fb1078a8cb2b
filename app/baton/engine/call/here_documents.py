"""Remove the content of files from shell commands before they are recorded.

A command carries such content in a patch, or in a here-document for `cat`, `tee`, `patch` or `git apply`. Other
here-documents are scripts and messages, and are kept. Patterns are enough for this; no shell is parsed.
"""

import re

LOOKED_AT = 65_536
"""Characters of a command with here-documents that are read; the rest is removed as well."""
MASK = "[masked:file-content]"

_PATCH = "*** Begin Patch"
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*[\"'\\]?([\w.-]+)")
_TAKES_CONTENT = re.compile(r"\b(?:tee|patch|git (?:apply|am))\b")
_CAT = re.compile(r"\bcat\b")
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")


def without_content(command: str) -> str:
    """Return a command without the content of files; `MASK` replaces each here-document."""
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
