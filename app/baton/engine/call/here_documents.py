"""What a shell command carries of the files that it writes, taken out. It reads no shell: here a line's looks are enough.

The content of a file reaches a command in a patch, or in a here-document that `cat`, `tee`, `patch` or `git apply` takes.
Other here-documents are scripts and messages, and stay.
"""

import re

LOOKED_AT = 65_536
"""Characters of a command with here-documents that are looked at; what stands behind them is taken out, too."""
MASK = "[masked:file-content]"

_PATCH = "*** Begin Patch"
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*[\"'\\]?([\w.-]+)")
_TAKES_CONTENT = re.compile(r"\b(?:tee|patch|git (?:apply|am))\b")
_CAT = re.compile(r"\bcat\b")
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")


def without_content(command: str) -> str:
    """Give a command without the content of files; `MASK` stands for what was in a here-document."""
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
