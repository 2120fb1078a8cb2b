"""Reads the labelled calls of this folder: those that were written for a part of Baton, and real lines by what they do."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts, Verdict
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.matching.policy_set import PolicySet

FOLDER = Path(__file__).parent
READS = ("read-only", "vcs-read")
"""Labels of lines that change nothing: the strict mode must allow them, too."""
ALLOWS = ("allow", "abstain")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A call with the decision that is wanted: in which mode, of whom, and by which rule ("" for any)."""

    part: str
    kind: str
    tool: str
    tool_input: Mapping[str, Any]
    want: tuple[str, ...]
    rule: str = ""
    mode: str = "off"
    who: str = "orchestrator"
    cwd: str = "/repo"
    history: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The line, or the tool and its input."""
        line = self.tool_input.get("command")
        return line if self.tool == "Bash" and isinstance(line, str) else f"{self.tool} {dict(self.tool_input)}"

    @property
    def stops(self) -> bool:
        """Whether the call is to be stopped, or asked about."""
        return "allow" not in self.want


class Real(msgspec.Struct, frozen=True):
    """A line from a real project: its theme, what it does, and the rule that must stop it where one must."""

    theme: str
    label: str
    line: str
    rule: str = ""


def judged(policies: PolicySet, entry: Entry) -> Verdict:
    """Return what the policies say of an entry."""
    call = ToolCall(
        client="claude-code", session_id="s", tool_name=entry.tool, tool_input=dict(entry.tool_input), cwd=entry.cwd,
        project_root=entry.cwd, agent_id="" if entry.who == "orchestrator" else "agent-1",
    )  # fmt: skip
    return evaluate(policies, Facts(call=call, level=entry.mode, history=entry.history))


def of_line(line: str, mode: str = "off") -> Entry:
    """Return a shell line as an entry that wants nothing in particular."""
    return Entry(part="", kind="", tool="Bash", tool_input={"command": line}, want=(), mode=mode)


def entries() -> list[Entry]:
    """Return the calls of all parts.

    Raises:
        AssertionError: If a part has none.
    """
    found = [one for path in sorted(FOLDER.glob("*.yaml")) for one in _entries(path)]
    assert found
    return found


def _entries(path: Path) -> Iterator[Entry]:
    for one in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
        tool, tool_input = ("Bash", {"command": one["line"]}) if "line" in one else (one["tool"], one["input"])
        yield Entry(
            part=path.stem, kind=one["class"], tool=tool, tool_input=tool_input, want=tuple(one["want"]), rule=one.get("rule") or "",
            mode=one.get("mode", "off"), who=one.get("who", "orchestrator"), cwd=one.get("cwd", "/repo"),
            history=tuple(one.get("history", ())),
        )  # fmt: skip


def real() -> list[Real]:
    """Return the real lines of all themes."""
    found: list[Real] = []
    for path in sorted((FOLDER / "real").glob("*.yaml")):
        for label, lines in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).items():
            for one in lines:
                line, rule = (one, "") if isinstance(one, str) else (one["line"], one.get("rule", ""))
                found.append(Real(path.stem, label, line, rule))
    return found
