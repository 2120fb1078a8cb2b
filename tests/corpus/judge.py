"""The labelled shell lines of this folder, and how far a reading agrees with them. It does not know the shipped tables' text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from baton.engine.shell.model import Shell
from baton.engine.shell.read import read
from baton.engine.shell.tables.tables import ShellTables, build

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HARMLESS = frozenset({"read-only", "vcs-read"})
HARMFUL = frozenset({"file-write", "test-or-build", "destructive"})


@dataclass(frozen=True, kw_only=True)
class Label:
    """A command, every set of categories that a careful reader could give it, and every set of written paths.

    `writes` is empty where the paths are not judged. `guarded` marks one that a guardrail is to stop, with the mode off too.
    """

    where: str
    command: str
    categories: tuple[frozenset[str], ...]
    writes: tuple[frozenset[str], ...]
    guarded: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a reading said of a label, and where it was wrong."""

    label: Label
    categories: frozenset[str]
    writes: frozenset[str]
    unparsed: str

    @property
    def right(self) -> bool:
        """Whether the categories are one of the label's sets."""
        return self.categories in self.label.categories and not self.unparsed

    @property
    def writes_right(self) -> bool:
        """Whether the written paths are as labelled, or not judged."""
        return not self.label.writes or self.writes in self.label.writes

    @property
    def dangerous(self) -> bool:
        """Whether every label calls it harmful and the reading calls it a mere look."""
        return (
            all(labelled & HARMFUL for labelled in self.label.categories)
            and self.categories <= HARMLESS
            and not self.unparsed
        )


@cache
def tables() -> ShellTables:
    """Build the shipped tables, in the order of their names."""
    built = build({path.name: path.read_text() for path in sorted((ROOT / "policies" / "shell").glob("*.yaml"))})
    assert not isinstance(built, tuple), "\n".join(str(problem) for problem in built)
    return built


def labels() -> Iterator[Label]:
    """Read `commands/*.tsv`, where `⏎` stands for a newline and `|` stands between equally good answers."""
    for path in sorted((HERE / "commands").glob("*.tsv")):
        for number, line in enumerate(path.read_text().splitlines()[1:], 2):
            command, categories, writes, *notes = line.split("\t")
            yield Label(
                where=f"{path.stem}:{number}",
                command=command.replace("⏎", "\n"),
                categories=tuple(frozenset(words.split()) for words in categories.split("|")),
                writes=()
                if writes == "?"
                else tuple(frozenset(words.split()) - {"-"} for words in writes.split(" | ")),
                guarded="guarded" in notes,
            )


def judge(label: Label) -> Verdict:
    """Read the label's command with the shipped tables."""
    shell = read(tables(), label.command)
    return Verdict(
        label=label,
        categories=frozenset(shell.categories),
        writes=frozenset(write.target for write in shell.writes),
        unparsed=shell.unparsed,
    )


def lines(name: str) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def argvs(shell: Shell) -> list[list[str]]:
    """Return what the API shows of a reading: each program's arguments."""
    return [list(program.argv) for program in shell.programs]
