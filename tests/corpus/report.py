"""Print how many of the labelled commands the shipped tables judge right, by category, and each wrong line.

It decides nothing: `test_commands.py` holds the thresholds. Run it as `.venv/bin/python tests/corpus/report.py`.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.corpus.judge import Verdict, judge, labels


def table(verdicts: Iterable[Verdict]) -> str:
    """Count, for each category, the lines that are labelled with it, and those of them that were judged right."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for verdict in verdicts:
        for category in [*sorted(verdict.label.categories[0]), "all"]:
            total[category] += 1
            right[category] += verdict.right
    rows = [f"{'category':16}{'right':>7}{'wrong':>7}{'share':>8}"]
    rows += [
        f"{name:16}{right[name]:7}{count - right[name]:7}{right[name] / count:8.1%}"
        for name, count in sorted(total.items(), key=lambda item: item[1])
    ]
    return "\n".join(rows)


def wrong(verdicts: Iterable[Verdict]) -> list[str]:
    """Describe each line whose categories or paths are not as labelled, the dangerous ones first."""
    found = []
    for verdict in sorted(verdicts, key=lambda one: not one.dangerous):
        label = verdict.label
        mark = "DANGEROUS " if verdict.dangerous else ""
        if not verdict.right:
            wanted = " | ".join(" ".join(sorted(words)) for words in label.categories)
            got = verdict.unparsed or " ".join(sorted(verdict.categories))
            found.append(f"{mark}{label.where} `{label.command}`: expected `{wanted}`, got `{got}`")
        if not verdict.writes_right:
            wanted = " | ".join(" ".join(sorted(words)) for words in label.writes)
            found.append(f"{label.where} `{label.command}`: expected writes `{wanted}`, got `{sorted(verdict.writes)}`")
    return found


if __name__ == "__main__":
    every = [judge(label) for label in labels()]
    print(*wrong(every), sep="\n")
    print(table(every))
    judged = [verdict for verdict in every if verdict.label.writes]
    print(f"writes: {sum(verdict.writes_right for verdict in judged)} of {len(judged)} right")
