"""Which rule stops which line of the corpora, kept in frozen.tsv: a line that was stopped stays so.

`python -m tests.judge.frozen` writes the file anew. A row that changes belongs into the commit that explains it.
"""

import sys
from collections.abc import Iterable, Iterator

from baton.engine.policy.matching.policy_set import PolicySet
from tests.corpus.judge import labels, lines
from tests.judge.corpus import FOLDER, entries, judged, of_line, real
from tests.support.shipped import shipped

FILE = FOLDER / "frozen.tsv"
_STOPS = ("deny", "ask")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def corpus() -> Iterator[str]:
    """Yield every shell line of the corpora once."""
    seen: set[str] = set()
    of_entries = [one.tool_input.get("command") for one in entries() if one.tool == "Bash"]
    for line in (
        *of_entries, *(one.line for one in real()), *(one.command for one in labels()), *(row["line"] for row in lines("attacks.jsonl"))
    ):  # fmt: skip
        if isinstance(line, str) and line not in seen:
            seen.add(line)
            yield line


def written(line: str) -> str:
    """Return a line as the file has it."""
    return line.translate(_ESCAPES)


def rows(policies: PolicySet, lines: Iterable[str]) -> list[str]:
    """Return a row for each line that is stopped: what says so with the mode off, in the strict mode, and the line."""
    found = []
    for line in lines:
        verdicts = [judged(policies, of_line(line, mode)) for mode in ("off", "strict")]
        said = [f"{one.effect} {one.rule}" if one.effect in _STOPS else "" for one in verdicts]
        if any(said):
            found.append("\t".join([*said, written(line)]))
    return sorted(found, key=lambda row: row.rpartition("\t")[2])


def main() -> int:
    """Write the file."""
    FILE.write_text(
        "\n".join(["with the mode off\tin the strict mode\tline", *rows(shipped(), corpus())]) + "\n", encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
