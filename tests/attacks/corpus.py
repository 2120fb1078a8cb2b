"""Reads every attack of this folder: the lines, calls and requests of each file, and the rows of what is out of reach."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tests.support.attacks import entries, written

FOLDER = Path(__file__).parent
THREAT_MODEL = FOLDER.parents[1] / "docs" / "threat-model.md"
STOPPED = ("blocked", "asked")
OUTCOMES = ("blocked", "asked", "masked", "refused", "bounded", "allowed")
"""The columns of the table: what can become of an attack. `bounded` is answered, and within the bounds of work."""
_ROW = re.compile(r"^\| `([\w-]+)`: (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that an agent makes: its class, the tool and its input, and what is wanted.

    `want` is `stopped`, `refused` (by the server, whatever the rules say), `pinned` (it takes no effect), `allowed` (with the `row` that says why) or
    `harmless`.
    """

    kind: str
    tool: str
    tool_input: dict[str, Any]
    want: str
    row: str = ""
    cwd: str = "/repo"

    @property
    def name(self) -> str:
        """The line, or the tool and its input."""
        line = self.tool_input.get("command")
        return line if self.tool == "Bash" and isinstance(line, str) else f"{self.tool} {json.dumps(self.tool_input)}"


class Row(msgspec.Struct, frozen=True):
    """A row of the threat model's table of what is out of reach."""

    what: str
    why: str
    instead: str


def calls(*files: str) -> list[Call]:
    """Return the calls of some files, by default of all that have lines or calls."""
    found = [one for path in sorted(FOLDER.glob("*.yaml")) if not files or path.stem in files for one in _calls(path)]
    assert found
    return found


def _calls(path: Path) -> Iterator[Call]:
    for one in entries(path.stem):
        kind = one["class"]
        if kind.startswith(("colleagues/", "secrets/", "stall/", "installed/elsewhere")):
            continue
        row = one.get("row", "")
        want = one.get("want", "harmless")
        want = "harmless" if want == "allowed" and not row else want
        cwd = one.get("cwd", "/home/ann/shop" if kind.startswith("installed/") else "/repo")
        lines = one.get("lines", "").splitlines() + ([one["line"]] if "line" in one else [])
        for line in lines:
            yield Call(kind=kind, tool="Bash", tool_input={"command": line}, want=want, row=row, cwd=cwd)
        for tool, tool_input in [*one.get("calls", ()), *([(one["tool"], one["input"])] if "tool" in one else [])]:
            yield Call(kind=kind, tool=tool, tool_input=tool_input, want=want, row=row, cwd=cwd)


def parts(name: str) -> list[dict[str, Any]]:
    """Return the entries of a file of its own form, written out."""
    return [written(one) for one in entries(name)]


def out_of_reach() -> dict[str, Row]:
    """Return the rows of the threat model's table of what is out of reach, by their names."""
    section = THREAT_MODEL.read_text().partition("## Out of reach")[2].partition("\n## ")[0]
    return {name: Row(*cells) for name, *cells in _ROW.findall(section)}
