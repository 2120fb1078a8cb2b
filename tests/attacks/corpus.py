"""Reads the attacks: calls of tests/lines, requests of this folder, and the threat model's out-of-reach table."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from tests.lines.corpus import ATTACKS, rows
from tests.support.attacks import entries, written

THREAT_MODEL = Path(__file__).parents[2] / "docs" / "threat-model.md"
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


def calls() -> list[Call]:
    """Return the calls of the attack topics of tests/lines, and their harmless neighbours."""
    found = []
    for row in (row for topic in (*ATTACKS, "harmless") for row in rows(topic) if row.section != "elsewhere"):
        tool, tool_input = row.tool
        want, named = "stopped" if row.verdict == "stop" else row.known.unseen or "harmless", ""
        if want not in {"stopped", "refused", "pinned", "harmless"}:
            want, named = "allowed", want
        kind = f"{row.topic}/{row.section}"
        found.append(Call(kind=kind, tool=tool, tool_input=tool_input, want=want, row=named, cwd=row.known.cwd))
    return found


def parts(name: str) -> list[dict[str, Any]]:
    """Return the entries of a file of its own form, written out."""
    return [written(one) for one in entries(name)]


def out_of_reach() -> dict[str, Row]:
    """Return the rows of the threat model's table of what is out of reach, by their names."""
    section = THREAT_MODEL.read_text().partition("## Out of reach")[2].partition("\n## ")[0]
    return {name: Row(*cells) for name, *cells in _ROW.findall(section)}
