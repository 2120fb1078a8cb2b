"""Judge the labelled corpora and the dressed commands with the shipped policies, and print how often that is right: `make judge`.

Ends with 1 if anything is missed, nagged about or decided by another rule than wanted, or if the rates of real lines are
worse than `RATES`.
"""

import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.shell.read import read
from tests.corpus.judge import HARMLESS, Label, labels, lines
from tests.corpus.judge import judge as read_as
from tests.corpus.test_attacks import missing
from tests.judge.corpus import ALLOWS, READS, Entry, Real, entries, judged, of_line, real
from tests.judge.disguises import disguised
from tests.judge.wrappings import TARGETS, Dressed, mixed, pairs
from tests.support.shipped import shipped

RATES = {"unreadable": 0.002, "nagged": 0.005, "refused": 0.03}
"""Most that may be unreadable, stopped with the mode off, and, of what only reads, refused in the strict mode."""
COLUMNS = ("right", "missed", "nagged", "refused", "wrong rule", "other facts", "unreadable")
"""How a line can be judged: `refused` only reads and is refused in the strict mode; `other facts` are not as labelled."""
_SEED, _MIXED = 20_240_601, 6_000


class Outcome(msgspec.Struct, frozen=True):
    """What became of one line: its row in the table, how it was judged, what was said, and how long reading it took in s."""

    row: str
    how: str
    name: str
    said: str
    reading: float


def outcome(policies: PolicySet, entry: Entry) -> tuple[str, str]:
    """Return how a wanted decision was met, and the decision."""
    verdict = judged(policies, entry)
    said = f"{verdict.effect} {verdict.rule}".strip()
    stopped = verdict.effect not in (*ALLOWS, "rewrite")
    if entry.stops and not stopped:
        return "missed", said
    if stopped and not entry.stops:
        return "nagged", said
    right = verdict.effect in entry.want or (verdict.effect in ALLOWS and "allow" in entry.want)
    return "right" if right and entry.rule in ("", verdict.rule) else "wrong rule", said


def of_entries(policies: PolicySet, found: Iterable[Entry]) -> Iterator[Outcome]:
    """Judge the calls that were written for the parts."""
    for one in found:
        how, said = outcome(policies, one)
        line = one.tool_input.get("command")
        _, reading = timed(policies, line) if isinstance(line, str) else (False, 0.0)
        yield Outcome(f"{one.part}/{one.kind}", how, one.name, said, reading)


def of_real(policies: PolicySet, found: Iterable[Real]) -> Iterator[Outcome]:
    """Judge real lines with the mode off, and those that only read in the strict mode, too."""
    for one in found:
        want = ("deny", "ask") if one.label == "blocked" else ("allow",)
        entry = msgspec.structs.replace(of_line(one.line), want=want, rule=one.rule)
        how, said = outcome(policies, entry)
        unreadable, reading = timed(policies, one.line)
        if how == "right" and one.label in READS:
            strict, told = outcome(policies, msgspec.structs.replace(entry, mode="strict"))
            how, said = ("refused" if strict == "nagged" else how), told
        yield Outcome(f"real, {one.label}", "unreadable" if unreadable else how, one.line, said, reading)


def of_labels(policies: PolicySet, found: Iterable[Label]) -> Iterator[Outcome]:
    """Read the labelled commands; those that only read are judged with the mode off and in the strict mode, too."""
    for label in found:
        reading = read_as(label)
        _, seconds = timed(policies, label.command)
        how, said = ("right" if reading.right and reading.writes_right else "other facts"), " ".join(reading.categories)
        if reading.dangerous:
            how = "missed"
        categories = label.categories[0]
        want = ("deny", "ask") if label.guarded else ("allow",)
        entry = msgspec.structs.replace(of_line(label.command), want=want)
        if label.guarded or not categories & {"destructive", "unknown"}:
            off, told = outcome(policies, entry)
            how, said = (off, told) if off != "right" else (how, said)
        if how == "right" and categories <= HARMLESS and not label.guarded:
            strict, told = outcome(policies, msgspec.structs.replace(entry, mode="strict"))
            how, said = ("refused", told) if strict == "nagged" else (how, said)
        row = f"commands, {', '.join(sorted(categories))}"
        yield Outcome(row, "unreadable" if reading.unparsed else how, label.command, said, seconds)


def of_evasions(policies: PolicySet) -> Iterator[Outcome]:
    """Read the evasions: what a line hides is listed, or the line is refused as unreadable."""
    for row in lines("attacks.jsonl"):
        shell = read(policies.tables, row["line"])
        lacks = [] if shell.unparsed else missing(row, shell)
        _, seconds = timed(policies, row["line"])
        yield Outcome("evasions", "missed" if lacks else "right", row["line"], ", ".join(lacks), seconds)


def timed(policies: PolicySet, line: str) -> tuple[bool, float]:
    """Return whether a line cannot be read, and how long its reading takes in s: the shorter of two."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        shell = read(policies.tables, line)
        times.append(time.perf_counter() - start)
    return shell.unparsed != "", min(times)


def missed(policies: PolicySet, found: Iterable[Dressed]) -> Iterator[tuple[Dressed, bool]]:
    """Yield each dressed command with whether it was missed."""
    for one in found:
        yield one, judged(policies, of_line(one.line, one.target.level)).effect not in ("deny", "ask")


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the counts and the times of reading by row, as a table for people."""
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        rows[one.row].append(one)
    text = [f"{'':52}{'lines':>7}" + "".join(f"{column:>12}" for column in COLUMNS) + "   p50 ms   p99 ms    worst"]
    for row, members in sorted(rows.items()):
        counts = Counter(one.how for one in members)
        times = sorted(one.reading * 1e3 for one in members)
        p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
        cells = "".join(f"{counts[column] or '.':>12}" for column in COLUMNS)
        text.append(
            f"{row[:51]:52}{len(members):>7}{cells}{statistics.median(times):>9.2f}{p99:>9.2f}{times[-1]:>9.2f}"
        )
    return "\n".join(text)


def rates(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Return the shares of real lines that are unreadable, nagged about, and refused although they only read."""
    found = [one for one in outcomes if one.row.startswith("real")]
    reads = [one for one in found if one.row.removeprefix("real, ") in READS]
    harmless = [one for one in found if one.row != "real, blocked"]
    return {
        "unreadable": _share(found, "unreadable"),
        "nagged": _share(harmless, "nagged"),
        "refused": _share(reads, "refused"),
    }


def _share(found: list[Outcome], how: str) -> float:
    return sum(one.how == how for one in found) / len(found) if found else 0.0


def main() -> int:
    """Judge everything and print it; return the exit status."""
    policies = shipped()
    outcomes = [
        *of_entries(policies, entries()), *of_real(policies, real()), *of_labels(policies, labels()), *of_evasions(policies)
    ]  # fmt: skip
    print(table(outcomes))
    bad = [one for one in outcomes if one.how != "right"]
    for one in bad:
        print(f"  {one.how}: {one.row}: {one.name[:300]!r}\n    said: {one.said}")
    found = rates(outcomes)
    print(
        "\nreal lines: " + ", ".join(f"{share:.2%} {name} (at most {RATES[name]:.1%})" for name, share in found.items())
    )
    print(f"\n{'dressed commands':24}{'lines':>8}{'stopped':>9}{'missed':>8}")
    tried = list(missed(policies, (one for target in TARGETS for one in pairs(target))))
    tried += missed(policies, mixed(_SEED, _MIXED))
    tried += missed(policies, disguised())
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for one, was_missed in tried:
        counts[one.target.kind][was_missed] += 1
    for kind, count in counts.items():
        print(f"{kind:24}{count.total():>8}{count[False]:>9}{count[True]:>8}")
    for one, was_missed in tried:
        if was_missed:
            print(f"  {one.target.kind}, {one.wrapper or 'no wrapper'}, {one.quoting}, {one.indirection}: {one.line!r}")
    failed = any(one.how in ("missed", "nagged", "wrong rule") and not one.row.startswith("real") for one in outcomes)
    return 1 if failed or any(found[name] > most for name, most in RATES.items()) or any(was for _, was in tried) else 0


if __name__ == "__main__":
    sys.exit(main())
