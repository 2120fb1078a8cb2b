"""Reads the rows of this folder and compares each with the current reading and verdict. README.md explains a row."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from baton.lib.bash.model import Shell
from baton.lib.bash.read import read
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts, Verdict
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.matching.rule import PolicySet
from tests.support.installation import INSTALLED
from tests.support.shipped import with_packs

FOLDER = Path(__file__).parent
ATTACKS = ("switch-off", "installed")
"""Topics with `{url}`, `{host}` and `{port}` for the server's address."""
STOPS = ("deny", "ask")
MODES = {"": (), "any": ("off", "strict")}
"""Modes that a cell stands for. Other cells stand for themselves."""
VERDICTS = {"stop": STOPS, "allow": ("allow", "abstain")}
"""Effects that a verdict cell accepts. Other cells accept only themselves."""
_SECTION = re.compile(r"# (.+?)(?: (\{.*\}))?$")
_ESCAPES = {ord("\n"): "⏎", **{code: chr(0x2400 + code) for code in range(32) if code != ord("\n")}}
_CHARACTERS = {ord(sign): code for code, sign in _ESCAPES.items()}


class Shows(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Facts that a reading must contain, unless it refuses the line."""

    programs: tuple[tuple[str, ...], ...] = ()
    categories: tuple[str, ...] = ()
    any_category: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    fork_bomb: bool = False
    unparsed: bool = False


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The facts of a row: the call's surroundings and the expected reading. README.md lists them."""

    input: dict[str, Any] | None = None
    cwd: str = "/repo"
    who: str = "orchestrator"
    history: tuple[str, ...] = ()
    installed: bool = False
    packs: str = ""
    unseen: str = ""
    categories: str = ""
    writes: str = "-"
    programs: tuple[tuple[tuple[str, ...], ...], ...] = ()
    shows: Shows | None = None
    gap: bool = False


ORDINARY = Known()


class Row(msgspec.Struct, frozen=True):
    """A shell line or a tool call, with its expected verdict and rule in a mode."""

    topic: str
    section: str
    line: str
    mode: str = ""
    verdict: str = ""
    rule: str = ""
    known: Known = ORDINARY
    number: int = 0

    @property
    def where(self) -> str:
        """File, line number, and the call itself."""
        return f"tests/lines/{self.topic}.tsv:{self.number}: {self.line.translate(_ESCAPES)[:300]}"

    @property
    def tool(self) -> tuple[str, dict[str, Any]]:
        """The tool and its input."""
        return ("Bash", {"command": self.line}) if self.known.input is None else (self.line, self.known.input)


def parse(topic: str, text: str) -> Iterator[Row]:
    """Yield the rows of a topic's file."""
    section, known = "", {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        if "\t" not in line:
            found = _SECTION.match(line)
            assert found, f"tests/lines/{topic}.tsv:{number}: neither a row nor `# section`: {line!r}"
            section, known = found[1], msgspec.json.decode(found[2] or "{}")
            continue
        cells = [*line.split("\t"), "", "", "", ""]
        facts = {**known, **msgspec.json.decode(cells[4] or "{}")}
        yield Row(topic, section, cells[0].translate(_CHARACTERS), *cells[1:4], msgspec.convert(facts, Known), number)


def written(row: Row, known: Known = ORDINARY) -> str:
    """Return a row's text in its file, without the facts of its section."""
    own = {
        name: getattr(row.known, name)
        for name in Known.__struct_fields__
        if getattr(row.known, name) != getattr(known, name)
    }
    facts = msgspec.json.encode(own).decode() if own else ""
    cells = [row.line.translate(_ESCAPES), row.mode, row.verdict, row.rule, facts]
    return "\t".join(cells).rstrip("\t") + ("" if any(cells[1:]) else "\t")


@cache
def rows(topic: str = "*") -> tuple[Row, ...]:
    """Return the rows of one topic, or of all."""
    return tuple(
        row for path in sorted(FOLDER.glob(f"{topic}.tsv")) for row in parse(path.stem, path.read_text("utf-8"))
    )


def lines() -> list[str]:
    """Return every shell line once."""
    return list(dict.fromkeys(row.line for row in rows() if row.known.input is None))


def of_line(line: str, mode: str = "off") -> Row:
    """Return a shell line as a row without expectations."""
    return Row("", "", line, mode)


def judged(policies: PolicySet, row: Row, mode: str = "") -> Verdict:
    """Return the verdict on a row's call in a mode, by default the row's own."""
    known, (tool, given) = row.known, row.tool
    if row.topic in ATTACKS:
        text = msgspec.json.encode(given).replace(b"{url}", b"http://{host}:{port}")
        given = msgspec.json.decode(text.replace(b"{host}", b"127.0.0.1").replace(b"{port}", b"8080"))
    call = ToolCall(
        client="claude-code", session_id="s", tool_name=tool, tool_input=given, cwd=known.cwd, project="acme/shop",
        project_root=known.cwd, agent_id="" if known.who == "orchestrator" else "agent-1",
    )  # fmt: skip
    if known.packs:
        policies = with_packs(known.packs)
    facts = Facts(
        call=call, level=mode or row.mode, history=known.history, installed=INSTALLED if known.installed else ""
    )
    return evaluate(policies, facts)


def faults(policies: PolicySet, row: Row) -> list[str]:
    """Return the differences between a row's expectations and its reading and verdicts."""
    found: list[str] = []
    if row.known.categories or row.known.programs or row.known.shows:
        found += _misread(row.known, read(policies.tables, row.line))
    for mode in MODES.get(row.mode, (row.mode,)):
        verdict = judged(policies, row, mode)
        right = verdict.effect in VERDICTS.get(row.verdict, (row.verdict,))
        if not right or row.rule not in ("", verdict.rule):
            expected, actual = f"{row.verdict} {row.rule}".strip(), f"{verdict.effect} {verdict.rule}".strip()
            found.append(f"mode {mode}: expected {expected}, got {actual}")
    return found


def _misread(known: Known, shell: Shell) -> Iterator[str]:
    programs = tuple(program.argv for program in shell.programs)
    if known.shows:
        if not shell.unparsed:
            yield from _missing(known.shows, shell)
    elif shell.unparsed:
        yield f"cannot be read: {shell.unparsed}"
    if known.categories and set(shell.categories) not in _answers(known.categories):
        yield f"categories: {' '.join(shell.categories)}, expected: {known.categories}"
    writes = {write.target for write in shell.writes}
    if known.categories and known.writes != "?" and writes not in _answers(known.writes):
        yield f"writes: {' '.join(writes)}, expected: {known.writes}"
    if known.programs and programs not in known.programs:
        yield f"programs: {programs}"


def _answers(text: str) -> list[set[str]]:
    return [set(words.split()) - {"-"} for words in text.split(" | ")]


def _missing(wanted: Shows, shell: Shell) -> list[str]:
    """Return the facts that a reading does not contain."""
    assigned = {word for program in shell.programs for word in program.assigns} | set(shell.exports)
    shown = {
        "programs": {program.argv for program in shell.programs}, "categories": set(shell.categories),
        "writes": {write.target for write in shell.writes}, "exports": set(shell.exports), "assigns": assigned,
    }  # fmt: skip
    lacks = [f"{name} {one}" for name, have in shown.items() for one in getattr(wanted, name) if one not in have]
    if wanted.any_category and not shown["categories"] & set(wanted.any_category):
        lacks.append(f"one of {wanted.any_category}")
    feeds = [(shell.programs[source].name, shell.programs[sink].name) for source, sink in shell.feeds]
    if wanted.feeds and wanted.feeds not in feeds:
        lacks.append(f"feed {wanted.feeds}")
    lacks += ["fork bomb"] if wanted.fork_bomb and not shell.fork_bomb else []
    return [*lacks, "a refusal"] if wanted.unparsed else lacks
