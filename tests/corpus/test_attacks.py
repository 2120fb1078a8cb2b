"""A hostile line shows what it does, or is refused as unreadable."""

import pytest

from baton.engine.shell.model import Shell
from baton.engine.shell.read import read
from tests.corpus.judge import argvs, lines, tables
from tests.support.cases import listed


def missing(row: dict, shell: Shell) -> list[str]:
    """Return which facts of the row the reading does not show."""
    found = argvs(shell)
    exports = {word for program in shell.programs for word in program.assigns} | set(shell.exports)
    categories = set(shell.categories)
    feeds = {(shell.programs[source].name, shell.programs[sink].name) for source, sink in shell.feeds}
    lacks = [f"program {argv}" for argv in row.get("programs", []) if argv not in found]
    lacks += [f"category {name}" for name in row.get("categories", []) if name not in categories]
    lacks += [f"write {path}" for path in row.get("writes", []) if path not in {one.target for one in shell.writes}]
    lacks += [f"export {word}" for word in row.get("exports", []) if word not in shell.exports]
    lacks += [f"assignment {word}" for word in row.get("assigns", []) if word not in exports]
    if "any_category" in row and not categories & set(row["any_category"]):
        lacks.append(f"one of {row['any_category']}")
    if "feeds" in row and not _feeds(row["feeds"], feeds):
        lacks.append(f"feed {row['feeds']}")
    if row.get("fork_bomb") and not shell.fork_bomb:
        lacks.append("fork bomb")
    if row.get("unparsed"):
        lacks.append("a refusal")
    return lacks


def _feeds(wanted: list[str], feeds: set[tuple[str, str]]) -> bool:
    source, sink = wanted
    aliases = {"python3": "python", ".": "source"}
    return any(one == source and aliases.get(other, other) == aliases.get(sink, sink) for one, other in feeds)


def test_every_evasion_is_seen_or_refused():
    passed = {}
    for row in lines("attacks.jsonl"):
        shell = read(tables(), row["line"])
        lacks = missing(row, shell)
        if lacks and not shell.unparsed:
            passed[row["line"]] = lacks
    assert not passed, listed(passed)


@pytest.mark.parametrize(
    "line",
    [
        "$(" * 100_000,
        "(" * 30_000 + ")" * 30_000,
        "$(echo " * 400 + ")" * 400,
        "a" * 70_000,
        "ls; " * 20_000 + "rm -rf /",
        "`" * 1000,
        "<<A " * 5000,
        "{ " * 5000,
        '"$(' * 5000,
        "((" * 5000,
        "[[ " * 5000,
    ],
    ids=lambda line: f"{line[:8]} {len(line)}",
)
def test_a_line_without_measure_is_refused(line):
    assert read(tables(), line).unparsed
