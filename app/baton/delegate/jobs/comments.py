"""Comments on a job's changes by file and line, with the quoted line for the agent."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from baton.kernel.base.errors import Invalid

MOST_COMMENTS = 100
LONGEST_COMMENT = 8_192
LONGEST_FILE = 1_024
_LONGEST_QUOTE = 300
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)")


class DiffComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of a file in the job's version. Lines count from 1."""

    file: str
    line: int
    text: str


def checked(comments: Sequence[DiffComment]) -> None:
    """Check the file names of comments. Raise Invalid, naming the comment."""
    for number, comment in enumerate(comments):
        parts = comment.file.split("/")
        if not all(parts) or ".." in parts or not comment.file.isprintable():
            raise Invalid(
                f"comments.{number}.file",
                f"is `{comment.file[:100]}`; name a file by its path in the repository, such as `src/cart.py`",
            )


def worded(message: str, comments: Sequence[DiffComment], diff: str) -> str:
    """Return a message to the agent, with comments on its changes."""
    if not comments:
        return message
    lines = _new_lines(diff, {comment.file for comment in comments})
    said = [message, ""] if message else []
    said.append("Comments on your changes:")
    for comment in comments:
        said.append(f"- {comment.file}:{comment.line}: {comment.text}")
        quoted = lines.get((comment.file, comment.line))
        if quoted is not None:
            said.append(f"  (the line is: `{quoted[:_LONGEST_QUOTE]}`)")
    return "\n".join(said)


def diff_of(body: dict[str, Any]) -> str:
    """Return the diff of a `workspace.diff` event, or "" for other runner versions."""
    diff = body.get("diff")
    return diff if isinstance(diff, str) else ""


def _new_lines(diff: str, files: Iterable[str]) -> dict[tuple[str, int], str]:
    headers = {f"+++ b/{file}": file for file in files}
    found: dict[tuple[str, int], str] = {}
    file, number = "", 0
    for text in diff.split("\n"):
        if text.startswith("diff --git "):
            file, number = "", 0
        elif not number and text.startswith("+++ "):
            file = headers.get(text.rstrip("\t"), "")
        elif hunk := _HUNK.match(text):
            number = int(hunk[1])
        elif file and number and text[:1] in {"+", " "}:
            found[file, number] = text[1:]
            number += 1
    return found
