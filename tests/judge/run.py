"""Judge the rows of tests/lines and the dressed commands with the shipped policies, and print the result: `make judge`.

Ends with 1 if a row is wrong or a dressed command is missed.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from baton.rules.policy.matching.rule import PolicySet
from tests.judge.disguises import disguised
from tests.judge.wrappings import TARGETS, Dressed, mixed, pairs
from tests.lines.corpus import STOPS, faults, judged, of_line, rows
from tests.support.shipped import shipped

_SEED, _MIXED = 20_240_601, 6_000


def missed(policies: PolicySet, found: Iterable[Dressed]) -> Iterator[tuple[Dressed, bool]]:
    """Yield each dressed command with whether it was missed."""
    for one in found:
        yield one, judged(policies, of_line(one.line, one.target.level)).effect not in STOPS


def main() -> int:
    """Judge everything and print it; return the exit status."""
    policies = shipped()
    topics = Counter(row.topic for row in rows())
    wrong = {row: found for row in rows() if bool(found := faults(policies, row)) is not row.known.gap}
    bad = Counter(row.topic for row in wrong)
    print(f"{'rows':24}{'lines':>8}{'right':>9}{'wrong':>8}")
    for topic, count in topics.items():
        print(f"{topic:24}{count:>8}{count - bad[topic]:>9}{bad[topic]:>8}")
    for row, found in wrong.items():
        print(f"  {row.where}\n    {'; '.join(found)}")
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
    return 1 if wrong or any(was for _, was in tried) else 0


if __name__ == "__main__":
    sys.exit(main())
